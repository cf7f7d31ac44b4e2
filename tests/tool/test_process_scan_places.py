# SPDX-License-Identifier: Apache-2.0
"""antiphase scan as a process: device, policy, time, and messages about them."""
import itertools
import json
import math
import os
import signal
import subprocess
import time

from process import TOOL, gpu_is_usable, main, npy_bytes
from scans import CPU, ScanTest, accumulator, scan_line, whole


class Places(ScanTest):
    def test_says_what_left_the_range(self):
        line = self.message_of([1.0, 2e38, 2e38, 1.0], (4,), "f4")
        for word in ("2 of 4 outputs", "range of f4", "though X is finite", "index 2;", "--accumulate f8"):
            self.assertIn(word, line)
        self.assertIn("index 1;", self.message_of([1.0, 2e38, 2e38, 1.0], (4,), "f4", "--reverse"))
        self.assertIn(
            "index (1, 2)", self.message_of([1.0] * 4 + [1e308, 1e308], (2, 3), "f8", "--axis", "1")
        )
        self.assertIn("--accumulate f4", self.message_of([6e4, 6e4], (2,), "f2"))
        line = self.message_of([1e-30, 1e-30], (2,), "f4", "--op", "product")
        self.assertIn("1 of 2 outputs", line)
        self.assertIn("or 0", line)
        self.assertIn("3 of 5", self.message_of([0.5, 1e20, 1e20, 1e20, 1.0], (5,), "f4", "--op", "product"))
        for values, *arguments in (
            ([1.0, 2e38, 2e38, 1.0], "--accumulate", "f8"),
            ([math.inf, 1.0],),
            ([math.nan, 1e38],),
            ([1.0, 2.0],),
            ([0.0, 5.0], "--op", "product"),
            ([3e38, 3e38], "--op", "max", "--exclusive"),
        ):
            self.assertEqual(
                self.message_of(values, (len(values),), "f4", *arguments), "", (values, arguments)
            )
        self.write("X.npy", [3e38, 3e38], (2,), "f4")
        done = self.run_tool("scan", "X.npy", "--output", "Y.npy", "--quiet", "--json", *CPU)
        self.assertEqual(done.message, "")
        self.assertEqual(json.loads(done.stdout)["left_range"], {"count": 1, "first": [1]})

    def test_policies(self):
        policies = json.loads(self.run_tool("info", "--json").stdout)
        policies = policies["scan_policies"] + policies["scan_policies_for_short_lines"]
        self.assertGreater(len(policies), 10)
        values = [float(v) for v in whole(900, "f4")]
        self.write("X.npy", values, (900,), "f4")
        for policy in policies:
            done = self.run_tool("scan", "X.npy", "--output", "Y.npy", "--policy", policy, "--json", *CPU)
            self.assertEqual(self.read("Y.npy")[0], scan_line(values, "sum", "f4"), policy)
            self.assertEqual(json.loads(done.stdout)["policy"], policy)
            chosen = json.loads(
                self.run_tool("scan", "X.npy", "--policy", policy, "--explain", "--json", *CPU).stdout
            )
            self.assertEqual((chosen["kernel"], chosen["why"]), (policy, [f"policy {policy} was asked for"]))
            self.assertEqual(chosen["tiles"], -(-900 // chosen["tile"]), policy)
        base = ("scan", "X.npy", "--output", "Y.npy")
        self.refused(2, ["'singel-pass'", *policies, "auto"], *base, "--policy", "singel-pass", *CPU)
        self.refused(4, ["one-wave", "compiled for sums"], *base, "--policy", "one-wave", "--op", "max", *CPU)

    def test_explain(self):
        self.write("X.npy", [1.0] * 60, (20, 3), "f4")
        text = self.run_tool("scan", "X.npy", "--explain", "--axis", "1", *CPU).stdout.decode()
        for word in (
            "sum of 20 lines of 3 f4",
            "items-thread: 20 tiles of 16 elements, 1 stage, 20 blocks of 1 thread, 1 launch",
            "why: 20 lines of 3",
        ):
            self.assertIn(word, text)
        chosen = json.loads(self.run_tool("scan", "X.npy", "--explain", "--json", *CPU).stdout)
        self.assertEqual(
            (chosen["kernel"], chosen["threads"], chosen["stages"], chosen["launches"]), ("items", 256, 1, 1)
        )
        self.assertIn("single-pass: ", chosen["refused"][0])
        self.write("K.npy", [1] * 60, (20, 3), "i4")
        chosen = json.loads(
            self.run_tool("scan", "X.npy", "--by-key", "K.npy", "--explain", "--json", *CPU).stdout
        )
        self.assertEqual((chosen["kernel"], chosen["tile"], chosen["stages"]), ("single-pass", 7680, 6))
        self.assertGreater(chosen["workspace"], 0)
        self.assertEqual(self.names(), ["K.npy", "X.npy"])
        self.refused(2, ["--explain", "--output"], "scan", "X.npy", "--output", "Y.npy", "--explain", *CPU)
        self.refused(2, ["--output is required"], "scan", "X.npy", *CPU)
        self.refused(
            4,
            ["scan.single-pass needs", "shared memory"],
            "scan",
            "X.npy",
            "--explain",
            "--policy",
            "single-pass",
            "--shared-limit",
            "64",
            *CPU,
        )

    def test_many_short_lines(self):
        count = 300_000
        values = whole(2 * count, "i4")
        (self.folder / "X.npy").write_bytes(npy_bytes(values, (count, 2), "i4"))
        (self.folder / "T.npy").write_bytes(npy_bytes(values, (2, count), "i4"))
        rows, columns = [], values[:count] + [a + b for a, b in zip(values[:count], values[count:])]
        for i in range(0, 2 * count, 2):
            rows += [values[i], values[i] + values[i + 1]]
        for name, axis, shape, expected in (
            ("X.npy", 1, (count, 2), rows),
            ("T.npy", 0, (2, count), columns),
        ):
            begin = time.monotonic()
            done = self.run_tool("scan", name, "--output", "Y.npy", "--axis", axis, "--json", *CPU)
            if os.environ.get("ANTIPHASE_SANITIZED") != "1":
                self.assertLess(time.monotonic() - begin, 20)  # one block per line took minutes
            self.assertEqual(self.read("Y.npy"), (expected, shape, "i8"), name)
            self.assertEqual(json.loads(done.stdout)["policy"], "items-thread")

    def test_estimate(self):
        (self.folder / "X.npy").write_bytes(npy_bytes([], (400_000, 2), "f4") + bytes(8 * 400_000))
        process = subprocess.Popen(
            [TOOL, "scan", "X.npy", "--output", "Y.npy", "--axis", "1", "--policy", "items", *CPU],
            cwd=self.folder,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        message, deadline = b"", time.monotonic() + 60
        while b"take about" not in message and process.poll() is None and time.monotonic() < deadline:
            message += os.read(process.stderr.fileno(), 1000)
        self.assertRegex(message.decode(), r"items will take about \d+ (seconds|minutes) on the CPU executor")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.names(), ["X.npy"])


class Cuda(ScanTest):
    def test_Cuda_newcomers_data(self):
        if not gpu_is_usable():
            self.skipTest("no usable GPU")
        keys = [i * i // 90 % 7 for i in range(300)]
        for type_name, operation, exclusive in itertools.product(("i1", "u2"), ("sum", "min"), (False, True)):
            self.by_key(
                whole(300, type_name), keys, type_name, "i1", operation, on="cuda", exclusive=exclusive
            )
        truths = [i % 3 == 0 for i in range(200)]
        for operation, exclusive in itertools.product(("sum", "min", "max"), (False, True)):
            self.assertEqual(
                self.scan(
                    truths, (200,), "b1", "--op", operation, *["--exclusive"] * exclusive, mark="|", on="cuda"
                )[0],
                scan_line(truths, operation, accumulator("b1", operation), exclusive),
            )
        self.write("X.npy", [1.0] * 60_000, (20_000, 3), "f4")
        chosen = json.loads(
            self.run_tool("scan", "X.npy", "--axis", "1", "--explain", "--json", "--on", "cuda").stdout
        )
        self.assertTrue(chosen["kernel"].startswith("single-pass"), chosen)
        self.assertIn("2 of 4 outputs", self.message_of([1.0, 2e38, 2e38, 1.0], (4,), "f4", on="cuda"))


if __name__ == "__main__":
    main()
