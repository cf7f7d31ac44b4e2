# SPDX-License-Identifier: Apache-2.0
"""antiphase gemm as a process."""
import json
import os
import signal
import subprocess
import time

from process import TOOL, ToolTest, gpu_is_usable, main, naive_product, npy_bytes, pattern

CPU = ("--on", "cpu")


class Gemm(ToolTest):
    def matrices(self, m=5, n=7, k=3, **options):
        self.a, self.b = pattern(m * k, 1), pattern(k * n, 2)
        self.write("A.npy", self.a, (m, k), **options)
        self.write("B.npy", self.b, (k, n), **options)
        return naive_product(self.a, self.b, m, n, k)

    def test_product(self):
        for m, n, k in ((1, 1, 1), (5, 7, 3), (33, 65, 40), (129, 1, 17)):
            expected = self.matrices(m, n, k)
            self.run_tool("gemm", "A.npy", "B.npy", "--output", "C.npy", *CPU)
            self.assertEqual(self.read("C.npy"), (expected, (m, n), "f4"))

    def test_every_policy(self):
        policies = json.loads(self.run_tool("info", "--json").stdout)["gemm_policies"]
        self.assertGreater(len(policies), 8)
        for policy in policies:
            expected = self.matrices(7, 70, {"fp64-short": 4}.get(policy, 37))  # k that they accept
            done = self.run_tool("gemm", "A.npy", "B.npy", "-o", "C.npy", "--policy", policy, "--json", *CPU)
            self.assertEqual(json.loads(done.stdout)["policy"], policy)
            self.assertEqual(self.read("C.npy")[0], expected, policy)

    def test_alpha_and_beta(self):
        product = self.matrices()
        c0 = pattern(35, 3)
        self.write("C0.npy", c0, (5, 7))
        self.write("C0F.npy", c0, (5, 7), order="F")
        for name in ("C0.npy", "C0F.npy"):
            self.run_tool(
                "gemm",
                "A.npy",
                "B.npy",
                "--c",
                name,
                "--alpha",
                "2",
                "--beta",
                "-1.5",
                "--output",
                "C.npy",
                *CPU,
            )
            self.assertEqual(self.read("C.npy")[0], [2 * p - 1.5 * c for p, c in zip(product, c0)])
        self.run_tool("gemm", "A.npy", "B.npy", "--c", "C0.npy", "--output", "C.npy", *CPU)
        self.assertEqual(self.read("C.npy")[0], [p + c for p, c in zip(product, c0)])
        self.run_tool("gemm", "A.npy", "B.npy", "--alpha", "-0.5", "--output", "C.npy", *CPU)
        self.assertEqual(self.read("C.npy")[0], [-0.5 * p for p in product])

    def test_beta_zero_and_alpha_zero_do_not_read(self):
        self.write("A.npy", [float("nan")] * 6, (2, 3))
        self.write("B.npy", pattern(12), (3, 4))
        self.write("C0.npy", pattern(8, 5), (2, 4))
        self.write("N.npy", [float("nan")] * 8, (2, 4))
        for alpha in ("0", "-0.0"):
            for beta in ("1", "2"):
                self.run_tool(
                    "gemm",
                    "A.npy",
                    "B.npy",
                    "--alpha",
                    alpha,
                    "--c",
                    "C0.npy",
                    "--beta",
                    beta,
                    "--output",
                    "C.npy",
                    *CPU,
                )
                self.assertEqual(self.read("C.npy")[0], [float(beta) * c for c in pattern(8, 5)], alpha)
        expected = self.matrices(2, 4, 3)
        for beta in ("0", "-0.0"):
            self.run_tool("gemm", "A.npy", "B.npy", "--c", "N.npy", "--beta", beta, "--output", "C.npy", *CPU)
            self.assertEqual(self.read("C.npy")[0], expected, beta)

    def test_orders_byte_orders_and_versions(self):
        for options in (
            {"order": "F"},
            {"mark": ">"},
            {"version": (2, 0)},
            {"version": (3, 0)},
            {"order": "F", "mark": ">"},
        ):
            expected = self.matrices(6, 9, 11, **options)
            self.run_tool("gemm", "A.npy", "B.npy", "--output", "C.npy", *CPU)
            self.assertEqual(self.read("C.npy"), (expected, (6, 9), "f4"), options)

    def test_mixed_orders(self):
        expected = self.matrices(6, 9, 11)
        self.write("AF.npy", self.a, (6, 11), order="F")
        self.write("BF.npy", self.b, (11, 9), order="F")
        for a, b in (("AF.npy", "B.npy"), ("A.npy", "BF.npy")):
            self.run_tool("gemm", a, b, "--output", "C.npy", *CPU)
            self.assertEqual(self.read("C.npy")[0], expected)

    def test_empty_extents(self):
        for m, n, k in ((0, 4, 3), (4, 0, 3), (4, 3, 0), (0, 0, 0)):
            self.matrices(m, n, k)
            self.run_tool("gemm", "A.npy", "B.npy", "--output", "C.npy", *CPU)
            self.assertEqual(self.read("C.npy"), ([0.0] * (m * n), (m, n), "f4"))
        self.write("C0.npy", pattern(12), (4, 3))
        self.matrices(4, 3, 0)
        self.run_tool("gemm", "A.npy", "B.npy", "--c", "C0.npy", "--beta", "3", "--output", "C.npy", *CPU)
        self.assertEqual(self.read("C.npy")[0], [3 * c for c in pattern(12)])

    def test_empty_inner_extent_with_an_impossible_result(self):
        self.write("A.npy", [], (1 << 40, 0))
        self.write("B.npy", [], (0, 1 << 40))
        self.refused(2, ["(1099511627776, 0)", "2^63"], "gemm", "A.npy", "B.npy", "--output", "C.npy", *CPU)

    def test_shapes_that_do_not_fit(self):
        self.write("left.npy", pattern(15), (5, 3))
        self.write("right.npy", pattern(28), (4, 7))
        self.refused(
            2,
            ["'left.npy'", "(5, 3)", "'right.npy'", "(4, 7)", "3 columns", "4 rows"],
            "gemm",
            "left.npy",
            "right.npy",
            "--output",
            "C.npy",
            *CPU,
        )
        self.matrices()
        self.write("C0.npy", pattern(35), (7, 5))
        self.refused(
            2,
            ["'C0.npy'", "(7, 5)", "(5, 7)"],
            "gemm",
            "A.npy",
            "B.npy",
            "--c",
            "C0.npy",
            "--output",
            "C.npy",
            *CPU,
        )

    def test_ranks(self):
        self.matrices()
        for shape, words in (
            ((15,), ["(15,)", "2-D", "(1, n)"]),
            ((), ["()", "2-D"]),
            ((1, 5, 3), ["(1, 5, 3)", "2-D"]),
        ):
            self.write("X.npy", pattern(15 if shape else 1), shape)
            self.refused(3, ["'X.npy'", *words], "gemm", "X.npy", "B.npy", "--output", "C.npy", *CPU)

    def test_types(self):
        self.matrices()
        for type_name in ("f2", "f8", "i4", "u1"):
            self.write("X.npy", [1] * 15, (5, 3), type_name)
            self.refused(
                3,
                ["'X.npy' (A)", type_name, ".astype('f4')"],
                "gemm",
                "X.npy",
                "B.npy",
                "--output",
                "C.npy",
                *CPU,
            )
        for descr, name in (("|O", "object"), ("<c8", "complex")):
            header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (5, 3), }}"
            self.write("X.npy", [0] * 120, (5, 3), "u1", header=header)
            self.refused(3, ["'X.npy'", name], "gemm", "X.npy", "B.npy", "--output", "C.npy", *CPU)

    def test_wrong_options(self):
        self.matrices()
        both = ("gemm", "A.npy", "B.npy")
        out = ("--output", "C.npy")
        self.refused(2, ["'asynch-2'", "async-2", "warp-tile"], *both, *out, "--policy", "asynch-2", *CPU)
        self.refused(2, ["'--ouput'", "did you mean --output"], *both, "--ouput", "C.npy")
        self.refused(2, ["'--frobnicate'", "--policy", "--alpha"], *both, *out, "--frobnicate")
        self.refused(2, ["--output", "required"], *both)
        self.refused(2, ["B", "required"], "gemm", "A.npy", *out)
        self.refused(2, ["'D.npy'", "one too many"], *both, "D.npy", *out)
        self.refused(2, ["--alpha", "number", "'two'"], *both, *out, "--alpha", "two")
        for value in ("1e39", "-1e39", "1e400", "1e-46"):
            self.refused(2, ["--alpha", "FP32", f"'{value}'"], *both, *out, f"--alpha={value}")
        for value in ("inf", "1e-45", "-3.4e38", "0e-99"):
            self.run_tool(*both, *out, "--quiet", f"--alpha={value}", *CPU)
        (self.folder / "C.npy").unlink()
        self.refused(2, ["--alpha needs a value", "NUMBER"], *both, *out, "--alpha")
        self.refused(2, ["--output needs a value", "C.npy"], *both, "--output")
        self.refused(2, ["--alpha", "2 times", "once"], *both, *out, "--alpha", "1", "--alpha", "2")
        for option in ("--on", "--c"):
            self.refused(2, [option, "''"], *both, *out, option, "")
        self.refused(2, ["'--output'", "one too many"], "gemm", *out, "--", "A.npy", "B.npy", "--output")
        for value in ("0", "1048577", str(2**55)):
            self.refused(
                2,
                ["--shared-limit", "from 1 to 1048576", f"'{value}'"],
                *both,
                *out,
                "--shared-limit",
                value,
                *CPU,
            )
        self.refused(2, ["--seed", "integer", "'-1'"], *both, *out, "--seed", "-1")
        self.refused(2, ["--beta", "--c"], *both, *out, "--beta", "2", *CPU)
        self.refused(2, ["'gpu'", "cpu, cuda or cuda:N"], *both, *out, "--on", "gpu")
        self.refused(2, ["'cuda:x'", "cuda:N"], *both, *out, "--on", "cuda:x")
        self.refused(2, ["--json", "--output -"], *both, "--output", "-", "--json", *CPU)

    def test_policy_that_does_not_fit(self):
        self.matrices()
        line = self.refused(
            4,
            ["gemm.async-4", "32768", "10240"],
            "gemm",
            "A.npy",
            "B.npy",
            "--output",
            "C.npy",
            "--policy",
            "async-4",
            "--shared-limit",
            "10",
            *CPU,
        )
        self.assertIn("shared memory", line)
        expected = self.matrices(5, 7, 6)
        done = self.run_tool(
            "gemm",
            "A.npy",
            "B.npy",
            "--output",
            "C.npy",
            "--precision",
            "strict",
            "--shared-limit",
            "10",
            "--json",
            *CPU,
        )
        self.assertEqual(self.read("C.npy")[0], expected)
        # the last step that fits 10 KiB
        self.assertEqual(json.loads(done.stdout)["policy"], "padded")

    def test_a_weaker_bound_is_told_or_refused(self):
        ladder, small = ("--policy", "tiled", *CPU), ("--shared-limit", "12", *CPU)
        both, out = ("gemm", "A.npy", "B.npy"), ("--output", "C.npy")
        told, asked = (
            "|C - AB| <= 600 u |A||B| + 600 x 2^-150",
            "precision fp32 stands for 90.16949 u |A||B| + 2^-150",
        )
        expected = self.matrices(90, 91, 600)
        done = self.run_tool(*both, *out, "--json", *ladder)
        self.assertEqual(self.read("C.npy")[0], expected)
        (line,) = [line for line in done.message.splitlines() if "2^-150" in line]
        self.assertIn(told, line)
        self.assertIn(asked, line)
        result = json.loads(done.stdout)
        self.assertEqual(result["bound"], {"units": 600, "absolute": 600 * 2**-150})
        self.assertEqual(result["asked_bound"], {"units": 80 + 600 / 59, "absolute": 2**-150})
        self.assertIs(result["bound_kept"], False)
        (self.folder / "C.npy").unlink()
        line = self.refused(
            4,
            ["600 u |A||B| + 600 x 2^-150", "90.16949 u |A||B| + 2^-150"],
            *both,
            *out,
            "--if-weaker",
            "refuse",
            *ladder,
        )
        self.assertIn("fp32", line)
        self.refused(4, ["600 u"], *both, "--explain", "--if-weaker", "refuse", *ladder)
        self.refused(2, ["--if-weaker 'no'", "take or refuse"], *both, *out, "--if-weaker", "no", *CPU)
        # sums in FP64 whose operands go to registers need little shared memory
        for kept in (CPU, small, ("--precision", "strict", *small)):
            done = self.run_tool(*both, *out, "--json", "--if-weaker", "refuse", *kept)
            self.assertNotIn("2^-150", done.message)
            self.assertIs(json.loads(done.stdout)["bound_kept"], True)
        self.run_tool(*both, *out, "--if-weaker", "refuse", "--shared-limit", "48", *CPU)  # sums in FP64

    def test_seeds_give_the_same_bits(self):
        self.matrices(40, 40, 70)
        results = set()
        for seed in ("1", "2", "99"):
            self.run_tool("gemm", "A.npy", "B.npy", "--output", "C.npy", "--seed", seed, *CPU)
            results.add((self.folder / "C.npy").read_bytes())
        self.assertEqual(len(results), 1)

    def test_quiet_and_messages(self):
        self.matrices()
        done = self.run_tool("gemm", "A.npy", "B.npy", "--output", "C.npy", *CPU)
        self.assertIn("running on CPU executor", done.message)
        self.assertIn("5 x 7", done.message)
        self.assertEqual(done.stdout, b"")
        done = self.run_tool("gemm", "A.npy", "B.npy", "--output", "C.npy", "-q", *CPU)
        self.assertEqual((done.stdout, done.message), (b"", ""))

    def test_json(self):
        self.matrices()
        done = self.run_tool(
            "gemm", "A.npy", "B.npy", "--output", "C.npy", "--json", "--quiet", "--alpha", "3", *CPU
        )
        result = json.loads(done.stdout)
        self.assertEqual((result["schema"], result["command"]), (1, "gemm"))
        self.assertEqual(result["shape"], {"m": 5, "n": 7, "k": 3})
        self.assertEqual((result["alpha"], result["beta"]), (3, 0))
        self.assertGreater(result["counts"]["switches"], 0)
        self.assertEqual(done.message, "")


class Interrupted(ToolTest):
    def long_product(self, number, code):
        size = 2048
        (self.folder / "A.npy").write_bytes(npy_bytes([], (size, size))[:128] + bytes(4 * size * size))
        (self.folder / "C.npy").write_text("old")
        process = subprocess.Popen(
            [TOOL, "gemm", "A.npy", "A.npy", "--output", "C.npy", "--policy", "tiled", *CPU],
            cwd=self.folder,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        deadline = time.monotonic() + 60
        while not any(".tmp" in name for name in self.names()):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        message = b""
        while b"take about" not in message and time.monotonic() < deadline:
            message += os.read(process.stderr.fileno(), 1000)
        self.assertIn(b"tiled will take about", message)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        process.send_signal(number)
        out, rest = process.communicate(timeout=20)
        self.assertEqual(process.returncode, code)
        self.assertEqual((out, rest), (b"", b""))
        self.assertEqual(self.names(), ["A.npy", "C.npy"])
        self.assertEqual((self.folder / "C.npy").read_text(), "old")

    def test_interrupt(self):
        self.long_product(signal.SIGINT, 130)

    def test_terminate(self):
        self.long_product(signal.SIGTERM, 143)


class Cuda(ToolTest):
    def test_cuda_without_a_gpu(self):
        if gpu_is_usable():
            self.skipTest("there is a GPU")
        self.write("A.npy", pattern(4), (2, 2))
        self.refused(
            4, ["cannot run on a GPU: "], "gemm", "A.npy", "A.npy", "--output", "C.npy", "--on", "cuda"
        )
        self.refused(4, ["cannot run on a GPU: "], "scan", "A.npy", "--output", "C.npy", "--on", "cuda:0")
        self.refused(4, ["cannot run on a GPU: "], "ladder", "gemm", "--on", "cuda")
        done = self.run_tool("gemm", "A.npy", "A.npy", "--output", "C.npy")
        self.assertIn("no GPU is usable: ", done.message)

    def test_Cuda_product(self):
        if not gpu_is_usable():
            self.skipTest("no usable GPU")
        a, b = pattern(33 * 40, 1), pattern(40 * 65, 2)
        self.write("A.npy", a, (33, 40))
        self.write("B.npy", b, (40, 65), order="F")
        self.run_tool("gemm", "A.npy", "B.npy", "--output", "C.npy", "--on", "cuda")
        self.assertEqual(self.read("C.npy")[0], naive_product(a, b, 33, 65, 40))
        self.refused(
            4,
            ["there is no CUDA device 99"],
            "gemm",
            "A.npy",
            "B.npy",
            "--output",
            "D.npy",
            "--on",
            "cuda:99",
        )

    def test_Cuda_ladders(self):
        if not gpu_is_usable():
            self.skipTest("no usable GPU")
        for kind in ("gemm", "scan", "attention"):
            records = json.loads(
                self.run_tool("ladder", kind, "--size", "300", "--json", "--on", "cuda").stdout
            )["records"]
            for record in (record for record in records if "refused" not in record):  # TMA is Hopper's
                self.assertTrue(record["verified"], record)
                self.assertGreater(record["time_us"]["ours"], 0)


if __name__ == "__main__":
    main()
