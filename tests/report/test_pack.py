#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/pack.py and bench/packed.py on made-up results: every byte stays, plain files come first, digests follow."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(sys.argv.pop()).parent / "bench"
sys.path.insert(0, str(BENCH))
import packed

RESULT = {
    "command": "bench gemm",
    "date": "2026-01-31T12:00:00Z",
    "commit": "0123456789ab",
    "machine": {"name": "A GPU", "driver": "1.2"},
    "records": [
        {
            "kernel": "gemm.fp32",
            "policy": "fp64",
            "shape": {"m": 3, "n": 5, "k": 7},
            "type": "f32",
            "layout": "nt",
            "protocol": "rested",
            "time_us": {"ours": 1.25, "cublas_fp32": 12345.6},
        },
        {"kernel": "gemm.ladder.naive", "shape": {"m": 1, "n": 1, "k": 1}, "refused": "too old"},
    ],
}
ROW = "| gemm.fp32 | fp64 | 3 x 5 x 7 | f32, nt | rested: ours 1.25, cublas_fp32 12346 |"


class Pack(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name, "results")
        self.files = {
            "20260131T120000-bench-one.json": json.dumps(RESULT, indent=3) + "\n\n",
            "20260201T120000-bench-two.json": json.dumps(RESULT),
            "experiments/20260130-first.json": '{"question": "what is_asked", "date": "2026-01-30"}\n',
            "experiments/20260201-second.json": '{"about": "It is short: and ' + "long " * 20 + 'text. No."}',
        }
        for name, text in self.files.items():
            self.write(name, text)
        self.write("timelines/a.json", "{}")

    def write(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def run_script(self, script, *arguments, fails=False):
        command = [sys.executable, BENCH / script, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, fails, done.stdout + done.stderr)
        return done.stderr if fails else done.stdout

    def pack(self, *arguments, fails=False):
        return self.run_script("pack.py", "--results", self.folder, *arguments, fails=fails)

    def names(self):
        return {file.relative_to(self.folder).as_posix() for file in self.folder.rglob("*") if file.is_file()}

    def test_every_byte_stays(self):
        self.pack()
        made = {"digest.md", "measured.tar.xz", "experiments/README.md", "experiments/until_20260201.tar.xz"}
        self.assertEqual(self.names(), made | {"timelines/a.json"})
        for name, text in self.files.items():
            stem = pathlib.PurePath(name).stem
            self.assertEqual(self.run_script("packed.py", "print", stem, self.folder), text)
        plain = self.folder.parent / "plain"
        self.run_script("packed.py", "unpack", plain, self.folder)
        for name, text in self.files.items():
            self.assertEqual((plain / name).read_text(), text)
        listed = self.run_script("packed.py", "list", self.folder).split()
        self.assertEqual(listed, sorted([*self.files, "timelines/a.json"]))
        self.assertIn("no file 'x.json'", self.run_script("packed.py", "print", "x", self.folder, fails=True))
        bytes_before = (self.folder / "measured.tar.xz").read_bytes()
        self.pack()
        self.assertEqual((self.folder / "measured.tar.xz").read_bytes(), bytes_before)

    def test_plain_files_come_first(self):
        self.pack()
        (name, _), *_ = self.files.items()
        self.write(name, "{}")
        files = packed.unpacked(self.folder)
        self.assertEqual((files / name).read_text(), "{}")
        self.assertEqual((files / "experiments/20260130-first.json").read_text()[-2:], "}\n")
        self.assertTrue((files / "timelines/a.json").exists())

    def test_later_files_are_added(self):
        self.pack()
        self.write("20260301T000000-bench-three.json", json.dumps(RESULT))
        self.write("experiments/20260301-third.json", '{"question": "more"}')
        self.pack()
        self.assertEqual(len(packed.files_of(self.folder / "measured.tar.xz")), 3)
        self.assertEqual(len(list(self.folder.glob("experiments/*.tar.xz"))), 2)
        self.pack("--drop", "20260131T120000-bench-one")
        self.assertEqual(len(packed.files_of(self.folder / "measured.tar.xz")), 2)
        self.pack("--drop", "none", fails=True)

    def test_digests(self):
        self.pack()
        text = (self.folder / "digest.md").read_text()
        self.assertIn("\n## 20260201T120000-bench-two\n\n`bench gemm`; A GPU, driver 1.2, 2026-01-31", text)
        self.assertEqual(text.count(ROW), 2)
        self.assertIn("| gemm.ladder.naive |  | 1 x 1 x 1 |  | refused |", text)
        series = (self.folder / "experiments/README.md").read_text()
        self.assertIn("## 20260130-first\n\nWhat is\\_asked. 2026-01-30.\n", series)
        self.assertIn("It is short: and long", series)
        self.assertNotIn("No.", series)
        self.pack("--check")
        (self.folder / "digest.md").write_text(text + "x")
        self.assertIn("digest.md is not what the files say", self.pack("--check", fails=True))


if __name__ == "__main__":
    unittest.main()
