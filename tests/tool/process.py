# SPDX-License-Identifier: Apache-2.0
"""Runs the tool as a process; reads and writes .npy files without numpy."""
import ast
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import packed

TOOL = os.environ["ANTIPHASE_TOOL"]
LETTERS = {
    "f2": "e",
    "f4": "f",
    "f8": "d",
    "i1": "b",
    "i2": "h",
    "i4": "i",
    "i8": "q",
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "Q",
    "b1": "?",
}
SKIPPED = 77
# beginnings of messages common to all commands
PLACE = ("antiphase: running on ", "antiphase: no GPU is usable: ")


def npy_bytes(values, shape, type_name="f4", order="C", mark="<", version=(1, 0), header=None):
    """Bytes of a .npy file. `values` are in C order, whatever the order in the file."""
    if order == "F":
        values = [values[i] for i in fortran_positions(shape)]
    if header is None:
        header = (
            f"{{'descr': '{mark}{type_name}', 'fortran_order': {order == 'F'}, 'shape': {tuple(shape)!r}, }}"
        )
    length_format = "<H" if version[0] == 1 else "<I"
    fixed = 8 + struct.calcsize(length_format)
    header += " " * (-(fixed + len(header) + 1) % 64) + "\n"
    data = struct.pack(
        ("<" if mark == "|" else mark) + str(len(values)) + LETTERS.get(type_name, "B"), *values
    )
    return (
        b"\x93NUMPY"
        + bytes(version)
        + struct.pack(length_format, len(header))
        + header.encode("latin1")
        + data
    )


def fortran_positions(shape):
    """C-order positions of the elements in Fortran order."""
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    for n in range(math.prod(shape)):
        position = 0
        for extent, stride in zip(shape, strides):
            n, index = divmod(n, extent)
            position += index * stride
        yield position


def parse_npy(data):
    """Returns (values in C order, shape, type name)."""
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length = struct.unpack("<H", data[8:10])[0]
    assert (10 + length) % 64 == 0
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert header["fortran_order"] is False
    type_name = header["descr"][1:]
    count = math.prod(header["shape"])
    return (
        list(struct.unpack("<" + str(count) + LETTERS[type_name], data[10 + length :])),
        header["shape"],
        type_name,
    )


def pattern(count, seed=1):
    """Small integers as floats, by position, so that products are exact."""
    return [float((i * 7 + seed * 13 + i // 5 * 3) % 19 - 9) for i in range(count)]


def naive_product(a, b, m, n, k):
    return [sum(a[i * k + t] * b[t * n + j] for t in range(k)) for i in range(m) for j in range(n)]


def gpu_is_usable():
    info = json.loads(subprocess.run([TOOL, "info", "--json"], capture_output=True, check=True).stdout)
    return info["default"]["on"].startswith("cuda")


def results():
    """A folder with what bench/results has, as plain files."""
    return packed.unpacked(ROOT / "bench/results")


class ToolTest(unittest.TestCase):
    """A separate folder for each test, in which the tool runs."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="antiphase-process-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, *arguments, **options):
        (self.folder / name).write_bytes(npy_bytes(*arguments, **options))
        return name

    def read(self, name):
        return parse_npy((self.folder / name).read_bytes())

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def run_tool(self, *arguments, code=0, **options):
        """Runs the tool, expects the exit code, and returns the finished process."""
        options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
        if options["stdin"] is None:
            del options["stdin"]
        done = subprocess.run(
            [TOOL, *map(str, arguments)],
            cwd=self.folder,
            timeout=100,
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            **options,
        )
        message = done.stderr.decode()
        self.assertEqual(done.returncode, code, f"{arguments}\nstderr: {message}")
        for sign in ("\x1b", "terminate called", "Traceback", "Segmentation"):
            self.assertNotIn(sign, message)
        done.message = message
        return done

    def refused(self, code, words, *arguments, **options):
        """Expects a failure with one line that holds all of `words`, and no result."""
        before = self.names()
        done = self.run_tool(*arguments, code=code, **options)
        lines = [line for line in done.message.splitlines() if not line.startswith(PLACE)]
        self.assertEqual(len(lines), 1, done.message)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertFalse(done.stdout)
        self.assertEqual(self.names(), before)
        return lines[0]


class CountingRunner(unittest.TextTestRunner):
    """Running no test is a failure, and skipping all of them has its own exit code."""

    def run(self, suite):
        result = super().run(suite)
        if result.testsRun == 0:
            print("no test has this name", file=sys.stderr)
            sys.exit(1)
        if result.wasSuccessful() and len(result.skipped) == result.testsRun:
            sys.exit(SKIPPED)
        return result


def main():
    unittest.main(testRunner=CountingRunner)
