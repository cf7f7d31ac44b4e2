# SPDX-License-Identifier: Apache-2.0
"""antiphase check of programs on antiphase/ring.cuh: the bf16 product of the examples, as it is and with faults."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)
EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples/ring"
# With the loop that waits as it ships, which polls: slower than the checker's own wait.
SHIPPED = ("-D", "AP_WAIT_BY_PTX", "--seconds", "120")
# What is written in place of what, and what is found at that line or another: the text in the finding's line.
FAULTS = {
    "released while it is multiplied": (
        "if (k > 0) s.ring.release(at.before(), by_warp{});",
        "s.ring.release(at, by_warp{});",
        ("overwritten in use", "tensor_load(s.a"),
    ),
    "not waited for": ("      s.ring.wait(at);\n", "\n", ("read before landing", "wgmma_bf16(")),
    "no fence before a store": ("fence_async();", ";", ("missing proxy fence", "tensor_store(")),
    "written while it leaves": (
        "bulk_wait_read<1>();",
        "bulk_wait_read<2>();",
        ("overwritten in use", "swizzled(y"),
    ),
}


class Ring(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for file in EXAMPLES.glob("product_bf16.*"):
            shutil.copy(file, self.folder)

    def findings(self, code, *options, schedules=3):
        command = [TOOL, "check", "product_bf16.cu", "--schedules", str(schedules), "--json", *options]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)["programs"][0]["findings"]

    def test_the_product_is_clean_and_short(self):
        self.assertEqual(self.findings(0), [])
        self.assertLessEqual(len((self.folder / "product_bf16.cuh").read_text().splitlines()), 130)

    def test_the_loop_that_ships_is_clean(self):
        self.assertEqual(self.findings(0, *SHIPPED), [])

    def test_faults_are_found_in_their_line(self):
        self.find_faults()

    def test_faults_are_found_by_the_loop_that_ships(self):
        self.find_faults(*SHIPPED, schedules=1)

    def find_faults(self, *options, schedules=3):
        kernel = self.folder / "product_bf16.cuh"
        right = kernel.read_text()
        for name, (before, after, (kind, where)) in FAULTS.items():
            with self.subTest(name):
                self.assertEqual(right.count(before), 1)
                kernel.write_text(right.replace(before, after))
                found = self.findings(5, *options, schedules=schedules)
                lines = kernel.read_text().splitlines()
                self.assertTrue(
                    any(
                        f["kind"] == kind
                        and f["access"]["at"]["file"] == "product_bf16.cuh"
                        and where in lines[f["access"]["at"]["line"] - 1]
                        for f in found
                    ),
                    [(f["kind"], f["access"]["at"]) for f in found],
                )

    def test_a_wait_for_ever_names_slot_and_event(self):
        kernel = self.folder / "product_bf16.cuh"
        text = kernel.read_text()
        kernel.write_text(text.replace("if (k > 0) s.ring.release(at.before(), by_warp{});", ""))
        deadlock = next(f for f in self.findings(5) if f["kind"] == "deadlock")
        self.assertIn("waiting until slot", json.dumps(deadlock))


if __name__ == "__main__":
    unittest.main()
