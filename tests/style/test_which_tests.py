#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""which_tests.py: the tests and targets of a name, and its message for a name that does not exist."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop())

NEEDS = """gemm test_gemm
gemm.random_calls test_gemm_random_calls
gemm.tf32 test_tf32
gemm.fp16.split test_split
gemmology test_gemmology
checker.api.check test_check
checker.api.own_kernel check_smooth
report
report.result_file antiphase_tool
tool.process antiphase_tool broken_tool
"""
PRODUCTS = """library gemm report.result_file
"""


class WhichTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "tests").mkdir()
        (self.build / "tests" / "needs.txt").write_text(NEEDS)
        (self.build / "tests" / "products.txt").write_text(PRODUCTS)

    def ask(self, name):
        result = subprocess.run(
            [sys.executable, SCRIPTS / "which_tests.py", self.build, name], capture_output=True, text=True
        )
        return result.returncode, result.stdout.splitlines(), result.stderr

    def test_a_product(self):
        code, lines, _ = self.ask("library")
        self.assertEqual(code, 0)
        self.assertEqual(lines[0], "test_gemm test_gemm_random_calls test_tf32 test_split antiphase_tool")
        for name, is_in in (("gemm.tf32.A.b", True), ("report.result_file", True), ("report.x", False)):
            self.assertEqual(bool(re.search(lines[1], name)), is_in, name)

    def test_a_folder(self):
        targets = "test_gemm test_gemm_random_calls test_tf32 test_split"
        self.assertEqual(self.ask("gemm"), (0, [targets, r"^gemm([./]|$)"], ""))
        self.assertEqual(self.ask("gemm.fp16")[1], ["test_split", r"^gemm\.fp16([./]|$)"])
        self.assertEqual(self.ask("checker")[1], ["test_check check_smooth", r"^checker([./]|$)"])

    def test_a_program(self):
        self.assertEqual(self.ask("gemm.tf32")[1], ["test_tf32", r"^gemm\.tf32([./]|$)"])

    def test_one_test(self):
        self.assertEqual(
            self.ask("checker.api.own_kernel")[1], ["check_smooth", r"^checker\.api\.own_kernel([./]|$)"]
        )
        self.assertEqual(
            self.ask("gemm.Cpu/shapes.of(1)")[1], ["test_gemm", r"^gemm\.Cpu/shapes\.of\(1\)([./]|$)"]
        )
        self.assertEqual(
            self.ask("tool.process.scan")[1], ["antiphase_tool broken_tool", r"^tool\.process\.scan([./]|$)"]
        )

    def test_nothing_to_build(self):
        self.assertEqual(self.ask("report.this_tree")[1], ["", r"^report\.this_tree([./]|$)"])

    def test_part_of_a_folder_is_no_name(self):
        for name, meant in (("gem", "gemm"), ("gemm.tf", "gemm.tf32"), ("checker.ap", "checker.api.check")):
            status, out, said = self.ask(name)
            self.assertEqual((status, out), (1, []), name)
            self.assertIn(f"There is no test '{name}': expected", said)
            self.assertIn(meant, said)

    def test_unknown(self):
        status, out, said = self.ask("zzzz")
        self.assertEqual((status, out), (1, []))
        self.assertIn("There is no test 'zzzz': expected", said)
        self.assertIn("tool.process", said)


if __name__ == "__main__":
    unittest.main()
