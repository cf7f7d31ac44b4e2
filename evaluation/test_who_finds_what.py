#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""who_finds_what.py with made-up programs: what it runs and stops, what counts as found, the contents of the
table, the findings of --check."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent

PROGRAM = """#!/bin/sh
case $1 in
  --list) printf 'fine\\tsome family\\t\\tgpu\\nbroken\\tsome family\\tno wait\\tgpu\\nstuck\\tanother family\\tno release\\tgpu\\n'
          printf 'streams\\tanother family\\ttwo streams\\tchecker only\\n' ;;
  --toolkit) echo 13.0 ;;
  --run) case $2 in
           fine) echo right ;;
           broken) echo 'wrong: number 3 is 1, expected 2'; exit 1 ;;
           stuck) sleep 60 & wait ;;
         esac ;;
esac
"""
SANITIZER = """#!/bin/sh
if [ "$1" = --version ]; then echo 'NVIDIA (R) Compute Sanitizer'; echo 'Version 2025.3.1'; exit 0; fi
echo '========= COMPUTE-SANITIZER'
tool=$2
while [ $# -gt 0 ] && [ "$1" != --run ]; do shift; done
if [ "$2" = stuck ]; then sleep 60; fi
case $tool-$2 in
  racecheck-broken) echo '========= Error: Race reported between Write and Read access'
                    echo '========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)'; exit 9 ;;
  racecheck-*) echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)' ;;
  memcheck-broken) echo 'wrong'; exit 1 ;;
  *) echo '========= ERROR SUMMARY: 0 errors' ;;
esac
"""
SMI = "#!/bin/sh\necho 'Some GPU, 1.2.3'\n"
MUTANTS = [
    {"name": "fine", "family": "some family", "broken": "", "by": None, "kinds": [], "gpu": True},
    {
        "name": "broken",
        "family": "some family",
        "broken": "no wait",
        "by": "race",
        "kinds": ["race", "wrong result"],
        "gpu": True,
    },
    {
        "name": "stuck",
        "family": "another family",
        "broken": "no release",
        "by": "deadlock",
        "kinds": ["deadlock"],
        "gpu": True,
    },
    {
        "name": "streams",
        "family": "another family",
        "broken": "two streams",
        "by": "wrong result",
        "kinds": ["wrong result"],
        "gpu": False,
    },
]


class WhoFindsWhat(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.program = self.executable("mutants_on_gpu", PROGRAM)
        self.executable("bin/compute-sanitizer", SANITIZER)
        self.executable("bin/nvidia-smi", SMI)
        program = self.root / "tests/checker/plain/programs/sum.cu"
        program.parent.mkdir(parents=True)
        program.write_text(
            "// SPDX\n// A sum; broken:\n// no barrier.\n// FOUND SOMEWHERE: wrong result\nx = y;  // FOUND: race or deadlock\n"
        )
        corpus = self.root / "evaluation/corpus/outcome.json"
        corpus.parent.mkdir(parents=True)
        corpus.write_text(
            json.dumps(
                {
                    "programs": {
                        "a.cu": {"findings": ["race at a.cu:1", "race at a.cu:2", "deadlock"]},
                        "b.cu": {"findings": ["race at b.cu:3"]},
                        "c.cu": {},
                    }
                }
            )
        )
        document = self.root / "evaluation/who_finds_what.md"
        document.write_text(
            "".join(
                f"<!-- {name}:begin -->\n<!-- {name}:end -->\n" for name in ("mutants", "programs", "corpus")
            )
        )

    def executable(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run_script(self, *words, code=0):
        done = subprocess.run(
            [sys.executable, SCRIPTS / "who_finds_what.py", "--root", self.root, *words],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}"},
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def store(self, **files):
        folders = {"checker": "tests/checker/mutants/results", "gpu": "evaluation/mutants"}
        for name, content in files.items():
            folder = self.root / folders[name]
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.json").write_text(json.dumps(content))

    def on_gpu(self, *words, code=0):
        out = self.root / "gpu.json"
        said = self.run_script(
            "gpu", str(self.program), str(out), "--limit", "1.5", "-j", "4", *words, code=code
        )
        return (json.loads(out.read_text()) if out.exists() else None), said

    def document(self):
        return (self.root / "evaluation/who_finds_what.md").read_text()

    def row(self, name):
        rows = [line for line in self.document().splitlines() if line.startswith(f"| `{name}`")]
        self.assertEqual(len(rows), 1)
        return [cell.strip() for cell in rows[0].strip("|").split("|")]

    def make_table(self):
        self.store(checker={"schema": 1, "schedules": 20, "mutants": MUTANTS})
        self.run_script("table")

    def test_every_mutant_is_run_by_every_tool_within_its_time(self):
        started = time.monotonic()
        file, _ = self.on_gpu()
        self.assertLess(time.monotonic() - started, 30)
        self.assertEqual(
            (file["schema"], file["device"], file["driver"], file["toolkit"], file["sanitizer"]),
            (1, "Some GPU", "1.2.3", "13.0", "2025.3.1"),
        )
        results = {
            name: {tool: said["result"] for tool, said in tools.items()}
            for name, tools in file["mutants"].items()
        }
        self.assertEqual(
            results,
            {
                "fine": {
                    "plain": "right",
                    "racecheck": "nothing",
                    "synccheck": "nothing",
                    "memcheck": "nothing",
                    "initcheck": "nothing",
                },
                "broken": {
                    "plain": "wrong",
                    "racecheck": "found",
                    "synccheck": "nothing",
                    "memcheck": "failed",
                    "initcheck": "nothing",
                },
                "stuck": {
                    tool: "hangs" for tool in ("plain", "racecheck", "synccheck", "memcheck", "initcheck")
                },
            },
        )
        self.assertIn("Race reported", file["mutants"]["broken"]["racecheck"]["said"])
        self.assertIn("number 3", file["mutants"]["broken"]["plain"]["said"])

    def test_time_that_runs_out_is_said(self):
        file, said = self.on_gpu("--minutes", "0.01", "--only", "stuck", code=1)
        self.assertIn("no time was left", said)
        self.assertEqual(file["mutants"]["stuck"]["racecheck"]["result"], "no time")

    def test_a_name_that_nobody_has_is_refused(self):
        _, said = self.on_gpu("--only", "nobody", code=2)
        self.assertIn("'nobody'", said)

    def test_without_a_sanitizer_it_says_so(self):
        (self.root / "bin/compute-sanitizer").unlink()
        if not os.path.exists("/usr/local/cuda/bin/compute-sanitizer"):
            self.assertIn("compute-sanitizer was not found", self.on_gpu(code=4)[1])

    def test_the_table(self):
        file, _ = self.on_gpu()
        self.store(gpu=file)
        self.make_table()
        self.assertEqual(
            self.row("broken"), ["`broken` no wait", "race", "**found**", "–", "failed", "–", "**wrong**"]
        )
        self.assertEqual(self.row("stuck")[1:], ["deadlock", *["hangs"] * 5])
        self.assertEqual(self.row("fine"), ["`fine` *nothing is broken*", *["–"] * 6])
        self.assertEqual(self.row("streams")[2:], [""] * 5)
        text = self.document()
        self.assertIn(
            "Of 3 broken kernels the checker finds 3, within 20 schedules each, 1 of them only because", text
        )
        self.assertIn("2 of the broken ones were run on one Some GPU", text)
        self.assertIn("racecheck finds 1, synccheck 0", text)
        self.run_script("table", "--check")

    def test_a_tool_that_reports_the_right_kernel_too_finds_nothing(self):
        file, _ = self.on_gpu()
        file["mutants"]["fine"]["racecheck"] = {"result": "found"}
        self.store(gpu=file)
        self.make_table()
        self.assertEqual(self.row("broken")[2], "reports")
        self.assertEqual(self.row("fine")[2], "reports")
        self.assertIn("racecheck finds 0", self.document())
        self.assertIn("Reports on right kernels: racecheck 1;", self.document())

    def test_without_a_gpu_the_columns_are_empty(self):
        self.make_table()
        self.assertEqual(self.row("broken")[1:], ["race", *[""] * 5])
        self.assertIn("not measured yet", self.document())

    def test_a_tool_that_was_not_run_has_no_column(self):
        file, _ = self.on_gpu()
        for tools in file["mutants"].values():
            del tools["initcheck"]
        self.store(gpu=file)
        self.make_table()
        self.assertEqual(self.row("broken")[1:], ["race", "**found**", "–", "failed", "**wrong**"])
        self.assertNotIn("initcheck", self.document())

    def test_a_folder_of_programs_is_run_too(self):
        folder = self.root / "upstream"
        self.executable("upstream/one", "#!/bin/sh\necho right\n")
        self.executable("upstream/one-broken", "#!/bin/sh\necho '3 is 1, expected 2'; exit 1\n")
        (folder / "list").write_text("one\tsome project\t\tgpu\none-broken\tsome project\tno wait\tgpu\n")
        (folder / "toolkit").write_text("13.0\n")
        self.program = folder
        file, _ = self.on_gpu("--only", "one")
        self.assertEqual(file["toolkit"], "13.0")
        self.assertEqual(
            {name: tools["plain"]["result"] for name, tools in file["mutants"].items()},
            {"one": "right", "one-broken": "wrong"},
        )

    def test_what_is_outside_the_markers_stays_and_what_is_inside_is_checked(self):
        self.make_table()
        path = self.root / "evaluation/who_finds_what.md"
        path.write_text("Before.\n" + self.document() + "After.\n")
        self.run_script("table", "--check")
        path.write_text(self.document().replace("| race |", "| deadlock |"))
        self.assertIn("does not agree", self.run_script("table", "--check", code=1))
        self.run_script("table")
        self.assertTrue(self.document().startswith("Before.\n") and self.document().endswith("After.\n"))
        path.write_text("no markers\n")
        self.assertIn("expected one line", self.run_script("table", code=1))

    def test_programs_and_public_ones_stand_in_tables_too(self):
        self.make_table()
        self.assertIn("1 programs, each right and broken.", self.document())
        self.assertIn(
            "| [`sum`](../tests/checker/plain/programs/sum.cu) | A sum; broken: no barrier. | wrong result; race or deadlock (line 5) |\n",
            self.document(),
        )
        self.assertIn(
            "Of 3 public programs:\n\n| finding | public programs |\n| --- | --: |\n| race | 2 |\n| deadlock | 1 |\n",
            self.document(),
        )
        program = self.root / "tests/checker/plain/programs/other.cu"
        program.write_text("// SPDX\n// A sum without a mark.\nint x;\n")
        self.assertIn(
            "other.cu: expected a comment that says what is broken, and a mark",
            self.run_script("table", code=1),
        )

    def test_a_result_of_another_schema_is_refused(self):
        self.make_table()
        self.store(gpu={"schema": 2})
        self.assertIn("gpu.json: schema 2: expected 1", self.run_script("table", code=1))

    def test_what_the_checker_finds_is_stored(self):
        program = self.executable("test_mutants", '#!/bin/sh\necho \'{"schema": 1}\' > "$2"\n')
        self.run_script("checker", str(program))
        self.assertEqual(
            (self.root / "tests/checker/mutants/results/checker.json").read_text(), '{"schema": 1}\n'
        )


if __name__ == "__main__":
    unittest.main()
