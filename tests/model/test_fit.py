#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit.py: recovers constants that the test has changed, and reports faulty files.

    test_fit.py ROOT LIBRARY

Exit status: 0 right, 1 wrong, 77 there is no SciPy.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import scipy.optimize  # noqa: F401
except ImportError:
    print("skipped: there is no SciPy")
    sys.exit(77)

LIBRARY = pathlib.Path(sys.argv.pop())
ROOT = pathlib.Path(sys.argv.pop())


class Fit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.models = pathlib.Path(folder.name) / "models.json"
        self.content = json.loads((ROOT / "library/costs/h200.json").read_text())

    def fit(self, *words, card="h200"):
        self.models.write_text(json.dumps(self.content))
        return subprocess.run(
            [
                sys.executable,
                ROOT / "scripts/cost_models/fit.py",
                LIBRARY,
                ROOT / f"bench/costs/{card}.json.xz",
                self.models,
                *words,
            ],
            capture_output=True,
            text=True,
        )

    def test_changed_numbers_are_found_again(self):
        before = self.content["constants"]["products"]["fp64-short"]["start"]
        self.content["constants"]["products"]["fp64-short"]["start"] = 2 * before
        done = self.fit("fp64-short", "--write", "--rounds", "12")
        self.assertEqual(done.returncode, 0, done.stderr)
        content = json.loads(self.models.read_text())
        found = content["constants"]["products"]["fp64-short"]["start"]
        self.assertLess(abs(found / before - 1), 0.1, done.stdout)
        del content["constants"]["products"], self.content["constants"]["products"]
        self.assertEqual(content["constants"], self.content["constants"], "only products are fitted here")

    def test_without_write_nothing_changes(self):
        done = self.fit("fp64-short", "--rounds", "1", card="h100")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(self.models.read_text()), self.content)
        self.assertIn("longer than the fastest in the mean", done.stdout)

    def test_wrong_files(self):
        self.content["constants"]["products"]["fp64-short"]["start"] = -1
        done = self.fit()
        self.assertEqual(done.returncode, 1)
        self.assertIn("'products.fp64-short.start' is -1: expected a number from 0.3 to 5", done.stderr)


if __name__ == "__main__":
    unittest.main()
