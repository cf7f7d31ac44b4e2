#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_layers.py on small made-up trees: clean ones pass, each kind of fault is found and named."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop())

CLEAN = {
    "include/antiphase/core/cursor.hpp": "#include <cstdint>\n",
    "include/antiphase/core/channel.hpp": "#include <antiphase/core/cursor.hpp>\n",
    "include/antiphase/executor/kernel.hpp": "#include <cstddef>\n",
    "include/antiphase/executor/cpu/machine.hpp": "#include <antiphase/executor/kernel.hpp>\n",
    "include/antiphase/executor/launch.hpp": "#include <antiphase/core/cursor.hpp>\n",
    "include/antiphase/device/index.cuh": "#include <antiphase/executor/cpu/machine.hpp>\n",
    "include/antiphase/channel/copies.cuh": "#include <antiphase/core/channel.hpp>\n#include <antiphase/device/index.cuh>\n",
    "include/antiphase/gemm/tiled.cuh": "#include <antiphase/channel/copies.cuh>\n",
    "include/antiphase/gemm/problem.hpp": "#include <antiphase/core/cursor.hpp>\n",
    "include/antiphase/scan/detail/block.cuh": "#include <antiphase/device/index.cuh>\n",
    "include/antiphase/gemm.hpp": "#include <antiphase/gemm/problem.hpp>\n",
    "src/gemm.cpp": '#include <antiphase/gemm.hpp>\n#include <antiphase/gemm/tiled.cuh>\n#include "list.hpp"\n#include "config.hpp"\n',
    "src/list.hpp": "#include <vector>\n",
    "src/config.hpp.in": "#define COMMIT @COMMIT@\n",
    "src/gemm/choice/choose.cpp": '#include "src/gemm/operands/checks.hpp"\n#include "src/gemm/fp16/plan.hpp"\n',
    "src/gemm/operands/checks.hpp": '#include "src/list.hpp"\n',
    "src/gemm/fp16/plan.hpp": '#include "src/gemm/operands/checks.hpp"\n',
    "src/gemm/fp64/plan.hpp": "#include <vector>\n",
    "src/scan/choose.cpp": "#include <antiphase/scan/detail/block.cuh>\n",
    "include/antiphase.h": "#include <stddef.h>\n",
    "include/antiphase_cublas.h": "#include <stddef.h>\n",
    "src/c_api/gemm.cpp": '#include <antiphase.h>\n#include <antiphase/gemm.hpp>\n#include "src/c_api/status.hpp"\n',
    "src/cublas/entries.cpp": "#include <antiphase.h>\n#include <antiphase_cublas.h>\n",
    "src/c_api/status.hpp": "#include <antiphase/core/cursor.hpp>\n",
    "tool/files/npy.hpp": "#include <vector>\n",
    "tool/commands/bench/bench.cpp": '#include "tool/files/npy.hpp"\n',
    "tool/main.cpp": '#include <antiphase/gemm.hpp>\n#include "tool/options.hpp"\n#include <cstdio>\n',
    "tool/options.hpp": "#include <antiphase/core/cursor.hpp>\n",
}


def run(changes=None, *options):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**CLEAN, **(changes or {})}.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run([sys.executable, str(SCRIPT), *options, folder], capture_output=True, text=True)


class Layers(unittest.TestCase):
    def refused(self, changes, *words):
        result = run(changes)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_a_clean_tree_passes(self):
        result = run()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        self.assertIn(
            "27 files, 28 includes among them: no upward arrow, no cycle, at most 6 files in a chain",
            result.stdout,
        )

    def test_the_graph_for_graphviz(self):
        result = run({}, "--dot")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.startswith("digraph layers {"))
        self.assertIn('channel -> device [label = "1"];', result.stdout)
        self.assertTrue(result.stdout.endswith("}\n"))

    def test_an_upward_arrow_is_found(self):
        self.refused(
            {"include/antiphase_cublas.h": "#include <antiphase/core/cursor.hpp>\n"},
            "antiphase_cublas.h includes nothing of the project",
        )
        self.refused(
            {"include/antiphase/core/view.hpp": "#include <antiphase/device/index.cuh>\n"},
            "include/antiphase/core/view.hpp includes include/antiphase/device/index.cuh",
            "device lies above core",
        )

    def test_an_upward_arrow_by_a_relative_path_is_found(self):
        self.refused(
            {"include/antiphase/channel/up.cuh": '#include "../gemm/tiled.cuh"\n'}, "gemm lies above channel"
        )

    def test_the_library_does_not_include_its_sources(self):
        self.refused({"include/antiphase/scan/up.cuh": '#include "src/list.hpp"\n'}, "src lies above scan")

    def test_gemm_and_scan_do_not_meet(self):
        self.refused(
            {"include/antiphase/scan/meets.cuh": "#include <antiphase/gemm/tiled.cuh>\n"},
            "scan and gemm are of one layer",
        )

    def test_a_compute_capability_is_looked_at_in_one_place(self):
        self.refused(
            {"src/gemm/choice/asks.cpp": "int f(const device_limits& d) { return d.major; }\n"},
            "src/gemm/choice/asks.cpp looks at a compute capability",
        )
        self.refused(
            {"tool/commands/trace/asks.cpp": "int f(const device_limits* d) { return d->minor; }\n"},
            "features.hpp",
        )
        clean = {
            "src/gemm/choice/text.cpp": 'const char* text = "d.major";  // d.minor\n',
            "include/antiphase/executor/limits.hpp": "int m = d.major;\n",
        }
        self.assertEqual(run(clean).returncode, 0, run(clean).stderr)

    def test_policies_are_not_known_by_their_names(self):
        rows = {
            "src/gemm/fp64/candidate.cpp": 'candidate a{.name = "fp64"};\ncandidate b{.name = "fp64-short"};\n'
        }
        for text in (
            'if (name == "fp64") f();',
            'if ("fp64-short" != name) f();',
            'name.starts_with("fp64")',
        ):
            self.refused(
                rows | {"tool/commands/asks.cpp": text + "\n"}, "tool/commands/asks.cpp knows policies"
            )
        self.refused(rows | {"src/trace/lists.cpp": 'names = {"fp64", "fp64-short"};\n'}, "by their names")
        clean = rows | {
            "tool/commands/asks.cpp": 'run({.policy = "fp64"});  // not == "fp64"\nif (a == "fp") f("fp64");\n',
            "src/plain/translate/types.cpp": 'if (type == "fp64") f();\n',
        }
        self.assertEqual(run(clean).returncode, 0, run(clean).stderr)

    def test_a_way_to_multiply_is_a_folder(self):
        clean = {"src/gemm/new_way/plan.hpp": '#include "src/gemm/operands/checks.hpp"\n'}
        self.assertEqual(run(clean).returncode, 0, run(clean).stderr)
        self.refused(
            {"src/gemm/new_way/plan.hpp": '#include "src/gemm/fp16/plan.hpp"\n'},
            "src/gemm/new_way and src/gemm/fp16 are of one layer",
        )

    def test_the_bridge_from_device_is_narrow(self):
        self.refused(
            {"include/antiphase/device/run.cuh": "#include <antiphase/executor/launch.hpp>\n"},
            "device and executor are of one layer",
        )
        self.refused(
            {
                "include/antiphase/device/run.cuh": "#include <antiphase/executor/cpu/cpu_executor.hpp>\n",
                "include/antiphase/executor/cpu/cpu_executor.hpp": "#include <antiphase/executor/launch.hpp>\n",
            },
            "executor/cpu lies above device",
        )

    def test_folders_within_the_executors_and_commands_have_an_order(self):
        self.refused(
            {"include/antiphase/executor/up.hpp": "#include <antiphase/executor/cpu/machine.hpp>\n"},
            "executor/cpu lies above executor",
        )
        self.refused(
            {
                "src/executor/up.hpp": '#include "src/executor/cpu/fiber.hpp"\n',
                "src/executor/cpu/fiber.hpp": "",
            },
            "src/executor/cpu lies above src/executor",
        )
        self.refused(
            {
                "src/executor/cuda/up.hpp": '#include "src/executor/cpu/fiber.hpp"\n',
                "src/executor/cpu/fiber.hpp": "",
            },
            "src/executor/cuda and src/executor/cpu are of one layer",
        )
        self.refused(
            {
                "tool/commands/check/up.hpp": '#include "tool/commands/bench/bench.hpp"\n',
                "tool/commands/bench/bench.hpp": "",
            },
            "tool/commands/bench lies above tool/commands/check",
        )

    def test_no_bridge_leads_back(self):
        self.refused(
            {"include/antiphase/executor/back.hpp": "#include <antiphase/device/index.cuh>\n"},
            "executor and device are of one layer",
        )

    def test_the_tool_sees_public_headers_only(self):
        self.refused(
            {"tool/peek.cpp": "#include <antiphase/device/index.cuh>\n"},
            "tool sees the library's public headers only",
        )
        self.refused(
            {"tool/files/peek.cpp": '#include "src/list.hpp"\n'},
            "tool sees the library's public headers only",
        )
        self.refused(
            {"tool/peek.cpp": "#include <antiphase/scan/detail/block.cuh>\n"},
            "tool sees the library's public headers only",
        )
        self.refused(
            {"bench/peek.cpp": '#include "../src/list.hpp"\n'}, "bench sees the library's public headers only"
        )

    def test_functions_for_c_are_made_of_public_ones(self):
        self.refused(
            {"src/c_api/peek.cpp": '#include "src/gemm/operands/checks.hpp"\n'},
            "src/c_api sees the library's public headers and antiphase.h only",
        )
        self.refused(
            {"src/cublas/peek.cpp": "#include <antiphase/gemm.hpp>\n"}, "src/cublas sees antiphase.h only"
        )
        self.refused(
            {"include/antiphase.h": "#include <antiphase/core/cursor.hpp>\n"},
            "antiphase.h includes nothing of the project",
        )
        self.refused(
            {"include/antiphase_cublas.h": "#include <antiphase/core/cursor.hpp>\n"},
            "antiphase_cublas.h includes nothing of the project",
        )
        self.refused({"include/antiphase/core/view.hpp": "#include <antiphase.h>\n"}, "c lies above core")

    def test_the_folders_of_a_family_do_not_meet(self):
        self.refused(
            {"src/gemm/fp64/meets.hpp": '#include "src/gemm/fp16/plan.hpp"\n'},
            "src/gemm/fp64 and src/gemm/fp16 are of one layer",
        )
        self.refused(
            {"src/scan/meets.hpp": '#include "src/gemm/operands/checks.hpp"\n'},
            "src/scan and src/gemm/operands are of one layer",
        )
        self.refused(
            {
                "src/gemm/choice/meets.hpp": '#include "src/checker/runs/model.hpp"\n',
                "src/checker/runs/model.hpp": "",
            },
            "src/checker/runs lies above src/gemm/choice",
        )

    def test_the_folders_of_the_tool_have_an_order(self):
        self.refused(
            {
                "tool/files/up.hpp": '#include "tool/commands/bench/up.hpp"\n',
                "tool/commands/bench/up.hpp": "",
            },
            "tool/commands/bench lies above tool/files",
        )

    def test_details_of_scans_are_for_scans(self):
        self.refused(
            {"src/gemm/choice/peek.cuh": "#include <antiphase/scan/detail/block.cuh>\n"},
            "scan/detail is for scans only",
        )

    def test_a_long_chain_is_found(self):
        chain = {
            f"include/antiphase/core/c{i}.hpp": f"#include <antiphase/core/c{i + 1}.hpp>\n" for i in range(12)
        }
        chain["include/antiphase/core/c12.hpp"] = "#include <cstdint>\n"
        self.assertEqual(run(chain).returncode, 0)
        self.refused(
            {**chain, "include/antiphase/core/c13.hpp": "#include <antiphase/core/c0.hpp>\n"},
            "a chain of 14 files, expected at most 13: include/antiphase/core/c13.hpp -> include/antiphase/core/c0.hpp -> ",
        )

    def test_a_cycle_is_found(self):
        self.refused(
            {
                "include/antiphase/core/a.hpp": "#include <antiphase/core/b.hpp>\n",
                "include/antiphase/core/b.hpp": '#include "c.hpp"\n',
                "include/antiphase/core/c.hpp": "#  include <antiphase/core/a.hpp>\n",
            },
            "cycle: include/antiphase/core/a.hpp -> include/antiphase/core/b.hpp -> include/antiphase/core/c.hpp -> "
            "include/antiphase/core/a.hpp",
        )

    def test_a_file_that_includes_itself_is_a_cycle(self):
        self.refused({"src/list.hpp": '#include "list.hpp"\n'}, "cycle: src/list.hpp -> src/list.hpp")

    def test_core_knows_neither_cuda_nor_files(self):
        for header in ("cuda_runtime.h", "cuda/std/span", "iostream", "fstream", "cstdio"):
            self.refused(
                {"include/antiphase_cublas.h": "#include <antiphase/core/cursor.hpp>\n"},
                "antiphase_cublas.h includes nothing of the project",
            )
        self.refused(
            {"include/antiphase/core/view.hpp": f"#include <{header}>\n"},
            f"<{header}>",
            "core knows neither CUDA nor files",
        )

    def test_a_public_header_needs_no_device_compiler(self):
        self.refused(
            {"include/antiphase/gemm/problem.hpp": "#include <antiphase/gemm/tiled.cuh>\n"},
            "include/antiphase/gemm.hpp -> include/antiphase/gemm/problem.hpp -> ",
            "a public .hpp needs only a host compiler",
        )

    def test_a_missing_header_is_found(self):
        self.refused(
            {"src/lost.cpp": "#include <antiphase/core/lost.hpp>\n"},
            "antiphase/core/lost.hpp, which does not exist",
        )

    def test_a_folder_without_a_layer_is_found(self):
        self.refused(
            {"include/antiphase/misc/x.hpp": "#include <cstdint>\n"},
            "include/antiphase/misc/x.hpp is in a folder that has no layer",
        )

    def test_python_modules_that_import_each_other_are_found(self):
        package = {
            "python/one/__init__.py": "from . import a, b\n",
            "python/one/a.py": "import os\n",
            "python/one/b.py": "from . import a\nfrom .a import f\n",
        }
        self.assertEqual(run(package).returncode, 0, run(package).stderr)
        for line in ("from . import b", "from .b import f", "from one import b", "import one.b"):
            self.refused(
                {**package, "python/one/a.py": f"def f():\n    {line}\n"},
                "cycle of imports in python/one: a -> b -> a",
            )

    def test_the_table_of_the_architecture_is_compared_and_written(self):
        page = "# Architecture\n<!-- layers:begin -->\nold\n<!-- layers:end -->\nMore.\n"
        self.refused(
            {"docs/project/architecture.md": page},
            "docs/project/architecture.md is not that of LAYERS: run scripts/check_layers.py",
        )
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**CLEAN, "docs/project/architecture.md": page}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            command = [sys.executable, str(SCRIPT), folder]
            self.assertEqual(subprocess.run([*command, "--table"]).returncode, 0)
            self.assertEqual(subprocess.run(command, capture_output=True).returncode, 0)
            written = pathlib.Path(folder, "docs/project/architecture.md").read_text()
        self.assertTrue(
            written.startswith("# Architecture\n<!-- layers:begin -->\n`scripts/check_layers.py` writes")
        )
        self.assertTrue(written.endswith(" |\n<!-- layers:end -->\nMore.\n"))
        self.assertIn("a chain of more than 13 files", written)
        self.assertIn("| 0 | `include/antiphase/core` | cursor, channel,", written)
        self.assertIn("| 9 | `src/gemm/fp16`, `fp64` | ", written)  # none that the tree lacks
        self.assertEqual(run({"docs/project/architecture.md": "# Architecture\n"}, "--table").returncode, 2)

    def test_stand_ins_lie_above_the_headers_for_cuda(self):
        calls, library = "include/antiphase/plain/launch.h", "include/antiphase/stand_ins/thrust.h"
        clean = {
            "include/antiphase/plain/vector_types.h": "#include <cstdint>\n",
            calls: '#include "vector_types.h"\n',
            "include/antiphase/plain/cuda/atomic": "\n",
            "include/antiphase/plain/cuda_runtime.h": '#include "launch.h"\n',
            library: "#include <antiphase/plain/cuda_runtime.h>\n#include <antiphase/plain/cuda/atomic>\n",
        }
        result = run(clean)
        self.assertEqual(result.returncode, 0, result.stderr)
        upward = clean | {"include/antiphase/plain/textures.h": '#include "cuda_runtime.h"\n'}
        self.refused(upward, "plain/textures.h includes include/antiphase/plain/cuda_runtime.h")
        upward = clean | {"include/antiphase/plain/mma.h": f"#include <{library.removeprefix('include/')}>\n"}
        self.refused(upward, f"plain/mma.h includes {library}: stand_ins lies above plain")

    def test_includes_in_comments_do_not_count(self):
        text = "// #include <cstdio>\n/*\n#include <antiphase/gemm.hpp>\n*/\n#include <cstdint>\n"
        result = run({"include/antiphase/core/view.hpp": text})
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_root_without_sources_is_a_mistake_of_the_caller(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([sys.executable, str(SCRIPT), folder], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("holds no sources", result.stderr)


if __name__ == "__main__":
    unittest.main()
