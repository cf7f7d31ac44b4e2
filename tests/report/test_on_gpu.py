#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""on_gpu with made-up programs in place of the tool, the tests and compute-sanitizer: the commands it runs,
the failures it counts, the files it writes."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop()) / "figures"

TOOL = """#!/bin/bash
echo "$*" >>"$CALLS"
if [[ "$*" != *--json* ]]; then echo "${GPU_MESSAGE:-fine}"; exit ${GPU_STATUS:-0}; fi
if [[ -n "${HANGS:-}" && "$*" == *"$HANGS"* ]]; then sleep 30; fi
if [[ -n "${WRONG:-}" && "$*" == *"$WRONG"* ]]; then echo '{"partial"'; echo "verification failed" >&2; exit 5; fi
code=${CODE-'"sm_90a:0123456789abcdef"'}
cat <<JSON
{
  "records": [
    {
      "code": [$code],
      "policy": "some-step",
      "time_us": {
        "ours": 12.5,
        "${RIVAL:-cublas_fp32}": 10.0,
        "cub": 9.0
      }
    }
  ]
}
JSON
"""
TEST = """#!/bin/bash
echo "$(basename "$0") $*" >>"$CALLS"
if [[ "$*" == *list_tests* ]]; then printf 'suite.\\n  Cuda_test\\n'; exit 0; fi
%s
"""
FINE = 'echo "[       OK ] suite.Cuda_test (1 ms)"; echo "[  PASSED  ] 1 test."'
SANITIZER = """#!/bin/bash
echo "sanitizer $*" >>"$CALLS"
echo "========= COMPUTE-SANITIZER"
while [[ "$1" != *test_* ]]; do kind="$kind $1"; shift; done
"$@" || exit
if [[ -n "${FINDS:-}" && "$kind" == *"$FINDS"* ]]; then echo "========= Error: Race reported"; echo "========= ERROR SUMMARY: 1 error"; exit ${SANITIZER_STATUS:-66}; fi
echo "========= ERROR SUMMARY: 0 errors"
"""


BENCHES = [
    f"bench-{run}.json"
    for run in (
        "sizes-rested",
        "shapes-rested",
        "layouts-rested",
        "sizes-hot",
        "accuracy-rested",
        "data-rested",
        "suite-rested",
        "random-rested",
        "serving-rested",
        "map-rested",
        "deep-map-rested",
        "scan-sizes-rested",
        "scan-types-rested",
        "scan-long-rows-rested",
        "scan-short-rows-rested",
        "scan-keys-rested",
        "scan-wider-i32-rested",
        "scan-wider-f64-rested",
        "scan-own-rested",
        "scan-own-long-rested",
    )
]


class OnGpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.build, self.output, self.calls = self.root / "build", self.root / "out", self.root / "calls.txt"
        self.program("build/antiphase", TOOL)
        self.program("build/tests/a/test_good", TEST % FINE)
        self.program("path/compute-sanitizer", SANITIZER)
        self.program("path/nvidia-smi", "#!/bin/bash\necho a GPU\n")

    def program(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run_script(self, *arguments, code=0, **environment):
        done = subprocess.run(
            [str(SCRIPTS / "on_gpu"), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=50,
            env={
                **os.environ,
                "PATH": f"{self.root}/path:{os.environ['PATH']}",
                "CALLS": str(self.calls),
                **environment,
            },
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def run_for_seconds(self, seconds, steps, *changes):
        """The minimum is one minute; the script is made to believe that most of it has passed. Changes:
        further texts to replace, with their replacements."""
        text = (SCRIPTS / "on_gpu").read_text()
        for old, new in (("minutes * 60))", f"{seconds}))"), *changes):
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        self.program("scripts/figures/on_gpu", text)
        return subprocess.run(
            [str(self.root / "scripts/figures/on_gpu"), "--steps", steps, str(self.build), str(self.output)],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PATH": f"{self.root}/path:{os.environ['PATH']}", "CALLS": str(self.calls)},
        )

    def summary(self):
        return (self.output / "summary.txt").read_text()

    def line(self, label):
        lines = [line for line in self.summary().splitlines() if re.match(rf"(fine|failed) +{label} ", line)]
        self.assertEqual(len(lines), 1, self.summary())
        return lines[0]

    def results(self):
        return sorted(re.sub(r"^\d{8}T\d{6}-", "", path.name) for path in (self.output / "results").iterdir())

    def test_everything_fine(self):
        done = self.run_script(self.build, self.output)
        self.assertEqual(
            self.results(),
            sorted(
                [
                    f"gemm-{shape}-rested.json"
                    for shape in ("1024x1024x1024", "2048x2048x2048", "4096x4096x4096", "4095x4097x1003")
                ]
                + [f"scan-{2 ** power}-rested.json" for power in (16, 20, 24, 26, 28)]
                + ["attention-8x12x1024x64-causal-rested.json", "attention-4x16x1024x128-rested.json"]
                + ["gemm-4096x4096x4096-hot.json", f"scan-{2 ** 28}-hot.json"]
                + ["attention-8x12x1024x64-causal-hot.json"]
                + BENCHES
            ),
        )
        for path in (self.output / "results").iterdir():
            self.assertIn("records", json.loads(path.read_text()))
        self.assertIn("1 passed, 0 skipped", self.line("tests test_good"))
        for kind in ("memcheck", "racecheck", "synccheck"):
            self.assertIn("clean in 1 tests", self.line(f"{kind} test_good"))
        self.assertRegex(self.summary(), r"\n38 fine, 0 failed, 0 min \d+ s\n$")
        self.assertEqual(done.stdout, self.summary())
        self.assertRegex(done.stderr, r"some-step +12\.5 us")
        self.assertIn("test_good --gtest_filter=*Cuda*\n", self.calls.read_text())

    def test_the_public_calls(self):
        self.run_script("--steps", "products,scans", self.build, self.output)
        self.assertEqual(self.results(), sorted(BENCHES))
        calls = [line for line in self.calls.read_text().splitlines() if line.startswith("bench ")]
        self.assertEqual([call.split()[1] for call in calls], ["gemm"] * 11 + ["scan"] * 9)
        for call in calls:
            self.assertRegex(
                call, r"^bench (gemm|scan) --\S+( .*)? --on cuda --protocol (rested|hot) --json$"
            )
        self.assertIn("--size 512,1024,2048,4096,8192,16384", calls[0])
        self.assertEqual([call for call in calls if "--data all" in call], calls[5:6])
        self.run_script("--steps", "products,scans", self.build, self.output, code=1, RIVAL="memcpy")
        self.assertIn("without the rival cublas_fp32", self.line("bench bench-data rested"))

    def test_a_failing_test_does_not_stop_the_rest(self):
        self.program("build/tests/b/test_bad", TEST % 'echo "[  FAILED  ] suite.Cuda_test"; exit 1')
        self.run_script("--steps", "tests,rested", self.build, self.output, code=1)
        self.assertIn("exit status 1", self.line("tests test_bad"))
        self.assertTrue(self.line("tests test_good").startswith("fine"))
        self.assertEqual(len(self.results()), 11)

    def test_a_program_whose_tests_were_all_skipped_has_tested_nothing(self):
        self.program(
            "build/tests/a/test_good",
            TEST % 'echo "[  SKIPPED ] suite.Cuda_test (0 ms)"; echo "[  PASSED  ] 0 tests."',
        )
        self.run_script("--steps", "tests", self.build, self.output, code=1)
        self.assertIn("all 1 skipped", self.line("tests test_good"))

    def test_programs_without_gpu_tests_are_not_run(self):
        self.program("build/tests/c/test_of_the_cpu", "#!/bin/bash\nexit 1\n")
        self.run_script("--steps", "tests", self.build, self.output)
        self.assertNotIn("test_of_the_cpu", self.summary())

    def test_programs_of_very_many_tests_are_run(self):
        """Closing such a list early would kill the program that prints it."""
        many = TEST.replace(
            "printf 'suite.\\n  Cuda_test\\n'", "printf 'suite.\\n'; seq -f '  Cuda_test_%%.0f' 200000"
        )
        self.assertIn("seq -f", many)
        self.program("build/tests/a/test_many", many % FINE)
        self.run_script("--steps", "tests", self.build, self.output)
        self.assertIn("1 passed, 0 skipped", self.line("tests test_many"))

    def test_findings_in_a_long_log_are_found(self):
        lines = 'for i in {1..20000}; do echo "========= Error: number $i"; done\n'
        self.program(
            "path/compute-sanitizer",
            SANITIZER.replace('echo "========= ERROR SUMMARY: 0', lines + 'echo "========= ERROR SUMMARY: 0'),
        )
        self.run_script("--steps", "memcheck", self.build, self.output, code=1)
        self.assertIn("findings", self.line("memcheck test_good"))

    def test_a_build_without_gpu_tests_fails(self):
        (self.build / "tests/a/test_good").unlink()
        self.run_script("--steps", "tests,racecheck", self.build, self.output, code=1)
        self.assertIn("0 fine, 2 failed", self.summary())

    def test_a_wrong_result_gives_no_result_file(self):
        self.run_script("--steps", "rested", self.build, self.output, code=1, WRONG="--m 2048")
        self.assertIn("exit status 5: verification failed", self.line("ladder gemm-2048x2048x2048 rested"))
        self.assertEqual(len(self.results()), 10)
        self.assertNotIn("gemm-2048x2048x2048-rested.json", self.results())

    def test_a_missing_rival_is_a_failure(self):
        self.run_script("--steps", "hot", self.build, self.output, code=1, RIVAL="memcpy")
        self.assertIn("without the rival cublas_fp32", self.line("ladder gemm-4096x4096x4096 hot"))
        self.assertTrue(self.line(f"ladder scan-{2 ** 28} hot").startswith("fine"))

    def test_figures_without_code_are_counted(self):
        self.run_script("--steps", "hot", self.build, self.output, CODE="")
        self.assertTrue(
            self.line(f"ladder scan-{2 ** 28} hot").endswith(
                "; 1 records do not tell the code of their kernels"
            )
        )
        self.run_script("--steps", "hot", self.build, self.output)
        self.assertNotIn("do not tell", self.summary())

    def test_findings_are_failures_even_if_the_status_hides_them(self):
        for status in ("66", "0"):
            self.run_script(
                "--steps",
                "memcheck,racecheck",
                self.build,
                self.output,
                code=1,
                FINDS="racecheck",
                SANITIZER_STATUS=status,
            )
            self.assertIn("findings", self.line("racecheck test_good"))
            self.assertTrue(self.line("memcheck test_good").startswith("fine"))

    def test_programs_run_in_parts_under_a_sanitizer(self):
        """Each part is one of several processes; a finding or failure of one part counts for the program."""
        part = 'part="$GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS"; echo "$part" >>"$CALLS"'
        several = TEST.replace(
            "printf 'suite.\\n  Cuda_test\\n'", "printf 'suite.\\n'; seq -f '  Cuda_test_%%.0f' 5"
        )
        self.assertIn("seq -f", several)
        self.program("path/nproc", "#!/bin/bash\necho 5\n")
        self.program("build/tests/a/test_good", several % f"{part}; {FINE}")
        self.run_script("--steps", "memcheck", self.build, self.output)
        self.assertIn("clean in 3 tests", self.line("memcheck test_good"))
        self.assertEqual(
            sorted(re.findall(r"^\d of \d$", self.calls.read_text(), re.MULTILINE)),
            ["0 of 3", "1 of 3", "2 of 3"],
        )
        self.assertEqual(
            [path.name for path in (self.output / "logs").glob("memcheck-test_good*")],
            ["memcheck-test_good.txt"],
        )
        for wrong, words in (
            ("exit 1", "exit status 1"),
            ("echo '========= Error: Invalid read'", "findings"),
            ("sleep 40", "in the 2 tests"),
        ):
            self.program(
                "build/tests/a/test_good",
                several % f'if [ "$GTEST_SHARD_INDEX" = 1 ]; then {wrong}; fi; {FINE}',
            )
            self.run_for_seconds(12, "memcheck")
            self.assertIn(words, self.line("memcheck test_good"))

    def test_without_compute_sanitizer_it_fails(self):
        if pathlib.Path("/usr/local/cuda/bin/compute-sanitizer").exists():
            self.skipTest("this machine has compute-sanitizer in its usual place")
        (self.root / "path/compute-sanitizer").unlink()
        if shutil.which("compute-sanitizer"):
            self.skipTest("this machine has compute-sanitizer on PATH")
        self.run_script("--steps", "synccheck", self.build, self.output, code=1)
        self.assertIn("compute-sanitizer was not found", self.summary())

    def test_time_is_bounded(self):
        self.program(
            "build/tests/a/test_good", TEST % (FINE + "; if [[ $* == *shuffle* ]]; then sleep 40; fi")
        )
        self.program("build/tests/b/test_silent", TEST % "sleep 40")
        begin = time.monotonic()
        done = self.run_for_seconds(12, "racecheck,tests,hot", ("-lt 10", "-lt 3"), ("share=10", "share=3"))
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("clean in the 1 tests that time allowed", self.line("racecheck test_good"))
        self.assertIn("took too long, in its first test", self.line("racecheck test_silent"))
        self.assertIn("stopped: it took too long", self.line("tests test_silent"))
        self.assertIn("no time left", self.line("ladder gemm-4096x4096x4096 hot"))

    def test_without_a_gpu_nothing_is_run(self):
        done = self.run_script(
            self.build, self.output, code=4, GPU_STATUS="4", GPU_MESSAGE="no NVIDIA driver is installed"
        )
        self.assertIn("no NVIDIA driver is installed", done.stderr)
        self.assertEqual(
            len([line for line in self.calls.read_text().splitlines() if line.startswith("ladder")]), 1
        )

    def test_wrong_usage(self):
        for arguments in (
            [],
            [self.build],
            ["--minutes", "0", self.build, self.output],
            ["--minutes", "x", self.build, self.output],
            ["--steps", "tests,nonsense", self.build, self.output],
            ["--other", self.build, self.output],
            ["--collect", self.build],
        ):
            self.assertNotEqual(self.run_script(*arguments, code=2).stderr, "")
        self.assertIn("no program 'antiphase'", self.run_script(self.root, self.output, code=1).stderr)

    def test_collecting_takes_libraries_but_not_the_systems_own(self):
        # linked dynamically, against the C++ runtime and other libraries
        shutil.copy(shutil.which("cmake"), self.build / "antiphase")
        folder = self.root / "collected"
        self.run_script("--collect", self.build, folder)
        self.assertEqual(sorted(path.name for path in (folder / "bin").iterdir()), ["antiphase", "test_good"])
        names = [path.name for path in (folder / "lib").iterdir()]
        linked = subprocess.run(["ldd", self.build / "antiphase"], capture_output=True, text=True).stdout
        for name in re.findall(r"^\s+(\S+) =>", linked, re.MULTILINE):
            own = re.match(r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|resolv)\.so", name)
            self.assertEqual(name not in names, bool(own), name)
        self.assertNotIn("libc.so.6", names)

    def test_a_collected_folder_serves_as_a_build(self):
        folder = self.root / "collected"
        self.run_script("--collect", self.build, folder)
        self.run_script("--steps", "tests", folder, self.output)
        self.assertTrue(self.line("tests test_good").startswith("fine"))


if __name__ == "__main__":
    unittest.main()
