#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""which_tests.py: the tests and targets of a name, and its message for a name that does not exist."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop())

NEEDS = """gemm test_gemm
split_checked test_split_checked
split_pass test_split_pass
check test_check
check.own_kernel check_smooth
report
report.result_file antiphase_tool
tool.process.gemm antiphase_tool
tool.process.check antiphase_tool broken_tool
"""


class WhichTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "tests").mkdir()
        (self.build / "tests" / "needs.txt").write_text(NEEDS)

    def ask(self, name):
        result = subprocess.run(
            [sys.executable, SCRIPTS / "which_tests.py", self.build, name], capture_output=True, text=True
        )
        return result.returncode, result.stdout.splitlines(), result.stderr

    def test_a_program(self):
        self.assertEqual(self.ask("gemm"), (0, ["test_gemm", r"^gemm(\.|$)"], ""))

    def test_a_program_and_what_is_named_after_it(self):
        self.assertEqual(self.ask("check")[1], ["test_check check_smooth", r"^check(\.|$)"])

    def test_a_folder_of_names(self):
        self.assertEqual(self.ask("tool.process")[1], ["antiphase_tool broken_tool", r"^tool\.process(\.|$)"])

    def test_one_test(self):
        self.assertEqual(self.ask("check.own_kernel")[1], ["check_smooth", r"^check\.own_kernel(\.|$)"])
        self.assertEqual(self.ask("gemm.Cpu/shapes.of(1)")[1], ["test_gemm", r"^gemm\.Cpu/shapes\.of\(1\)"])

    def test_the_beginning_of_several(self):
        self.assertEqual(self.ask("split")[1], ["test_split_checked test_split_pass", "^split"])

    def test_nothing_to_build(self):
        self.assertEqual(self.ask("report.this_tree")[1], ["", r"^report\.this_tree"])

    def test_unknown(self):
        status, out, said = self.ask("split_checke_")
        self.assertEqual((status, out), (1, []))
        self.assertIn("There is no test 'split_checke_': expected", said)
        self.assertIn("split_checked", said)
        self.assertIn("tool.process.gemm", self.ask("zzzz")[2])


if __name__ == "__main__":
    unittest.main()
