# SPDX-License-Identifier: Apache-2.0
"""The example of a user's kernel: test_own_kernel.py PROGRAM FOLDER."""
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

PROGRAM, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*arguments, program=PROGRAM):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout, done.stderr


def line_of(text):
    lines = (FOLDER / "smooth.cuh").read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if text in line]
    assert len(found) == 1, found
    return found[0]


class OwnKernel(unittest.TestCase):
    def test_right(self):
        code, said, _ = run("right")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"^no finding in 20 schedules, \d+ accesses followed\n$")

    def test_broken_by_line(self):
        code, said, _ = run("broken")
        self.assertEqual(code, 5, said)
        self.assertRegex(said, r"^1\. ")
        reads, copies = line_of("v[t] + v[t + 1]"), line_of("copy_async<4>(")
        for line in (reads, copies):
            self.assertIn(f"smooth.cuh:{line}", said)
        for kind in ("read before landing", "overwritten in use", "wrong result"):
            # what has one cause is one finding
            self.assertRegex(said, rf"(?m)^1\. {kind}: kernel smooth|^  also seen as {kind}")

    def test_replay(self):
        _, said, _ = run("broken")
        commands = [shlex.split(command) for command in re.findall(r"replay +(.*)", said)]
        self.assertTrue(commands)
        for program, *arguments in commands:
            code, again, _ = run(*arguments, program=program)
            self.assertEqual(code, 5)
            self.assertIn("in 1 schedule,", again)
            self.assertEqual(shlex.split(re.search(r"replay +(.*)", again)[1]), [program, *arguments])

    def test_options(self):
        for arguments, words in (
            (("right", "--schedules", "0"), "--schedules '0'"),
            (("right", "--seed"), "--seed has no value"),
        ):
            code, said, message = run(*arguments)
            self.assertEqual((code, said), (2, ""))
            self.assertIn(words, message)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
