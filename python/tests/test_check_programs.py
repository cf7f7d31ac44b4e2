#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA programs checked by antiphase-check, the GitHub Action, the hook of pre-commit and the plug-in of pytest.

    test_check_programs.py ROOT

ANTIPHASE_TOOL names the program antiphase. Without pytest its plug-in's tests are skipped.
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
EACH = ROOT / "python/antiphase_check/each.py"
BROKEN = (ROOT / "examples/plain_cuda/sum.cu").read_text()
RIGHT = BROKEN.replace("t == 63", "t == 0")
LIBRARY = "// int main() is elsewhere\n__global__ void one(int* to) { *to = 1; }\n"


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="antiphase-programs-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, **files):
        (self.folder / "src").mkdir(exist_ok=True)
        for name, text in files.items():
            (self.folder / f"src/{name}.cu").write_text(text)

    def run_there(self, code, *words, **environment):
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | environment,
        )
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def found(self, name):
        """Files and lines of what is in a SARIF file, which has one run."""
        (run,) = json.loads((self.folder / name).read_text())["runs"]
        places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
        return {(place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in places}


class Each(InAFolder):
    def test_programs_and_a_file_without_main(self):
        self.write(a=BROKEN, b=LIBRARY, c=RIGHT, d=BROKEN)
        said = self.run_there(5, sys.executable, EACH, "**/*.cu", "--sarif", "found.sarif")
        self.assertIn("src/b.cu: no main: not checked\n", said)
        self.assertEqual(said.splitlines()[-1], "3 of 4 files checked, 1 without a main")
        self.assertIn("overwritten in use: kernel sum", said)
        self.assertEqual({file for file, _ in self.found("found.sarif")}, {"src/a.cu", "src/d.cu"})

    def test_right_programs(self):
        self.write(b=LIBRARY, c=RIGHT)
        said = self.run_there(0, sys.executable, EACH, "src/b.cu", "src/c.cu", "--sarif", "found.sarif")
        self.assertIn("no finding in 20 schedules", said)
        self.assertEqual(self.found("found.sarif"), set())

    def test_options_and_arguments_of_the_program(self):
        self.write(c=RIGHT.replace("int main() {", "int main(int count, char**) { if (count != 2) return 1;"))
        self.run_there(2, sys.executable, EACH, "src/c.cu")
        said = self.run_there(
            0, sys.executable, EACH, "src/c.cu", "--options=--schedules 3 -- x", "--sarif", "s"
        )
        self.assertIn("in 3 schedules", said)

    def test_what_does_not_compile(self):
        self.write(c=RIGHT, d=RIGHT.replace("sum<<<", "none<<<"))
        said = self.run_there(3, sys.executable, EACH, "src/c.cu", "src/d.cu", "--sarif", "found.sarif")
        self.assertEqual({file for file, _ in self.found("found.sarif")}, {"src/d.cu"})
        self.assertIn("src/c.cu: checked\n", said)
        self.assertNotIn("src/d.cu: checked", said)
        self.assertEqual(said.splitlines()[-1], "1 of 2 files checked, 1 that could not be checked")
        self.assertFalse(self.successful("found.sarif"))

    def successful(self, name):
        (run,) = json.loads((self.folder / name).read_text())["runs"]
        return all(one["executionSuccessful"] for one in run["invocations"])

    def test_nothing_to_check(self):
        self.write(b=LIBRARY)
        said = self.run_there(6, sys.executable, EACH, "**/*.cu", "--sarif", "found.sarif")
        self.assertEqual(said.splitlines()[-1], "0 of 1 file checked, 1 without a main")
        self.assertEqual((self.found("found.sarif"), self.successful("found.sarif")), (set(), False))
        self.run_there(0, sys.executable, EACH, "src/b.cu", "--allow-none", "--sarif", "found.sarif")
        self.assertTrue(self.successful("found.sarif"))
        self.write(c=RIGHT)
        self.run_there(0, sys.executable, EACH, "**/*.cu", "--sarif", "found.sarif")
        self.assertTrue(self.successful("found.sarif"))
        self.run_there(2, sys.executable, EACH, "src/c.cu", "--options=--nonsense", "--sarif", "found.sarif")
        self.assertFalse(self.successful("found.sarif"))

    def test_headers_stand_for_programs(self):
        self.write(
            a=BROKEN, b='#include "inner.cuh"\n' + RIGHT, c="#include <deep/outer.cuh>\n" + BROKEN, d=LIBRARY
        )
        (self.folder / "src/inner.cuh").write_text("// none\n")
        (self.folder / "src/deep").mkdir()
        (self.folder / "src/deep/outer.cuh").write_text('#include "../inner.cuh"\n')
        quick = "--options=-I src --schedules 2"
        said = self.run_there(5, sys.executable, EACH, "src/inner.cuh", quick)
        self.assertEqual(said.splitlines()[-1], "2 of 2 files checked")
        self.assertIn("src/b.cu: checked", said)
        self.assertIn("src/c.cu: checked", said)
        (self.folder / "src/lone.cuh").write_text("")
        self.run_there(6, sys.executable, EACH, "src/lone.cuh", quick)

    def test_a_run_that_does_not_end(self):
        self.write(a="#include <unistd.h>\n" + RIGHT.replace("std::printf", "sleep(100); std::printf"))
        said = self.run_there(4, sys.executable, EACH, "src/a.cu", "--options=--seconds 1", "--sarif", "s")
        self.assertIn("src/a.cu: not checked: exit code 4\n", said)
        self.assertFalse(self.successful("s"))

    def test_no_file(self):
        self.assertIn("no file none/*.cu", self.run_there(3, sys.executable, EACH, "none/*.cu"))


class Action(InAFolder):
    def test_the_step_that_checks(self):
        text = (ROOT / "action.yml").read_text()
        script = textwrap.dedent(re.search(r"^ +run: \|\n((?: {8}.*\n)+)", text, re.MULTILINE)[1])
        # in place of a virtual environment: a pip that tells its arguments, and this tree's antiphase-check
        python = self.folder / "bin/python3"
        python.parent.mkdir()
        python.write_text(
            '#!/bin/sh\nmkdir -p "$3/bin"\n'
            'printf \'#!/bin/sh\\necho "$@" >pip\\n\' >"$3/bin/pip"\n'
            f'printf \'#!/bin/sh\\nexec {sys.executable} {EACH} "$@"\\n\' >"$3/bin/antiphase-check"\n'
            'chmod +x "$3"/bin/*\n'
        )
        python.chmod(0o755)
        self.write(a=BROKEN, b=LIBRARY, c=RIGHT)
        default = dict(
            re.findall(r'^  (\w+):\n    description: .*\n    default: "?([^"\n]*)', text, re.MULTILINE)
        )
        settings = {
            "PATH": f"{python.parent}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder / "temp"),
            "FILES": default["files"],
            "OPTIONS": "--schedules 4 -D N=1",
            "VERSION": default["version"],
            "SARIF": default["sarif"],
            "NONE": default["allow_none"],
        }
        bash = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
        said = self.run_there(5, *bash, **settings)
        self.assertIn("1 finding, seen in 2 ways, in 4 schedules", said)
        self.assertEqual({file for file, _ in self.found("antiphase.sarif")}, {"src/a.cu"})
        self.assertIn(f"antiphase=={default['version']}", (self.folder / "pip").read_text())
        self.run_there(0, *bash, **settings | {"FILES": "src/b.cu\nsrc/c.cu", "VERSION": "a.whl"})
        self.assertEqual(self.found("antiphase.sarif"), set())
        self.assertIn(" a.whl", (self.folder / "pip").read_text())
        self.run_there(6, *bash, **settings | {"FILES": "src/b.cu"})
        self.assertTrue((self.folder / "antiphase.sarif").exists())
        self.run_there(0, *bash, **settings | {"FILES": "src/b.cu", "NONE": "true"})


class Hook(InAFolder):
    def test_as_pre_commit_runs_it(self):
        text = (ROOT / ".pre-commit-hooks.yaml").read_text()
        hook = ROOT / re.search(r"^  entry: (.*)$", text, re.MULTILINE)[1]
        words = re.search(r"^  args: \[(.*)\]$", text, re.MULTILINE)[1].split(", ")
        self.write(a=BROKEN, b=LIBRARY, c=RIGHT)
        self.assertIn(
            "1 finding, seen in 2 ways, in 6 schedules",
            self.run_there(5, hook, *words, "src/a.cu", "src/b.cu"),
        )
        self.run_there(0, hook, *words, "src/b.cu", "src/c.cu")
        self.run_there(0, hook, *words, "src/b.cu")
        files = re.search(r"^  files: (.*)$", text, re.MULTILINE)[1]
        for name, wanted in (("a.cu", True), ("a.cuh", True), ("a.cut", False), ("a.cpp", False)):
            self.assertEqual(re.search(files, name) is not None, wanted)

    def test_the_recipe_of_the_docs(self):
        recipe = (ROOT / "docs/check/editors.md").read_text().split("- repo: local")[1].split("```")[0]
        words = re.findall(r"--[^\",\]]+", re.search(r"args: (.*)", recipe)[1])
        self.assertEqual(words, ["--allow-none", "--options=-I include --schedules=6"])
        self.write(b='#include "one.cuh"\n' + RIGHT)
        (self.folder / "include").mkdir()
        (self.folder / "include/one.cuh").write_text("")
        for name in ("src/b.cu", "include/one.cuh"):
            said = self.run_there(0, sys.executable, EACH, *words, name)
            self.assertEqual(said.splitlines()[-1], "1 of 1 file checked")


@unittest.skipIf(importlib.util.find_spec("pytest") is None, "pytest is not installed")
class Plugin(InAFolder):
    def pytest(self, code, *words):
        path = f"{ROOT / 'python'}:{os.environ.get('PYTHONPATH', '')}"
        plugin = ("-p", "antiphase_check.plugin", "-p", "no:cacheprovider")
        return self.run_there(code, sys.executable, "-m", "pytest", *plugin, *words, PYTHONPATH=path)

    def test_programs_are_tests(self):
        self.write(a=BROKEN, b=LIBRARY, c=RIGHT)
        (self.folder / "pytest.ini").write_text("[pytest]\nantiphase_check_options = --schedules 5\n")
        said = self.pytest(1, "--antiphase-check")
        self.assertIn("1 failed, 1 passed", said)
        self.assertIn("FAILED src/a.cu::antiphase check", said)
        self.assertIn("1 finding, seen in 2 ways, in 5 schedules", said)
        self.assertNotIn("Traceback", said)

    def test_nothing_to_check(self):
        self.write(b=LIBRARY)
        self.assertIn("none of 1 .cu files has a main", self.pytest(4, "--antiphase-check"))
        self.write(c=RIGHT)
        said = self.pytest(0, "--antiphase-check")
        self.assertIn("1 .cu files without a main were not checked", said)

    @unittest.skipIf(importlib.util.find_spec("numpy") is None, "NumPy is not installed")
    def test_kernels_of_a_test(self):
        (self.folder / "pytest.ini").write_text("[pytest]\nantiphase_check_options = --schedules 2\n")
        (self.folder / "test_it.py").write_text(
            textwrap.dedent(
                """\
            import numpy

            CODE = 'extern "C" __global__ void count(int* to) { ADD; }'

            def counted(add):
                import cupy
                to = cupy.zeros(1, numpy.int32)
                cupy.RawKernel(CODE.replace("ADD", add), "count")((2,), (32,), (to,))
                return to[0]

            def test_right(antiphase_kernels):
                assert counted("atomicAdd(to, 1)") == 64

            def test_broken(antiphase_kernels):
                assert counted("*to += 1") <= 64
            """
            )
        )
        said = self.pytest(1)
        self.assertIn("2 passed, 1 error", said)
        self.assertIn(": race: read of 4 bytes, global memory", said)

    def test_other_runs(self):
        self.write(a=BROKEN)
        (self.folder / "test_it.py").write_text(
            "import sys\ndef test_it(): assert not {'antiphase', 'numpy'} & set(sys.modules)\n"
        )
        self.assertIn("1 passed", self.pytest(0))


if __name__ == "__main__":
    unittest.main()
