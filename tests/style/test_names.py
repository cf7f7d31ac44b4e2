#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of tests: each begins with its folder, whose tests `./run test FOLDER` selects, and is known to
BUILD/tests/needs.txt; test_names.py BUILD CTEST."""
import json
import pathlib
import subprocess
import sys
import unittest

CTEST = sys.argv.pop()
BUILD = pathlib.Path(sys.argv.pop())


def folders(listing):
    """{name: its folder, dotted} of all tests that ctest lists: CMake runs a test in the folder of the build that
    belongs to the one whose CMakeLists.txt makes it. Programs that were not built have no tests yet."""
    found = {}
    for test in listing["tests"]:
        properties = {p["name"]: p["value"] for p in test["properties"]}
        folder = pathlib.Path(properties["WORKING_DIRECTORY"])
        if not test["name"].endswith("_NOT_BUILT"):
            inside = BUILD / "tests" in folder.parents
            found[test["name"]] = ".".join(folder.relative_to(BUILD / "tests").parts) if inside else None
    return found


def misnamed(folders):
    """Sentences about the tests whose names do not begin with their folder."""
    return [
        f"test {name} is in folder {folder}: expected a name that begins with '{folder}.'"
        for name, folder in folders.items()
        if folder is None or not name.startswith(folder + ".") or ".." in name
    ]


class Names(unittest.TestCase):
    def setUp(self):
        listing = subprocess.run(
            [CTEST, "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, text=True, check=True
        )
        self.folders = folders(json.loads(listing.stdout))

    def test_every_name_begins_with_its_folder(self):
        self.assertGreater(len(self.folders), 100)
        self.assertIn("style", self.folders.values())
        self.assertEqual(misnamed(self.folders), [])

    def test_every_test_is_known_to_the_build(self):
        lines = (BUILD / "tests" / "needs.txt").read_text().splitlines()
        known = {line.split()[0] for line in lines}
        unknown = [
            name
            for name in self.folders
            if not any(name == beginning or name.startswith(beginning + ".") for beginning in known)
        ]
        self.assertEqual(unknown, [])

    def test_a_wrong_name_is_found(self):
        self.assertEqual(misnamed({"gemm.tf32.sums": "gemm", "gemm.tf32.more": "gemm.tf32"}), [])
        self.assertEqual(len(misnamed({"tf32.sums": "gemm.tf32", "gemmer.sums": "gemm", "x": None})), 3)


if __name__ == "__main__":
    unittest.main()
