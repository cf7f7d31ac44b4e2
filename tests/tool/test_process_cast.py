# SPDX-License-Identifier: Apache-2.0
"""antiphase gemm --cast as a process: operands of other types, and the loss of their conversion to f4."""
import json
import struct

from process import ToolTest, main, naive_product, pattern

CPU = ("--on", "cpu")


def f4(value):
    return struct.unpack("f", struct.pack("f", value))[0]


class Cast(ToolTest):
    def cast(self, values, type_name, **options):
        """Multiplies 1 x n by n x 1 ones; returns the JSON report on A, and the message."""
        self.write("A.npy", values, (1, len(values)), type_name, **options)
        self.write("B.npy", [1.0] * len(values), (len(values), 1))
        done = self.run_tool("gemm", "A.npy", "B.npy", "--cast", "--output", "C.npy", "--json", *CPU)
        lines = [line for line in done.message.splitlines() if "cast to f4" in line]
        self.assertEqual(len(lines), 1, done.message)
        loss = json.loads(done.stdout)["cast"]
        self.assertEqual(set(loss), {"A"})
        return loss["A"], lines[0]

    def counts(self, loss):
        return loss["changed"], loss["became_infinite"], loss["became_zero"], loss["became_denormal"]

    def test_refused_without(self):
        self.write("B.npy", [1.0] * 6, (3, 2))
        for type_name in ("f2", "f8", "i1", "i8", "u4"):
            self.write("X.npy", [1] * 6, (2, 3), type_name)
            self.refused(
                2,
                ["'X.npy' (A)", f"elements are {type_name},", "--cast"],
                "gemm",
                "X.npy",
                "B.npy",
                "--output",
                "C.npy",
                *CPU,
            )
        self.write("X.npy", [1] * 6, (2, 3), "b1", mark="|")
        self.refused(
            2,
            ["'X.npy' (A)", "elements are b1,", "--cast"],
            "gemm",
            "X.npy",
            "B.npy",
            "--output",
            "C.npy",
            *CPU,
        )

    def test_exact(self):
        for type_name, values in (
            ("f2", [0.5, -3.0, 65504.0, 2.0**-24, 0.0]),
            ("f8", [0.5, -3.0, 2.0**100, float("inf"), -0.0]),
            ("i1", [-128, 127, 0, 5, 1]),
            ("i4", [2**24, -(2**24), 3, 2**30, 7]),
            ("u8", [2**24, 2**63, 0, 5, 1]),
            ("i8", [-(2**63), 2**24, 0, 5, 1]),
        ):
            loss, line = self.cast(values, type_name)
            self.assertEqual(
                (loss["from"], loss["elements"], *self.counts(loss), loss["largest_relative_error"]),
                (type_name, 5, 0, 0, 0, 0, 0),
                line,
            )
            self.assertTrue(line.endswith(f"A from {type_name}: exact"), line)

    def test_rounded(self):
        loss, line = self.cast([1 + 2.0**-30, 0.5, 1 + 2.0**-24, -3.0], "f8")
        self.assertEqual(self.counts(loss), (2, 0, 0, 0))
        self.assertAlmostEqual(loss["largest_relative_error"] * 2**24 * (1 + 2.0**-24), 1, places=12)
        self.assertIn("A from f8: 2 of 4 elements are not the same, rounded by 6e-08", line)
        for type_name in ("i4", "u4", "i8", "u8"):
            loss, _ = self.cast([2**24 + 1, 2**24 + 2, 3], type_name)
            self.assertEqual(self.counts(loss), (1, 0, 0, 0))
            self.assertAlmostEqual(loss["largest_relative_error"] * (2**24 + 1), 1)
        loss, _ = self.cast([2**63 - 1, -(2**63)], "i8")
        self.assertAlmostEqual(loss["largest_relative_error"] * (2**63 - 1), 1)

    def test_out_of_range(self):
        nan = float("nan")
        loss, line = self.cast(
            [1e300, -3.5e38, 1e-300, 1e-45, 1e-40, 2.0**-149, 2.0**-130, 3.4e38, nan, float("inf"), 0.0],
            "f8",
        )
        self.assertEqual(self.counts(loss), (6, 2, 1, 2))
        self.assertLess(loss["largest_relative_error"], 2.0**-24)
        for words in (
            "6 of 11 elements",
            "2 TOO LARGE, infinite now",
            "1 too small, zero now",
            "2 denormal now",
        ):
            self.assertIn(words, line)

    def test_truth_values(self):
        loss, line = self.cast([1, 0, 1, 2], "b1", mark="|")
        self.assertEqual((loss["from"], loss["changed"]), ("b1", 0))
        self.assertEqual(self.read("C.npy")[0], [3.0])

    def test_the_product(self):
        a, b, c = pattern(15, 1), pattern(21, 2), pattern(35, 3)
        for where in (CPU, ("--on", "reference")):
            for type_name, order, mark in (
                ("f8", "C", "<"),
                ("f8", "F", ">"),
                ("f2", "F", "<"),
                ("i2", "C", ">"),
                ("i8", "F", "<"),
            ):
                self.write(
                    "A.npy",
                    a if type_name[0] == "f" else list(map(int, a)),
                    (5, 3),
                    type_name,
                    order=order,
                    mark=mark,
                )
                self.write("B.npy", b, (3, 7), "f8")
                self.write("C0.npy", [v + 2.0**-40 for v in c], (5, 7), "f8", order="F")
                done = self.run_tool(
                    "gemm", "A.npy", "B.npy", "--c", "C0.npy", "--cast", "--output", "C.npy", "--json", *where
                )
                expected = [p + f4(v + 2.0**-40) for p, v in zip(naive_product(a, b, 5, 7, 3), c)]
                self.assertEqual(self.read("C.npy"), (expected, (5, 7), "f4"))
                loss = json.loads(done.stdout)["cast"]
                self.assertEqual(
                    {operand: one["from"] for operand, one in loss.items()},
                    {"A": type_name, "B": "f8", "C0": "f8"},
                )
                self.assertEqual(
                    (loss["A"]["changed"], loss["B"]["changed"], loss["C0"]["changed"]),
                    (0, 0, sum(v != 0 for v in c)),
                )
                (line,) = (line for line in done.message.splitlines() if "cast to f4" in line)
                self.assertRegex(line, f"A from {type_name}: exact; B from f8: exact; C0 from f8: ")

    def test_nothing_to_do(self):
        self.write("A.npy", pattern(4), (2, 2))
        done = self.run_tool("gemm", "A.npy", "A.npy", "--cast", "--output", "C.npy", "--json", *CPU)
        self.assertEqual(json.loads(done.stdout)["cast"], {})
        self.assertNotIn("cast", done.message)
        self.assertNotIn(
            "cast",
            json.loads(self.run_tool("gemm", "A.npy", "A.npy", "--output", "C.npy", "--json", *CPU).stdout),
        )

    def test_quiet_empty_and_explain(self):
        self.write("A.npy", [1e300], (1, 1), "f8")
        self.assertEqual(
            self.run_tool("gemm", "A.npy", "A.npy", "--cast", "--output", "C.npy", "-q", *CPU).message, ""
        )
        self.assertEqual(self.read("C.npy")[0], [float("inf")])
        self.assertIn(
            "K = 1", self.run_tool("gemm", "A.npy", "A.npy", "--cast", "--explain", *CPU).stdout.decode()
        )
        self.write("E.npy", [], (0, 3), "f8")
        self.write("F.npy", [], (3, 0), "i2")
        self.run_tool("gemm", "E.npy", "F.npy", "--cast", "--output", "C.npy", *CPU)
        self.assertEqual(self.read("C.npy"), ([], (0, 0), "f4"))

    def test_a_refusal_comes_before_the_work(self):
        self.write("A.npy", [1.0] * 6, (2, 3), "f8")
        self.refused(
            2,
            ["(2, 3)", "3 columns", "2 rows"],
            "gemm",
            "A.npy",
            "A.npy",
            "--cast",
            "--output",
            "C.npy",
            *CPU,
        )


if __name__ == "__main__":
    main()
