#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""style.py on small made-up trees: its findings, exemptions and cache."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(SCRIPTS))
import style  # noqa: E402
import wording  # noqa: E402

LICENSE = "SPDX-License-Identifier: Apache-2.0"


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.build = self.root / "build"
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(SCRIPTS.parents[1] / name, self.root)
        self.file("CMakeLists.txt", f"# {LICENSE}\n")
        self.file("run", f"#!/bin/sh\n# {LICENSE}\n")

    def file(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def style(self, *arguments, environment=None):
        command = [sys.executable, SCRIPTS / "style.py", *arguments, "--root", self.root]
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertNotIn("Traceback", result.stderr)
        return result.returncode, result.stdout + result.stderr


@unittest.skipUnless(
    shutil.which("clang-format") and shutil.which("black"), "clang-format or black is not installed"
)
class Form(Tree):
    def test_a_clean_tree(self):
        self.file("core/one.cpp", f"// {LICENSE}\nint one() {{ return 1; }}\n")
        status, said = self.style("check")
        self.assertEqual(status, 0, said)
        self.assertIn("3 files, 0 faults", said)

    def test_faults_are_named_and_removed(self):
        names = {
            "core/one.cpp": f"// {LICENSE}\nint  one( ) {{ return 1; }}\n",
            "include/two.cuh": "inline  int two( ) { return 2; }\n",
            "scripts/three": "#!/bin/sh\necho 3\n",
            "scripts/four.py": "four = 'four'\n",
            "cmake/five.cmake": f"# five\n# {LICENSE}\n",
        }
        for name, text in names.items():
            self.file(name, text)
        status, said = self.style("check")
        self.assertEqual(status, 1)
        for name in [*list(names)[:2], "scripts/four.py"]:
            self.assertIn(f"{name}: is not formatted", said)
        for name in list(names)[1:]:
            self.assertIn(f"{name}: lacks the line", said)
        self.assertIn("7 faults", said)
        self.assertEqual(self.style("format")[0], 0)
        self.assertEqual(self.style("check")[0], 0)
        self.assertEqual(
            self.file("scripts/three", names["scripts/three"]).read_text(), names["scripts/three"]
        )
        self.assertEqual(
            (self.root / "core/one.cpp").read_text(), f"// {LICENSE}\nint one() {{ return 1; }}\n"
        )
        self.assertEqual(
            (self.root / "include/two.cuh").read_text(), f"// {LICENSE}\ninline int two() {{ return 2; }}\n"
        )

    def test_wide_comments_are_named(self):
        self.file(
            "core/one.cpp", f"// {LICENSE}\n// {'w' * 107}\n// {'w' * 108}\nint one() {{ return 1; }}\n"
        )
        status, said = self.style("check")
        self.assertEqual(status, 1)
        self.assertIn(
            "core/one.cpp:3: a comment of 111 columns: expected at most 110\n3 files, 1 faults", said
        )

    def test_words_are_named_with_better_ones(self):
        """In documents, comments and messages; not in code, names, links, and senses that all know."""
        self.file(
            "core/one.cpp",
            f"// {LICENSE}\n// Waits behind the barrier.\nint one() {{ return 1; }}  // by law\n"
            'const char* said = "copied in vain";\nconst char* law = "law";\n'
            'const char* split = "copied in "\n    "vain";\n',
        )
        self.file(
            "docs/page.md",
            "# A page\n\nNobody reads `nobody`, [it](verb.md) says; Little's law.\n\n```\nin vain\n```\n\n"
            "Room for two.\nThe\nroof of it.\n",
        )
        self.file(
            "scripts/two.py",
            f'# {LICENSE}\n"""Told apart: what is told. {{law}}"""\n\nbeside = 1  # beside it\n'
            'law = f"a sentence of {beside} words"\n',
        )
        status, said = self.style("check")
        self.assertEqual(status, 1)
        found = re.findall(r"^(\S+:\d+): '(.*)': expected ", said, re.MULTILINE)
        self.assertEqual(
            sorted(found),
            [
                ("core/one.cpp:2", "behind"),
                ("core/one.cpp:3", "law"),
                ("core/one.cpp:4", "in vain"),
                ("core/one.cpp:6", "in vain"),
                ("docs/page.md:11", "roof"),
                ("docs/page.md:3", "Nobody"),
                ("scripts/two.py:2", "is told"),
                ("scripts/two.py:4", "beside"),
            ],
        )
        self.assertIn("core/one.cpp:3: 'law': expected cost model, or another sentence", said)

    def test_contributing_lists_these_words(self):
        listed = (
            (SCRIPTS.parents[1] / "CONTRIBUTING.md").read_text().split("| not | but |")[1].split("\n\n")[0]
        )
        rows = [row.split(" | ") for row in listed.splitlines()[2:]]
        self.assertEqual(len(rows), len(wording.WORDS))
        for (words, better), (pattern, expected) in zip(rows, wording.WORDS):
            self.assertEqual(better.strip(" |"), expected)
            for word in words.strip("| ").split(", "):
                self.assertRegex(word, f"(?i:^(?:{pattern})$)")

    def test_without_the_program(self):
        status, said = self.style("check", environment={**os.environ, "PATH": "/nowhere"})
        self.assertEqual(
            (status, said), (77, "clang-format was not found: install the package clang-format\n")
        )


class Clang(Tree):
    def setUp(self):
        super().setUp()
        for program in ("clang++", "clang-tidy"):
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")
        self.header = self.file(
            "include/antiphase/part.hpp", "#pragma once\ninline int part() { return 1; }\n"
        )
        self.source = self.file(
            "core/one.cpp", "#include <antiphase/part.hpp>\nint one() { return part() + PLUS; }\n"
        )
        self.commands(1)

    def commands(self, plus):
        self.build.mkdir(exist_ok=True)
        command = f"/usr/bin/ccache g++ -DPLUS={plus} -I{self.root}/include -fno-tree-loop-optimize -std=c++20 -o one.o -c {self.source}"
        entries = [{"directory": str(self.build), "command": command, "file": str(self.source)}]
        (self.build / "compile_commands.json").write_text(json.dumps(entries))

    def counts(self, what):
        status, said = self.style(what, self.build)
        return status, said.splitlines()[-1]

    def test_what_was_clean_is_remembered(self):
        for what in ("clang", "tidy"):
            self.assertEqual(
                self.counts(what), (0, f"{what}: 1 files, 0 unchanged since they were clean, 0 with findings")
            )
            self.assertEqual(
                self.counts(what), (0, f"{what}: 1 files, 1 unchanged since they were clean, 0 with findings")
            )

    def test_changes_of_a_header_or_a_flag_are_looked_at(self):
        self.counts("clang")
        self.header.write_text("#pragma once\ninline int part() { return 2; }\n")
        self.assertIn(" 0 unchanged", self.counts("clang")[1])
        self.commands(2)
        self.assertIn(" 0 unchanged", self.counts("clang")[1])
        self.assertIn(" 1 unchanged", self.counts("clang")[1])

    def test_clang_finds_errors_and_warnings_each_time(self):
        for text in ("int one() { return part() + none; }", "int one() { int unused; return part(); }"):
            self.source.write_text(f"#include <antiphase/part.hpp>\n{text}\n")
            for _ in range(2):
                status, said = self.style("clang", self.build)
                self.assertEqual(status, 1)
                self.assertRegex(said, r"one\.cpp:2:.* error: ")
                self.assertIn("1 with findings", said)

    def test_clang_skips_what_tidy_has_compiled(self):
        self.assertEqual(self.counts("tidy")[0], 0)
        self.assertIn(" 1 unchanged", self.counts("clang")[1])
        self.source.write_text("#include <antiphase/part.hpp>\nint one() { int unused; return part(); }\n")
        for what in ("tidy", "clang"):
            status, said = self.style(what, self.build)
            self.assertEqual(status, 1)
            self.assertRegex(said, r"one\.cpp:2:\d+: error: unused variable")
            self.assertIn("1 with findings", said)

    def test_what_is_left_for_want_of_time_is_said(self):
        for what in ("clang", "tidy"):
            status, said = self.style(what, self.build, "--seconds", "0")
            self.assertEqual(status, 0)
            self.assertTrue(said.endswith("0 with findings, 1 not examined within 0 seconds\n"), said)
            self.assertIn(" 0 unchanged", self.counts(what)[1], "it counts as examined")

    def test_tidy_finds_mistakes_in_sources_and_headers(self):
        self.source.write_text("#include <antiphase/part.hpp>\nint* one() { return 0; }\n")
        status, said = self.style("tidy", self.build)
        self.assertEqual(status, 1)
        self.assertRegex(said, r"one\.cpp:2:.*modernize-use-nullptr")
        self.source.write_text("#include <antiphase/part.hpp>\nint* one() { return nullptr; }\n")
        self.header.write_text("#pragma once\ninline int* part() { return 0; }\n")
        status, said = self.style("tidy", self.build)
        self.assertEqual(status, 1)
        self.assertRegex(said, r"part\.hpp:2:.*modernize-use-nullptr")

    def test_many_sources_are_examined_in_groups(self):
        """Names that several have for themselves do not matter; others, and findings, are those of one source."""
        own = "namespace {\nconstexpr int offset = 1;\nint plus(int x) {\n  return x + offset;\n}\n}  // namespace\n"
        self.file("core/near.hpp", "#pragma once\ninline int near() { return 2; }\n")
        log, clang = self.root / "log", shutil.which("clang++")
        self.file("bin/clang++", f'#!/bin/sh\necho >>{log}\nexec {clang} "$@"\n').chmod(0o755)
        environment = {**os.environ, "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}"}
        sources = [
            self.file(
                f"core/s{i:03}.cpp", f'#include "near.hpp"\n{own}int f{i}() {{ return plus(near()); }}\n'
            )
            for i in range(4 * style.AT_ONCE)
        ]
        command = f"g++ -I{self.root}/include -std=c++20 -c "
        entries = [
            {"directory": str(self.build), "command": command + str(s), "file": str(s)} for s in sources
        ]
        (self.build / "compile_commands.json").write_text(json.dumps(entries))

        def looked(status):
            log.write_text("")
            done, said = self.style("clang", self.build, environment=environment)
            self.assertEqual(done, status, said)
            return len(log.read_text().splitlines()) - 1, said  # without --version

        runs, said = looked(0)
        self.assertEqual(runs, 2 * style.AT_ONCE)
        self.assertIn(f"clang: {len(sources)} files, 0 unchanged", said)
        self.assertEqual(looked(0)[0], 0)
        self.file("core/near.hpp", "#pragma once\ninline int near() { return 3; }\n")
        sources[1].write_text(
            '#include "near.hpp"\n#define near wrong\nint last() { int unused; return 1; }\n'
        )
        runs, said = looked(1)
        self.assertEqual(runs, 2 * style.AT_ONCE + 2)  # the two of one group, alone
        self.assertRegex(said, r"(?m)^\S*/core/s001\.cpp:3:\d+: error: unused variable")
        self.assertIn("1 with findings", said)
        self.assertEqual(looked(1)[0], 1)


if __name__ == "__main__":
    unittest.main()
