#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_includes.py on small made-up trees and rules: clean ones pass, each kind of fault is found and named; and what
the rules of this project must not allow: test_check_includes.py SCRIPT."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop()).resolve()
sys.path.insert(0, str(SCRIPT.parent))
import check_includes  # noqa: E402

RULES = """# A comment: core <-> core
@public = antiphase antiphase/{core,gemm}

antiphase/scan <-> antiphase/scan/detail

antiphase/core: cursors

antiphase/executor: launches
    antiphase/core

antiphase/device: the machine
    antiphase/executor/kernel*.hpp

antiphase/{gemm,attention}: problems
    antiphase/core

antiphase/{scan,scan/detail}: scans
    antiphase/{device,scan,scan/detail}

antiphase/plain/**: stand-ins

antiphase: the public calls
    @public antiphase/executor

include: for C

core: shared
    @public antiphase/plain antiphase/device

core/c: functions for C
    include core/list.hpp
tool: the tool
    @public
"""
CLEAN = {
    "include/antiphase/core/cursor.hpp": "#include <cstdint>\n",
    "include/antiphase/core/channel.hpp": "#include <antiphase/core/cursor.hpp>\n",
    "include/antiphase/executor/kernel.hpp": "#include <cstddef>\n",
    "include/antiphase/executor/launch.hpp": "#include <antiphase/core/cursor.hpp>\n",
    "include/antiphase/device/index.cuh": "#include <antiphase/executor/kernel.hpp>\n",
    "include/antiphase/gemm/problem.hpp": '#include "../core/cursor.hpp"\n',
    "include/antiphase/gemm/tiled.cuh": "#include <antiphase/core/channel.hpp>\n",
    "include/antiphase/attention/problem.hpp": "\n",
    "include/antiphase/scan/scan.cuh": "#include <antiphase/scan/detail/block.cuh>\n",
    "include/antiphase/scan/kind.hpp": "\n",
    "include/antiphase/scan/detail/block.cuh": "#include <antiphase/device/index.cuh>\n#include <antiphase/scan/kind.hpp>\n",
    "include/antiphase/plain/cuda/types.h": "\n",
    "include/antiphase/plain/cuda/atomic": "\n",
    "include/antiphase/gemm.hpp": "#include <antiphase/gemm/problem.hpp>\n#include <antiphase/executor/launch.hpp>\n",
    "include/antiphase.h": "#include <stddef.h>\n",
    "core/gemm.cpp": "#include <antiphase/gemm.hpp>\n#include <antiphase/device/index.cuh>\n"
    '#include <antiphase/plain/cuda/types.h>\n#include <antiphase/plain/cuda/atomic>\n#include "list.hpp"\n#include "config.hpp"\n',
    "core/list.hpp": "#include <vector>\n",
    "core/config.hpp.in": "#define COMMIT @COMMIT@\n",
    "core/c/gemm.cpp": '#include <antiphase.h>\n#include "core/list.hpp"\n',
    "tool/main.cpp": "#include <antiphase/core/cursor.hpp>\n#include <cstdio>\n",
}
# (file, file that it must not include) by the rules of this project.
FORBIDDEN = [
    ("include/antiphase/core/a.hpp", "include/antiphase/device/a.cuh"),
    ("include/antiphase/core/a.hpp", "include/antiphase.h"),
    ("include/antiphase.h", "include/antiphase/core/a.hpp"),
    ("include/antiphase/channel/a.cuh", "include/antiphase/gemm/a.cuh"),
    ("include/antiphase/device/a.cuh", "include/antiphase/executor/launch.hpp"),
    ("include/antiphase/device/a.cuh", "include/antiphase/executor/cpu/cpu_executor.hpp"),
    ("include/antiphase/executor/a.hpp", "include/antiphase/executor/cpu/machine.hpp"),
    ("include/antiphase/gemm/a.hpp", "include/antiphase/scan/a.hpp"),
    ("include/antiphase/plain/a.h", "include/antiphase/stand_ins/a.h"),
    ("include/antiphase/scan/a.cuh", "core/list.hpp"),
    ("core/executor/a.hpp", "core/executor/cpu/a.hpp"),
    ("core/executor/cpu/a.hpp", "core/executor/cuda/a.hpp"),
    ("library/gemm/fp64/a.hpp", "library/gemm/fp16/a.hpp"),
    ("library/gemm/choice/a.hpp", "library/gemm/fp16/a.hpp"),
    ("library/gemm/choice/a.cuh", "include/antiphase/scan/detail/a.cuh"),
    ("library/gemm/choice/a.hpp", "checker/runs/a.hpp"),
    ("library/scan/a.hpp", "library/gemm/operands/a.hpp"),
    ("library/scan/ring/a.hpp", "library/scan/wave/a.hpp"),
    ("checker/order/a.hpp", "checker/memory/a.hpp"),
    ("library/c_api/a.cpp", "library/gemm/operands/a.hpp"),
    ("library/c_api/a.cpp", "core/registry.hpp"),
    ("preload/cublas/a.cpp", "include/antiphase/gemm.hpp"),
    ("preload/torch/a.cpp", "core/registry.hpp"),
    ("tool/base/a.cpp", "core/registry.hpp"),
    ("tool/base/a.cpp", "include/antiphase/device/a.cuh"),
    ("tool/files/a.hpp", "tool/commands/bench/a.hpp"),
    ("tool/commands/gemm/a.cpp", "include/antiphase/scan/detail/a.cuh"),
    ("tool/commands/check/a.hpp", "tool/commands/bench/a.hpp"),
    ("tool/commands/gemm/a.hpp", "tool/commands/bench/a.hpp"),
    ("bench/a.cpp", "core/registry.hpp"),
]


class Includes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in CLEAN.items():
            self.write(name, text)
        self.rules(RULES)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def rules(self, text):
        self.write("rules.txt", text)

    def run_script(self, *options):
        command = [sys.executable, SCRIPT, "--rules", self.root / "rules.txt", *options, self.root]
        return subprocess.run(command, capture_output=True, text=True)

    def accepted(self):
        result = self.run_script()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def refused(self, changes, *faults):
        """These are the faults, and no others, of the tree with these changes, which are taken back."""
        before = {name: CLEAN.get(name) for name in changes}
        for name, text in changes.items():
            self.write(name, text)
        result = self.run_script()
        self.assertEqual(
            (result.returncode, sorted(line.partition(": ")[2] for line in result.stderr.splitlines())),
            (1, sorted(faults)),
        )
        for name, text in before.items():
            self.write(name, text) if text is not None else (self.root / name).unlink()

    def with_rules(self, old, new, *faults):
        self.assertEqual(RULES.count(old), 1, old)
        self.rules(RULES.replace(old, new))
        self.refused({}, *faults)
        self.rules(RULES)

    def test_a_clean_tree_passes(self):
        self.assertEqual(
            self.accepted(),
            "18 files, 17 includes among them: all are allowed, no cycle, at most 4 files in a chain\n",
        )

    def test_an_include_without_a_row_that_allows_it(self):
        for file, line, target, folder in (
            (
                "include/antiphase/core/a.hpp",
                "<antiphase/device/index.cuh>",
                "include/antiphase/device/index.cuh",
                "antiphase/core",
            ),
            (
                "include/antiphase/gemm/a.hpp",
                '"../scan/kind.hpp"',
                "include/antiphase/scan/kind.hpp",
                "antiphase/gemm",
            ),
            ("include/antiphase/scan/a.cuh", '"core/list.hpp"', "core/list.hpp", "antiphase/scan"),
            (
                "include/antiphase.h",
                "<antiphase/core/cursor.hpp>",
                "include/antiphase/core/cursor.hpp",
                "include",
            ),
            ("core/c/a.cpp", "<antiphase/gemm.hpp>", "include/antiphase/gemm.hpp", "core/c"),
            ("tool/a.cpp", "<antiphase/device/index.cuh>", "include/antiphase/device/index.cuh", "tool"),
        ):
            fault = f"{file} includes {target}: the row of {folder} in rules.txt does not allow it"
            self.refused({file: f"#include {line}\n"}, fault)

    def test_folders_of_one_row_do_not_include_each_other(self):
        self.refused(
            {"include/antiphase/attention/a.hpp": "#include <antiphase/gemm/problem.hpp>\n"},
            "include/antiphase/attention/a.hpp includes include/antiphase/gemm/problem.hpp: "
            "the row of antiphase/attention in rules.txt does not allow it",
        )

    def test_a_row_that_names_files_allows_no_others(self):
        self.refused(
            {"include/antiphase/device/a.cuh": "#include <antiphase/executor/launch.hpp>\n"},
            "include/antiphase/device/a.cuh includes include/antiphase/executor/launch.hpp: "
            "the row of antiphase/device in rules.txt does not allow it",
        )
        self.refused(
            {"core/c/a.cpp": '#include "core/other.hpp"\n', "core/other.hpp": ""},
            "core/c/a.cpp includes core/other.hpp: the row of core/c in rules.txt does not allow it",
        )

    def test_what_is_allowed_without_need(self):
        unneeded = "rules.txt: {} names {}, which no file needs"
        self.with_rules(
            "launches\n    antiphase/core",
            "launches\n    antiphase/core antiphase/gemm",
            unneeded.format("antiphase/executor", "antiphase/gemm"),
        )
        self.with_rules(
            "include core/list.hpp",
            "include core/{list,lost}.hpp",
            unneeded.format("core/c", "core/lost.hpp"),
        )
        self.with_rules(
            "@public = antiphase", "@public = core/c antiphase", unneeded.format("@public", "core/c")
        )
        self.write("core/gemm.cpp", '#include "list.hpp"\n')  # of a group, one row's need is enough
        self.refused(
            {},
            unneeded.format("@public", "antiphase"),
            unneeded.format("core", "antiphase/plain"),
            unneeded.format("core", "antiphase/device"),
        )

    def test_folders_without_a_row_and_rows_without_a_folder(self):
        self.refused(
            {"include/antiphase/misc/x.hpp": ""},
            "include/antiphase/misc/x.hpp is in a folder that has no row in rules.txt",
        )
        self.refused({"core/d/x.hpp": ""}, "core/d/x.hpp is in a folder that has no row in rules.txt")
        self.with_rules(
            "antiphase/{gemm,attention}: problems",
            "antiphase/{gemm,attention,linear}: problems",
            "rules.txt: there are no sources in antiphase/linear",
        )

    def test_cycles_of_folders(self):
        self.write("include/antiphase/core/problem.hpp", "#include <antiphase/attention/problem.hpp>\n")
        self.write("include/antiphase/attention/a.hpp", "#include <antiphase/core/cursor.hpp>\n")
        self.with_rules(
            "antiphase/core: cursors\n",
            "antiphase/core: cursors\n    antiphase/attention\n",
            "cycle of folders: antiphase/core -> antiphase/attention -> antiphase/core",
        )

    def test_cycles_of_folders_are_named(self):
        self.with_rules(
            "antiphase/scan <-> antiphase/scan/detail\n",
            "",
            "cycle of folders: antiphase/scan -> antiphase/scan/detail -> antiphase/scan",
        )
        self.with_rules(
            "antiphase/scan <-> antiphase/scan/detail\n",
            "antiphase/scan <-> antiphase/{scan/detail,device}\n",
            "rules.txt: antiphase/device and antiphase/scan do not include each other",
        )

    def test_cycles_of_files(self):
        self.refused(
            {
                "include/antiphase/core/a.hpp": "#include <antiphase/core/b.hpp>\n",
                "include/antiphase/core/b.hpp": '#include "c.hpp"\n',
                "include/antiphase/core/c.hpp": "#  include <antiphase/core/a.hpp>\n",
            },
            "cycle: include/antiphase/core/a.hpp -> include/antiphase/core/b.hpp -> include/antiphase/core/c.hpp -> "
            "include/antiphase/core/a.hpp",
        )
        self.refused({"core/list.hpp": '#include "list.hpp"\n'}, "cycle: core/list.hpp -> core/list.hpp")

    def test_a_long_chain(self):
        for i in range(12):
            self.write(f"include/antiphase/core/c{i}.hpp", f"#include <antiphase/core/c{i + 1}.hpp>\n")
        self.write("include/antiphase/core/c12.hpp", "#include <cstdint>\n")
        self.assertIn("at most 13 files in a chain", self.accepted())
        chain = " -> ".join(f"include/antiphase/core/c{i}.hpp" for i in (13, *range(13)))
        self.refused(
            {"include/antiphase/core/c13.hpp": "#include <antiphase/core/c0.hpp>\n"},
            f"a chain of 14 files, expected at most 13: {chain}",
        )

    def test_core_knows_neither_cuda_nor_files(self):
        for header in ("cuda_runtime.h", "cuda/std/span", "iostream", "fstream", "cstdio"):
            self.refused(
                {"include/antiphase/core/view.hpp": f"#include <{header}>\n"},
                f"include/antiphase/core/view.hpp includes <{header}>: core knows neither CUDA nor files",
            )

    def test_a_public_header_needs_no_device_compiler(self):
        self.refused(
            {"include/antiphase/gemm/problem.hpp": "#include <antiphase/gemm/tiled.cuh>\n"},
            "include/antiphase/gemm.hpp -> include/antiphase/gemm/problem.hpp -> include/antiphase/gemm/tiled.cuh: "
            "a public .hpp needs only a host compiler",
        )

    def test_a_missing_header(self):
        for line in ("<antiphase/core/lost.hpp>", '"lost.hpp"'):
            self.refused(
                {"core/lost.cpp": f"#include {line}\n"},
                f"core/lost.cpp includes {line[1:-1]}, which does not exist",
            )

    def test_includes_in_comments_do_not_count(self):
        text = "// #include <cstdio>\n/*\n#include <antiphase/gemm.hpp>\n*/\n#include <cstdint>\n"
        self.write("include/antiphase/core/view.hpp", text)
        self.accepted()

    def test_the_graph_for_graphviz(self):
        result = self.run_script("--dot")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith("digraph includes {"))
        self.assertIn('"antiphase/scan" -> "antiphase/scan/detail" [label = "1"];', result.stdout)
        self.assertTrue(result.stdout.endswith("}\n"))

    def test_the_table_of_the_architecture_is_compared_and_written(self):
        page = "# Architecture\n<!-- includes:begin -->\nold\n<!-- includes:end -->\nMore.\n"
        for name in ("docs/architecture.md", "docs/developers/architecture.md"):
            self.refused(
                {name: page},
                f"the table in {name} is not that of rules.txt: run scripts/style/check_includes.py --table",
            )
        self.write("docs/architecture.md", page)
        self.assertEqual(self.run_script("--table").returncode, 0)
        self.accepted()
        written = (self.root / "docs/architecture.md").read_text()
        self.assertTrue(
            written.startswith("# Architecture\n<!-- includes:begin -->\n`scripts/style/check_includes.py`")
        )
        self.assertTrue(written.endswith(" |\n<!-- includes:end -->\nMore.\n"))
        for line in (
            "`@public` is `antiphase`, `antiphase/{core,gemm}`.",
            "| `antiphase/core` | cursors | nothing |",
            "| `antiphase/plain/**` | stand-ins | nothing |",
            "| `core` | shared | `@public`, `antiphase/plain`, `antiphase/device` |",
        ):
            self.assertIn(line + "\n", written)
        self.write("docs/architecture.md", "# Architecture\n")
        self.assertEqual(self.run_script("--table").returncode, 2)

    def test_a_root_without_sources_is_a_mistake_of_the_caller(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("holds no sources", result.stderr)


class ThisProject(unittest.TestCase):
    def test_what_its_rules_must_not_allow(self):
        rules = check_includes.Rules(SCRIPT.with_name("includes.txt"))
        for file, target in FORBIDDEN:
            self.assertEqual(rules.allowing(file, target), [], f"{file} includes {target}")
        self.assertTrue(rules.allowing("library/gemm/fp64/a.hpp", "library/gemm/operands/a.hpp"))


if __name__ == "__main__":
    unittest.main()
