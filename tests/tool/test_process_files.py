# SPDX-License-Identifier: Apache-2.0
"""Input and output files of the tool as a process: invalid ones, streams, devices, links, and files that must
stay unchanged."""
import os
import resource
import struct
import threading
import unittest

from process import PLACE, ToolTest, main, naive_product, npy_bytes, parse_npy, pattern

CPU = ("--on", "cpu")


class BadInput(ToolTest):
    """Each is refused with exit code 3, one line and no output file."""

    def bad(self, content, *words):
        (self.folder / "X.npy").write_bytes(content)
        self.refused(3, ["'X.npy'", *words], "scan", "X.npy", "--output", "Y.npy", *CPU)
        self.refused(3, ["standard input", *words], "scan", "-", "--output", "Y.npy", *CPU, input=content)

    def with_header(self, header, *words, data=bytes(64)):
        text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
        self.bad(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data, *words)

    def test_truncated(self):
        good = npy_bytes(pattern(10), (10,))
        self.bad(good[:-1], "truncated", "39", "40")
        self.bad(good[:128], "truncated", "0 bytes", "40")
        self.bad(good[:100], "header", "truncated")
        self.bad(good[:9], "too short", "9")
        self.bad(good[:3], "too short")
        self.bad(b"", "too short", "0 bytes")

    def test_magic_and_version(self):
        self.bad(b"not an array at all", "not a .npy file", "not an")
        self.bad(b"PK\x03\x04" + bytes(60), "not a .npy file", ".npz")
        good = npy_bytes(pattern(10), (10,))
        self.bad(good[:6] + b"\x04\x00" + good[8:], "version 4.0", "1.0, 2.0 or 3.0")
        self.bad(good[:6] + b"\x01\x01" + good[8:], "version 1.1")

    def test_header_length(self):
        self.bad(b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 31) + bytes(100), "2147483648", "10000")
        self.bad(b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"{" + bytes(100), "header", "9000")

    def test_keys(self):
        self.with_header("{'descr': '<f4', 'fortran_order': False, }", "shape", "missing")
        self.with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'extra': 1, }", "extra")
        self.with_header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", "twice")

    def test_values(self):
        for shape in (
            "(-4,)",
            "(True,)",
            "(4.0,)",
            "(4)",
            "[4]",
            "(4, (2,))",
            "(__import__('os'),)",
            "((),)",
            "(99999999999999999999,)",
        ):
            self.with_header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}", "header")
        self.with_header("{'descr': '<f4', 'fortran_order': 0, 'shape': (4,), }", "True or False")
        self.with_header("{'descr': open('x'), 'fortran_order': False, 'shape': (4,), }", "descr")
        self.with_header(
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), } or 1", "nothing but space"
        )
        self.with_header(
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }", "2^63"
        )

    @unittest.skipIf(
        os.environ.get("ANTIPHASE_SANITIZED") == "1",
        "AddressSanitizer itself takes terabytes of address space",
    )
    def test_a_shape_far_above_the_file_costs_no_memory(self):
        def little_memory():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))

        content = npy_bytes([], (1 << 40,))
        (self.folder / "X.npy").write_bytes(content)
        self.refused(3, ["truncated"], "scan", "X.npy", "--output", "Y.npy", *CPU, preexec_fn=little_memory)
        self.refused(
            3, ["truncated"], "scan", "-", "--output", "Y.npy", *CPU, input=content, preexec_fn=little_memory
        )

    def test_types(self):
        for descr, words in (
            ("'|O'", ["Python objects"]),
            ("'<U5'", ["Unicode strings"]),
            ("'|V8'", ["raw"]),
            ("'<c8'", ["complex"]),
            ("[('a', '<f4')]", ["structured"]),
            ("'<M8[ns]'", ["dates"]),
            ("'<x9'", ["unknown"]),
        ):
            header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (4,), }}"
            text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
            (self.folder / "X.npy").write_bytes(
                b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(64)
            )
            line = self.refused(3, ["'X.npy'"], "scan", "X.npy", "--output", "Y.npy", *CPU)
            for word in words:
                self.assertIn(word, line)
            self.assertIn("f4, f8, i1", line)

    def test_missing_and_unreadable(self):
        self.refused(3, ["'none.npy'", "No such file"], "scan", "none.npy", "--output", "Y.npy", *CPU)
        (self.folder / "folder").mkdir()
        self.refused(3, ["'folder'", "directory"], "scan", "folder", "--output", "Y.npy", *CPU)


class GoodInput(ToolTest):
    def test_header_forms(self):
        data = struct.pack("<6i", 1, 2, 3, 4, 5, 6)
        for header in (
            "{\"shape\" : ( 6 , ) , 'fortran_order':False,'descr':\"<i4\"}",
            "{'fortran_order': False, 'shape': (6,), 'descr': '<i4'}",
        ):
            text = header.encode() + b" " * (-(len(header) + 11) % 16) + b"\n"
            (self.folder / "X.npy").write_bytes(
                b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data
            )
            self.run_tool("scan", "X.npy", "--output", "Y.npy", *CPU)
            self.assertEqual(self.read("Y.npy")[0], [1, 3, 6, 10, 15, 21])

    def test_from_a_fifo_and_standard_input(self):
        a, b = pattern(6, 1), pattern(12, 2)
        expected = naive_product(a, b, 2, 4, 3)
        self.write("B.npy", b, (3, 4))
        self.run_tool("gemm", "-", "B.npy", "--output", "C.npy", *CPU, input=npy_bytes(a, (2, 3)))
        self.assertEqual(self.read("C.npy")[0], expected)
        os.mkfifo(self.folder / "pipe")
        writer = threading.Thread(target=lambda: (self.folder / "pipe").write_bytes(npy_bytes(a, (2, 3))))
        writer.start()
        self.run_tool("gemm", "pipe", "B.npy", "--output", "C.npy", *CPU)
        writer.join()
        self.assertEqual(self.read("C.npy")[0], expected)
        for one, other in (("-", "-"), ("-", "/dev/stdin"), ("/dev/fd/0", "-"), ("pipe", "pipe")):
            self.refused(2, ["two inputs", "read only once"], "gemm", one, other, "--output", "D.npy", *CPU)
            self.refused(
                2, ["two inputs", "read only once"], "scan", one, "--by-key", other, "--output", "D.npy", *CPU
            )

    def test_a_descriptor_is_read_where_it_stands(self):
        (self.folder / "both").write_bytes(npy_bytes([1, 2, 3], (3,), "i4") + npy_bytes([5, 6], (2,), "i4"))
        for source in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            with open(self.folder / "both", "rb") as both:
                for expected in ([1, 3, 6], [5, 11]):
                    self.run_tool("scan", source, "--output", "Y.npy", *CPU, stdin=both)
                    self.assertEqual(self.read("Y.npy")[0], expected, source)


class Output(ToolTest):
    def setUp(self):
        super().setUp()
        self.values = pattern(9, 4)
        self.write("A.npy", self.values, (3, 3))
        self.expected = (naive_product(self.values, self.values, 3, 3, 3), (3, 3), "f4")

    def gemm(self, output, **options):
        return self.run_tool("gemm", "A.npy", "A.npy", "--output", output, *CPU, **options)

    def test_standard_output(self):
        done = self.gemm("-")
        self.assertEqual(parse_npy(done.stdout), self.expected)
        self.assertEqual(self.names(), ["A.npy"])

    def test_a_descriptor_is_written_where_it_stands(self):
        (self.folder / "link").symlink_to("/dev/stdout")
        for output in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"):
            (self.folder / "log").write_bytes(b"what was there before")
            for mode in ("ab", "r+b"):
                with open(self.folder / "log", mode) as log:
                    log.seek(0, os.SEEK_END)
                    self.gemm(output, stdout=log)
            content = (self.folder / "log").read_bytes()
            self.assertTrue(content.startswith(b"what was there before\x93NUMPY"), (output, content[:40]))
            before, first, second = content.split(b"\x93NUMPY")
            self.assertEqual(
                [parse_npy(b"\x93NUMPY" + data) for data in (first, second)], [self.expected] * 2
            )
            self.assertEqual(self.names(), ["A.npy", "link", "log"])

    def test_another_descriptor(self):
        (self.folder / "log").write_bytes(b"kept ")
        with open(self.folder / "log", "ab") as log:
            self.gemm(f"/dev/fd/{log.fileno()}", pass_fds=(log.fileno(),))
            self.assertTrue((self.folder / "log").read_bytes().startswith(b"kept \x93NUMPY"))
        self.refused(
            1, ["'/dev/fd/77'", "is not open"], "gemm", "A.npy", "A.npy", "--output", "/dev/fd/77", *CPU
        )
        with open(self.folder / "log", "rb") as log:
            self.refused(
                1,
                ["'/dev/stdin'", "reading only"],
                "gemm",
                "A.npy",
                "A.npy",
                "--output",
                "/dev/stdin",
                *CPU,
                stdin=log,
            )

    def test_an_input_is_not_overwritten_through_a_descriptor(self):
        before = (self.folder / "A.npy").read_bytes()
        for output in ("-", "/dev/stdout", "/dev/fd/1"):
            with open(self.folder / "A.npy", "ab") as appended:
                done = self.run_tool(
                    "gemm", "A.npy", "A.npy", "--output", output, *CPU, code=2, stdout=appended
                )
            self.assertIn("never overwritten", done.message)
        self.assertEqual((self.folder / "A.npy").read_bytes(), before)

    def test_two_results_on_standard_output(self):
        for command in (
            ("gemm", "A.npy", "A.npy"),
            ("scan", "A.npy"),
            ("trace", "--k", "64", "--format", "svg"),
        ):
            for output in ("-", "/dev/stdout", "/dev/fd/1"):
                self.refused(
                    2, ["--json", f"--output {output} "], *command, "--json", "--output", output, *CPU
                )
            with open(self.folder / "out", "wb") as out:
                self.assertIn(
                    "both write to standard output",
                    self.run_tool(*command, "--json", "--output", "out", *CPU, code=2, stdout=out).message,
                )
            self.assertEqual((self.folder / "out").read_bytes(), b"")
            (self.folder / "out").unlink()

    def test_full_device(self):
        done = self.gemm("/dev/full", code=1)
        self.assertIn("'/dev/full'", done.message)
        self.assertIn("No space left", done.message)
        with open("/dev/full", "wb") as full:
            for arguments in (
                ("gemm", "A.npy", "A.npy", "--output", "-", *CPU),
                ("info",),
                ("--help",),
                ("gemm", "--help"),
                ("--version",),
                ("info", "--json"),
            ):
                done = self.run_tool(*arguments, code=1, stdout=full)
                self.assertIn("standard output", done.message)
                self.assertIn("No space left", done.message)

    def test_null_device_stays_a_device(self):
        self.gemm("/dev/null")
        self.assertFalse(os.path.isfile("/dev/null"))

    def test_fifo(self):
        os.mkfifo(self.folder / "pipe")
        received = []
        reader = threading.Thread(target=lambda: received.append((self.folder / "pipe").read_bytes()))
        reader.start()
        self.gemm("pipe")
        reader.join()
        self.assertEqual(parse_npy(received[0]), self.expected)
        self.assertTrue((self.folder / "pipe").is_fifo())

    def test_symbolic_link(self):
        (self.folder / "real.npy").write_bytes(b"old")
        (self.folder / "link.npy").symlink_to("real.npy")
        self.gemm("link.npy")
        self.assertTrue((self.folder / "link.npy").is_symlink())
        self.assertEqual(self.read("real.npy"), self.expected)
        (self.folder / "new.npy").symlink_to("later.npy")
        self.gemm("new.npy")
        self.assertEqual(self.read("later.npy"), self.expected)

    def test_output_is_an_input(self):
        self.write("B.npy", pattern(9, 5), (3, 3))
        (self.folder / "symbolic.npy").symlink_to("A.npy")
        os.link(self.folder / "A.npy", self.folder / "hard.npy")
        before = (self.folder / "A.npy").read_bytes()
        for output in ("A.npy", "./A.npy", "symbolic.npy", "hard.npy"):
            for inputs in (("A.npy", "B.npy"), ("B.npy", "A.npy"), ("B.npy", "B.npy", "--c", "A.npy")):
                self.refused(2, ["same file", "never overwritten"], "gemm", *inputs, "--output", output, *CPU)
            self.refused(2, ["same file"], "scan", "A.npy", "--output", output, *CPU)
        self.assertEqual((self.folder / "A.npy").read_bytes(), before)

    def test_unwritable_folder(self):
        self.refused(
            1,
            ["'none/C.npy': its folder is missing: No such file"],
            "gemm",
            "A.npy",
            "A.npy",
            "--output",
            "none/C.npy",
            *CPU,
        )
        (self.folder / "folder").mkdir()
        self.refused(1, ["'folder'"], "gemm", "A.npy", "A.npy", "--output", "folder", *CPU)

    def test_disk_full(self):
        size = 300
        (self.folder / "Z.npy").write_bytes(npy_bytes([1.0] * size * size, (size, size)))
        (self.folder / "C.npy").write_bytes(b"old")

        def little_disk():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        self.refused(
            1,
            ["'C.npy'", "File too large"],
            "gemm",
            "Z.npy",
            "Z.npy",
            "--output",
            "C.npy",
            *CPU,
            preexec_fn=little_disk,
        )
        self.assertEqual((self.folder / "C.npy").read_bytes(), b"old")

    def test_failure_keeps_the_old_result(self):
        (self.folder / "C.npy").write_bytes(b"old")
        self.write("B.npy", pattern(8), (4, 2))
        self.refused(2, ["(3, 3)", "(4, 2)"], "gemm", "A.npy", "B.npy", "--output", "C.npy", *CPU)
        self.assertEqual((self.folder / "C.npy").read_bytes(), b"old")

    def test_success_replaces_the_old_result(self):
        (self.folder / "C.npy").write_bytes(b"old" * 10000)
        self.gemm("C.npy")
        self.assertEqual(self.read("C.npy"), self.expected)
        self.assertEqual(self.names(), ["A.npy", "C.npy"])

    def closed_early(self, *arguments):
        """The reader closes before anything is written: exit code 1, and only the messages of a normal run."""
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            done = self.run_tool(*arguments, code=1, stdout=pipe)
        self.assertEqual([line for line in done.message.splitlines() if not line.startswith(PLACE)], [])

    def test_standard_output_closed_early(self):
        for arguments in (
            ("info",),
            ("--help",),
            ("gemm", "A.npy", "A.npy", "--output", "-", *CPU),
            ("scan", "A.npy", "--output", "-", *CPU),
            ("ladder", "gemm", "--size", "32", *CPU),
        ):
            self.closed_early(*arguments)

    def test_standard_output_not_open(self):
        done = self.run_tool("info", code=1, preexec_fn=lambda: os.close(1))
        self.assertIn("standard output", done.message)


if __name__ == "__main__":
    main()
