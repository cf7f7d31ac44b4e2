#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""touched_tests.py: which tests files select, by the table of files that are read, by Ninja's dependencies and by
what programs link, in a repository of two libraries' files and three programs."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(SCRIPTS))
from touched_tests import choose  # noqa: E402

NEEDS = {
    "gemm": ["test_gemm"],
    "gemm.tf32": ["test_tf32"],
    "scan": ["test_scan"],
    "checker.plain": ["test_plain"],
    "checker.plain.programs": ["tool"],
    "tool.process": ["tool"],
    "docs": [],
    "report": [],
    "style": [],
    "layering": [],
}


def chosen(changed, compiled=None, mentions=None):
    made_of = {target: {} for targets in NEEDS.values() for target in targets}
    made_of.update(compiled or {})
    names, reason = choose(changed, NEEDS, made_of, mentions or (lambda name: []))
    return None if names is None else set(names) - {"style", "layering"}


class Choice(unittest.TestCase):
    def test_a_compiled_file(self):
        made_of = {"test_tf32": {"library/gemm/a.cpp": "library/gemm/a.cpp"}}
        self.assertEqual(chosen(["library/gemm/a.cpp"], made_of), {"gemm.tf32"})
        self.assertEqual(
            chosen(["library/gemm/b.cpp"], made_of), {"gemm.tf32"}
        )  # what is recorded, it was asked for

    def test_the_reason_is_a_file(self):
        names, _ = choose(["core/x.cpp"], NEEDS, {"test_scan": {"core/x.cpp": "core/x.cpp"}}, lambda name: [])
        self.assertEqual(names, {"scan": "core/x.cpp", "style": "core/x.cpp", "layering": "core/x.cpp"})

    def test_what_the_tool_links_and_the_checker_does_not_use(self):
        made_of = {"tool": {"library/gemm/a.cpp": "library/gemm/a.cpp"}}
        self.assertEqual(chosen(["library/gemm/a.cpp"], made_of), {"tool.process"})
        made_of = {"tool": {"checker/plain/a.cpp": "checker/plain/a.cpp"}}
        self.assertEqual(chosen(["checker/plain/a.cpp"], made_of), {"tool.process", "checker.plain.programs"})

    def test_programs_that_are_not_built(self):
        self.assertEqual(
            chosen(["docs/x.svg"], {"test_scan": {None: "not built"}}) & {"scan", "gemm"}, {"scan"}
        )

    def test_files_that_tests_read(self):
        self.assertEqual(chosen(["README.md"]), {"docs", "report"})
        self.assertEqual(
            chosen(["tests/checker/plain/programs/a.cu"]), {"checker.plain", "checker.plain.programs"}
        )
        self.assertEqual(chosen(["tests/checker/plain/run.py"]), {"checker.plain", "checker.plain.programs"})
        self.assertEqual(chosen(["tests/gemm/CMakeLists.txt"]), {"gemm", "gemm.tf32"})
        self.assertEqual(chosen(["tests/tool/test_process_gemm.py"]), {"tool.process"})

    def test_a_compiled_file_of_tests(self):
        made_of = {"test_gemm": {"tests/gemm/a.cpp": "tests/gemm/a.cpp"}}
        self.assertEqual(chosen(["tests/gemm/a.cpp"], made_of), {"gemm"})

    def test_scripts_and_what_imports_them(self):
        users = {
            "results.py": ["scripts/figures/report.py"],
            "report.py": ["tests/report/test_report.py", "scripts/figures/results.py"],
        }
        self.assertEqual(
            chosen(["scripts/figures/results.py"], mentions=lambda name: users.get(name, [])), {"report"}
        )
        self.assertEqual(chosen(["scripts/lone.py"], mentions=lambda name: users.get(name, [])), set())

    def test_everything(self):
        for file in (
            "CMakeLists.txt",
            "cmake/x.cmake",
            "run",
            "cmake/AntiphaseBuild.cmake",
            "unknown/file",
            "tests/none/x.cpp",
        ):
            self.assertIsNone(chosen([file]), file)
            self.assertIn(file, choose([file], NEEDS, {}, lambda name: [])[1])


class Repository(unittest.TestCase):
    """A build by Ninja with g++, as CMake writes it."""

    FILES = {
        "core/common.hpp": "int one(); int two();\n",
        "core/one.cpp": '#include "common.hpp"\nint one() { return 1; }\n',
        "core/two.cpp": '#include "common.hpp"\nint two() { return 2; }\n',
        "tests/gemm/test_gemm.cpp": '#include "core/common.hpp"\nint main() { return one() - 1; }\n',
        "tests/scan/test_scan.cpp": '#include "core/common.hpp"\nint main() { return two() - 2; }\n',
        "tests/alone/test_alone.cpp": "int main() {}\n",
        ".gitignore": "/build/\n",
    }
    NINJA = """rule cxx
  command = g++ -I{root} -MD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
rule ar
  command = rm -f $out && ar rcs $out $in
rule CXX_LINKER
  command = g++ $in -o $out
build one.cpp.o: cxx {root}/core/one.cpp
build two.cpp.o: cxx {root}/core/two.cpp
build all.a: ar one.cpp.o two.cpp.o
"""
    PROGRAM = """build {name}.cpp.o: cxx {root}/tests/{folder}/{name}.cpp
build bin/{name}: CXX_LINKER {name}.cpp.o all.a
build {name}: phony bin/{name}
"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        for name, text in self.FILES.items():
            self.write(name, text)
        (self.root / "scripts/build").mkdir(parents=True)
        for script in ("touched_tests.py", "which_tests.py"):
            shutil.copy(SCRIPTS / script, self.root / "scripts/build")
        text, needs = self.NINJA.format(root=self.root), "docs\nstyle\n"
        for folder in ("gemm", "scan", "alone"):
            text += self.PROGRAM.format(root=self.root, folder=folder, name=f"test_{folder}")
            needs += f"{folder} test_{folder}\n"
        self.write("build/build.ninja", text)
        self.write("build/tests/needs.txt", needs)
        self.git("init", "-q", "-b", "main")
        self.commit()
        self.ninja()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *arguments):
        names = ("-c", "user.name=test", "-c", "user.email=test@example.org")
        subprocess.run(["git", *names, *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "change")

    def ninja(self):
        subprocess.run(["ninja", "-C", self.root / "build"], check=True, capture_output=True)

    def ask(self, *arguments):
        result = subprocess.run(
            [sys.executable, self.root / "scripts/build/touched_tests.py", self.root / "build", *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self.assertLessEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.returncode, [line.split() for line in result.stdout.splitlines()], result.stderr

    def test_nothing_has_changed(self):
        status, out, said = self.ask()
        self.assertEqual((status, out), (0, []))
        self.assertIn("Nothing has changed since", said)

    def test_a_file_of_the_library(self):
        self.write("core/two.cpp", self.FILES["core/two.cpp"] + "// more\n")
        status, out, said = self.ask()
        self.assertEqual((status, out), (0, [["test_scan"], ["scan", "style"]]))
        self.assertIn("1 file changed since", said)
        self.assertIn("core/two.cpp: scan style", said)
        self.ninja()  # the same when the change has been built
        self.assertEqual(self.ask()[1], out)

    def test_a_header_and_a_page(self):
        self.write("core/common.hpp", self.FILES["core/common.hpp"] + "// more\n")
        self.write("docs/learn/model.md", "# Page\n")
        self.assertEqual(self.ask()[1], [["test_gemm", "test_scan"], ["gemm", "scan", "docs", "style"]])

    def test_since_a_branch_left_main_or_since_a_commit(self):
        self.git("checkout", "-qb", "work")
        self.write("core/one.cpp", self.FILES["core/one.cpp"] + "// more\n")
        self.commit()
        self.ninja()
        self.assertEqual(self.ask()[1], [["test_gemm"], ["gemm", "style"]])
        self.assertEqual(self.ask("HEAD")[1], [])
        self.assertEqual(self.ask("HEAD~1")[1], [["test_gemm"], ["gemm", "style"]])
        status, out, said = self.ask("no-such-branch")
        self.assertEqual((status, out), (1, []))
        self.assertIn("git knows no commit no-such-branch", said)

    def test_programs_that_are_not_built(self):
        (self.root / "build/bin/test_alone").unlink()
        self.write("core/one.cpp", self.FILES["core/one.cpp"] + "// more\n")
        self.assertEqual(self.ask()[1][1], ["gemm", "alone", "style"])

    def test_a_file_that_is_not_known(self):
        self.write("data/numbers.bin", "1\n")
        status, out, said = self.ask()
        self.assertEqual((status, out[0]), (0, ["all"]))
        self.assertEqual(sorted(out[1]), ["alone", "docs", "gemm", "scan", "style"])
        self.assertIn("Running all tests: it is not known which tests depend on data/numbers.bin", said)


if __name__ == "__main__":
    unittest.main()
