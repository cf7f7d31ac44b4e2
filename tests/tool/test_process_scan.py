# SPDX-License-Identifier: Apache-2.0
"""antiphase scan as a process: results."""
import itertools
import json
import math
import struct

from process import main, parse_npy
from scans import CPU, INTEGERS, OPERATIONS, ScanTest, accumulator, scan_axis, scan_line, whole, wrapped


class Scan(ScanTest):
    def test_types_and_operations(self):
        for type_name, operation in itertools.product((*INTEGERS, "f4", "f8"), OPERATIONS):
            count = 40 if operation == "product" else 700
            values = [v % 3 + 1 if operation == "product" else v for v in whole(count, type_name)]
            if type_name[0] == "f":
                values = [float(v) if operation != "product" else 2.0 ** (v % 3 - 1) for v in values]
            to = accumulator(type_name, operation)
            self.assertEqual(
                self.scan(values, (count,), type_name, "--op", operation),
                (scan_line(values, operation, to), (count,), to),
                (type_name, operation),
            )

    def test_product_of_floats_is_exact_for_powers_of_two(self):
        values = [2.0 ** (i % 5 - 2) for i in range(300)]
        self.assertEqual(
            self.scan(values, (300,), "f8", "--op", "product")[0], scan_line(values, "product", "f8")
        )

    def test_exclusive_and_reverse(self):
        for operation, exclusive, reverse, type_name in itertools.product(
            OPERATIONS, (False, True), (False, True), ("i4", "u1", "f4")
        ):
            values = (
                whole(530, type_name) if operation != "product" else [v % 2 + 1 for v in whole(20, type_name)]
            )
            to = accumulator(type_name, operation)
            flags = ["--exclusive"] * exclusive + ["--reverse"] * reverse
            self.assertEqual(
                self.scan(values, (len(values),), type_name, "--op", operation, *flags)[0],
                scan_line(values, operation, to, exclusive, reverse),
                (operation, flags, type_name),
            )

    def test_axes(self):
        shape = (3, 41, 5)
        values = whole(math.prod(shape), "i2")
        for axis, order in itertools.product((0, 1, 2, -1, -2, -3), "CF"):
            self.assertEqual(
                self.scan(values, shape, "i2", "--axis", axis, order=order),
                (scan_axis(values, shape, axis % 3, "sum", "i8"), shape, "i8"),
                (axis, order),
            )

    def test_axis_with_direction_and_kind(self):
        shape = (7, 300, 2)
        values = whole(math.prod(shape), "f8")
        self.assertEqual(
            self.scan(values, shape, "f8", "--axis", "1", "--exclusive", "--reverse", "--op", "max")[0],
            scan_axis(values, shape, 1, "max", "f8", exclusive=True, reverse=True),
        )

    def test_flattened(self):
        values = whole(24, "i4")
        for order in "CF":
            self.assertEqual(
                self.scan(values, (2, 3, 4), "i4", order=order), (scan_line(values, "sum", "i8"), (24,), "i8")
            )

    def test_long(self):
        for count in (4095, 4096, 4097, 70001):
            values = whole(count, "u2")
            self.assertEqual(
                self.scan(values, (count,), "u2"), (scan_line(values, "sum", "u8"), (count,), "u8")
            )

    def test_big_endian(self):
        for type_name in ("f4", "f8", "i2", "i8", "u4"):
            values = whole(100, type_name)
            self.assertEqual(
                self.scan(values, (100,), type_name, mark=">")[0],
                scan_line(values, "sum", accumulator(type_name, "sum")),
            )

    def test_wrapping(self):
        values = [100] * 10
        for to in ("i1", "u1"):
            self.assertEqual(
                self.scan(values, (10,), to, "--accumulate", to), (scan_line(values, "sum", to), (10,), to)
            )
        largest = [2**63 - 1, 1, 5]
        self.assertEqual(self.scan(largest, (3,), "i8")[0], [2**63 - 1, -(2**63), -(2**63) + 5])

    def test_accumulate(self):
        values = [200, 100, 7, 255]
        for to in (*INTEGERS, "f4", "f8"):
            expected = scan_line([wrapped(v, to) if to[0] != "f" else float(v) for v in values], "sum", to)
            self.assertEqual(self.scan(values, (4,), "u1", "--accumulate", to), (expected, (4,), to))
        self.assertEqual(self.scan([0.5, 0.25], (2,), "f4", "--accumulate", "f8"), ([0.5, 0.75], (2,), "f8"))
        self.assertEqual(
            self.scan([-1, -2], (2,), "i4", "--op", "min", "--accumulate", "u1"), ([255, 254], (2,), "u1")
        )

    def test_halves(self):
        # sums below 2048 in eighths are exact in f2; or they are rounded once
        values = [v / 8 for v in whole(100, "i4")]
        half = lambda v: struct.unpack("<e", struct.pack("<e", v))[0]
        found = self.scan(values, (100,), "f2")
        self.assertEqual(found, ([half(v) for v in scan_line(values, "sum", "f8")], (100,), "f2"))
        self.assertEqual(
            self.scan(values, (100,), "f2", "--accumulate", "f4"),
            (scan_line(values, "sum", "f4"), (100,), "f4"),
        )
        self.assertEqual(self.scan(values, (100,), "f2", mark=">"), found)
        for axis in (0, 1):
            for operation in ("sum", "max"):
                expected = [half(v) for v in scan_axis(values, (4, 25), axis, operation, "f8")]
                self.assertEqual(
                    self.scan(values, (4, 25), "f2", "--axis", str(axis), "--op", operation),
                    (expected, (4, 25), "f2"),
                )
        self.assertEqual(self.scan(values, (4, 25), "f2", order="F")[0], found[0])

    def test_by_key(self):
        keys = [i * i // 900 % 7 for i in range(7000)]
        for type_name, key_type in (("i1", "i2"), ("u2", "u1"), ("f4", "f4"), ("f8", "i8"), ("u8", "f8")):
            values = (
                [float(v) for v in whole(7000, type_name)] if type_name[0] == "f" else whole(7000, type_name)
            )
            self.by_key(values, keys, type_name, key_type)
        self.by_key(whole(7000, "i4"), keys, "i4", "i4", "max", reverse=True)
        self.by_key(whole(7000, "i4"), keys, "i4", "i4", "min", exclusive=True)
        self.by_key([], [], "i4", "i4")

    def test_small_integers_by_key(self):
        keys = [i * i // 90 % 7 for i in range(300)]
        for type_name, operation, exclusive in itertools.product(
            ("i1", "i2", "u1", "u2"), ("sum", "min", "max"), (False, True)
        ):
            self.by_key(whole(300, type_name), keys, type_name, type_name, operation, exclusive=exclusive)
        self.by_key([v % 3 - 1 for v in whole(300, "i1")], keys, "i1", "i1", "product", reverse=True)
        self.write("K.npy", keys, (300,), "i4")
        values, to = whole(300, "i1"), "i1"
        runs = [[values[i] for i in run] for _, run in itertools.groupby(range(300), key=lambda i: keys[i])]
        expected = [v for run in runs for v in scan_line(run, "sum", to)]
        self.assertEqual(
            self.scan(values, (300,), "i1", "--by-key", "K.npy", "--accumulate", "i1"), (expected, (300,), to)
        )

    def test_keys_of_other_kinds(self):
        keys = [i // 5 % 2 for i in range(40)]
        for key_type in ("b1", "f2"):
            self.by_key(whole(40, "i4"), keys, "i4", key_type)
        nan = math.nan
        self.write("K.npy", [1.0, 1.0, nan, nan, 1.0], (5,), "f2")
        self.assertEqual(self.scan([1] * 5, (5,), "i4", "--by-key", "K.npy")[0], [1, 2, 1, 1, 1])
        self.write("K.npy", [1, 1, 2, 2, 2, 2], (2, 3), "i4")
        self.assertEqual(
            self.scan([1] * 6, (2, 3), "i4", "--by-key", "K.npy"), ([1, 2, 1, 2, 3, 4], (6,), "i8")
        )

    def test_wrong_keys(self):
        self.write("X.npy", whole(6, "i4"), (6,), "i4")
        self.write("K.npy", [1, 2], (2,), "i4")
        self.write("L.npy", whole(6, "i4"), (6,), "i4")
        self.write("M.npy", whole(6, "i4"), (2, 3), "i4")
        self.write(
            "S.npy", [0] * 24, (6,), "u1", header="{'descr': '<U1', 'fortran_order': False, 'shape': (6,), }"
        )
        base = ("scan", "X.npy", "--output", "Y.npy", "--by-key")
        self.refused(2, ["--by-key 'K.npy'", "(2,)", "expected (6,)", "'X.npy'"], *base, "K.npy", *CPU)
        self.refused(2, ["--by-key 'M.npy'", "(2, 3)", "expected (6,)"], *base, "M.npy", *CPU)
        self.refused(
            3, ["'S.npy'", "Unicode strings", "b1, f2, f4, f8, i1", "numpy.unique"], *base, "S.npy", *CPU
        )
        self.refused(2, ["--axis"], *base, "L.npy", "--axis", "0", *CPU)
        self.refused(2, ["'L.npy'"], "scan", "X.npy", "--output", "L.npy", "--by-key", "L.npy", *CPU)
        self.refused(4, ["items has no segments", "single-pass"], *base, "L.npy", "--policy", "items", *CPU)

    def test_booleans(self):
        values = [i % 3 == 0 for i in range(20)]
        for exclusive, operation in itertools.product((False, True), OPERATIONS):
            for line in (values, [True] * 9):
                to = accumulator("b1", operation)
                flags = ["--exclusive"] * exclusive
                self.assertEqual(
                    self.scan(line, (len(line),), "b1", "--op", operation, *flags, mark="|"),
                    (scan_line(line, operation, to, exclusive), (len(line),), to),
                    (operation, exclusive),
                )
                if to == "b1":  # truth values are 0 or 1 and no other bytes
                    self.assertLessEqual(
                        set((self.folder / "Y.npy").read_bytes()[-len(line) :]),
                        {0, 1},
                        (operation, exclusive),
                    )
        self.assertEqual(
            self.scan(values, (4, 5), "b1", "--axis", "0", "--op", "max", mark="|", order="F")[0],
            scan_axis(values, (4, 5), 0, "max", "b1"),
        )
        self.assertEqual(
            self.scan(values, (20,), "b1", "--accumulate", "u1", mark="|"),
            (scan_line(values, "sum", "u1"), (20,), "u1"),
        )
        self.by_key(values, [i // 7 for i in range(20)], "b1", "i4", "min", exclusive=True)
        self.write(
            "X.npy",
            [1, 0, 255, 2],
            (4,),
            "u1",
            header="{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }",
        )
        self.run_tool("scan", "X.npy", "--output", "Y.npy", *CPU)
        self.assertEqual(self.read("Y.npy")[0], [1, 1, 2, 3])  # every nonzero byte is true

    def test_empty_and_scalar(self):
        self.assertEqual(self.scan([], (0,), "i4"), ([], (0,), "i8"))
        self.assertEqual(self.scan([], (0, 7), "f4"), ([], (0,), "f4"))
        self.assertEqual(self.scan([], (0, 7), "f4", "--axis", "1"), ([], (0, 7), "f4"))
        self.assertEqual(self.scan([], (7, 0), "u1", "--axis", "0"), ([], (7, 0), "u8"))
        self.assertEqual(self.scan([5], (), "u1"), ([5], (1,), "u8"))
        self.assertEqual(self.scan([5], (1, 1), "u1", "--axis", "0", "--exclusive"), ([0], (1, 1), "u8"))

    def test_nan_and_infinity(self):
        nan, inf = math.nan, math.inf
        values = [1.0, 2.0, nan, 4.0, 5.0]
        for operation, before in (("sum", [1, 3]), ("min", [1, 1]), ("max", [1, 2]), ("product", [1, 2])):
            found = self.scan(values, (5,), "f4", "--op", operation)[0]
            self.assertEqual(found[:2], before)
            self.assertTrue(all(math.isnan(v) for v in found[2:]), (operation, found))
        found = self.scan([inf, 1.0, -inf, 3.0], (4,), "f8")[0]
        self.assertEqual(found[:2], [inf, inf])
        self.assertTrue(all(math.isnan(v) for v in found[2:]))

    def test_wrong_axis(self):
        self.write("X.npy", whole(6, "i4"), (2, 3), "i4")
        for axis in ("2", "-3", "9223372036854775807"):
            self.refused(
                2,
                [f"--axis {axis}", "(2, 3)", "-2 to 1"],
                "scan",
                "X.npy",
                "--output",
                "Y.npy",
                "--axis",
                axis,
                *CPU,
            )
        self.refused(
            2, ["--axis", "integer", "'1.5'"], "scan", "X.npy", "--output", "Y.npy", "--axis", "1.5", *CPU
        )
        self.write("S.npy", [5], (), "i4")
        self.refused(
            2, ["--axis 0", "()", "no axis"], "scan", "S.npy", "--output", "Y.npy", "--axis", "0", *CPU
        )

    def test_wrong_options(self):
        self.write("X.npy", whole(6, "i4"), (6,), "i4")
        self.write("F.npy", [0.5], (1,), "f4")
        base = ("scan", "X.npy", "--output", "Y.npy")
        self.refused(2, ["'mean'", "sum, product, min or max"], *base, "--op", "mean", *CPU)
        self.refused(2, ["'i3'", "i1, i2, i4, i8", "numpy's names"], *base, "--accumulate", "i3", *CPU)
        self.refused(2, ["--accumulate", "''"], *base, "--accumulate", "", *CPU)
        self.refused(
            2,
            ["'F.npy'", "f4", "i4", "fractions"],
            "scan",
            "F.npy",
            "--output",
            "Y.npy",
            "--accumulate",
            "i4",
            *CPU,
        )
        self.refused(2, ["'gpu'", "cpu, cuda or cuda:N"], *base, "--on", "gpu")
        self.refused(2, ["'--exclusiv'", "did you mean --exclusive"], *base, "--exclusiv")

    def test_json(self):
        self.write("X.npy", whole(12, "i4"), (3, 4), "i4")
        done = self.run_tool(
            "scan", "X.npy", "--output", "Y.npy", "--axis", "0", "--op", "min", "--reverse", "--json", *CPU
        )
        result = json.loads(done.stdout)
        self.assertEqual(
            (result["schema"], result["operation"], result["kind"], result["direction"]),
            (1, "min", "inclusive", "reverse"),
        )
        self.assertEqual((result["type"], result["shape"]), ("i4", [3, 4]))

    def test_one_tile_is_not_said_to_be_read_twice(self):
        self.write("X.npy", [1.0], (1,))
        said = self.run_tool("scan", "X.npy", "--explain", *CPU).stdout.decode()
        self.assertIn("1 f4 element on", said)
        self.assertIn("1 launch,", said)
        self.assertRegex(" ".join(said.split()), "those of several tiles in several kernels")

    def test_pipe(self):
        self.write("X.npy", whole(1000, "i4"), (1000,), "i4")
        done = self.run_tool("scan", "-", "--output", "-", *CPU, input=(self.folder / "X.npy").read_bytes())
        self.assertEqual(parse_npy(done.stdout), (scan_line(whole(1000, "i4"), "sum", "i8"), (1000,), "i8"))
        self.assertEqual(self.names(), ["X.npy"])


if __name__ == "__main__":
    main()
