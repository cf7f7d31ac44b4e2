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
        self.run_there(3, sys.executable, EACH, "src/c.cu", "src/d.cu", "--sarif", "found.sarif")
        self.assertEqual({file for file, _ in self.found("found.sarif")}, {"src/d.cu"})

    def test_no_file(self):
        self.assertIn("no file none/*.cu", self.run_there(2, sys.executable, EACH, "none/*.cu"))


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
        }
        bash = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
        said = self.run_there(5, *bash, **settings)
        self.assertIn("1 finding, seen in 2 ways, in 4 schedules", said)
        self.assertEqual({file for file, _ in self.found("antiphase.sarif")}, {"src/a.cu"})
        self.assertIn(f"antiphase=={default['version']}", (self.folder / "pip").read_text())
        self.run_there(0, *bash, **settings | {"FILES": "src/b.cu\nsrc/c.cu", "VERSION": "a.whl"})
        self.assertEqual(self.found("antiphase.sarif"), set())
        self.assertIn(" a.whl", (self.folder / "pip").read_text())


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
        self.assertIn("2 findings in 5 schedules", said)
        self.assertNotIn("Traceback", said)

    def test_other_runs(self):
        self.write(a=BROKEN)
        (self.folder / "test_it.py").write_text(
            "import sys\ndef test_it(): assert not {'antiphase', 'numpy'} & set(sys.modules)\n"
        )
        self.assertIn("1 passed", self.pytest(0))


if __name__ == "__main__":
    unittest.main()
