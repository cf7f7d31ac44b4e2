#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cmake/AntiphaseCommit.cmake: the commit that the program reports as its origin."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop()).parent / "cmake/AntiphaseCommit.cmake"
CMAKE = os.environ["ANTIPHASE_CMAKE"]


class Commit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.file = (
            pathlib.Path(folder.name) / "a project",
            pathlib.Path(folder.name) / "made/provenance.cpp",
        )
        (self.root / "core").mkdir(parents=True)
        (self.root / "core/a.cpp").write_text("int a;\n")
        self.environment = {**os.environ, "GIT_CEILING_DIRECTORIES": folder.name}

    def git(self, *arguments):
        subprocess.run(
            ["git", "-C", self.root, "-c", "user.name=n", "-c", "user.email=e", *arguments],
            check=True,
            capture_output=True,
        )

    def made(self):
        subprocess.run(
            [CMAKE, "-D", f"ROOT={self.root}", "-D", f"FILE={self.file}", "-P", SCRIPT],
            check=True,
            capture_output=True,
            env=self.environment,
        )
        return self.file.read_text()

    def test_without_git_there_is_none(self):
        self.assertIn('built_from() { return ""; }', self.made())

    def test_the_commit_and_whether_the_code_is_that_of_it(self):
        self.git("init", "-q")
        self.assertIn('return "";', self.made())  # no commit yet
        self.git("add", ".")
        self.git("commit", "-q", "-m", "all")
        self.assertRegex(self.made(), r'built_from\(\) \{ return "[0-9a-f]{12}"; \}')
        (self.root / "notes.md").write_text("no code\n")
        self.assertNotIn("-dirty", self.made())
        (self.root / "core/a.cpp").write_text("long a;\n")
        self.assertRegex(self.made(), r'built_from\(\) \{ return "[0-9a-f]{12}-dirty"; \}')

    def test_it_is_written_only_if_it_has_changed(self):
        self.made()
        written = self.file.stat().st_mtime_ns
        self.made()
        self.assertEqual(self.file.stat().st_mtime_ns, written)


if __name__ == "__main__":
    unittest.main()
