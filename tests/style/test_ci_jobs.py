#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every job that a workflow names is one of scripts/build/ci_jobs, and the other way round; all else is set-up."""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop())
JOBS = ROOT / "scripts/build/ci_jobs"


class Jobs(unittest.TestCase):
    def test_workflows_name_all_jobs(self):
        named = set()
        for file in sorted(ROOT.glob(".github/workflows/*.yml")):
            text = file.read_text()
            for step in re.findall(r"^ *(?:- )?run: *(.*)$", text, re.MULTILINE):
                job = re.match(r"scripts/build/ci_jobs (\S+|\$\{\{ matrix\.job \}\})(?: -D\S+)*$", step)
                if job is None:
                    self.assertRegex(step, "^apt-get update && apt-get install ", file.name)
                elif job[1].startswith("$"):
                    listed = re.findall(r"\{job: ([\w.-]+),", text)
                    listed += re.findall(
                        r"[\w.-]+", " ".join(re.findall(r"^ *job: \[(.*)\]$", text, re.MULTILINE))
                    )
                    self.assertTrue(listed, file.name)
                    named.update(listed)
                else:
                    named.add(job[1])
        listed = subprocess.run([JOBS, "--list"], text=True, capture_output=True, check=True).stdout.split()
        self.assertEqual(sorted(named), sorted(listed))

    def test_unknown_job(self):
        done = subprocess.run([JOBS, "gcc"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("There is no job 'gcc'", done.stderr)


if __name__ == "__main__":
    unittest.main()
