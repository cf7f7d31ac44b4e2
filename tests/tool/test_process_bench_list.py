# SPDX-License-Identifier: Apache-2.0
"""antiphase bench gemm --random, --suite and --map as a process. Times need a GPU; this tests everything
else."""
import json

from process import ToolTest, gpu_is_usable, main

CPU = ("--on", "cpu")
BENCH = ("bench", "gemm")


def product(name, m, n, k, layout="nn", **members):
    return {"name": name, "group": "mine", "m": m, "n": n, "k": k, "layout": layout, **members}


class BenchList(ToolTest):
    def result(self, *arguments):
        return json.loads(self.run_tool(*BENCH, *arguments, "--json", "-q", *CPU).stdout)

    def list_of(self, *products, name="mine.json"):
        (self.folder / name).write_text(json.dumps({"products": products}))
        return name

    def test_random_shapes(self):
        result = self.result("--random", "1", "20", "--largest", "100")
        records = result["records"]
        self.assertEqual(len(records), 20)
        self.assertEqual([r["name"] for r in records], [str(i + 1) for i in range(20)])
        self.assertEqual({r["layout"] for r in records}, {"nn", "nt", "tn", "tt"})
        self.assertLessEqual(max(max(r["shape"].values()) for r in records), 100)
        for record in records:
            self.assertEqual(
                (record["kernel"], record["set"], record["group"]),
                ("gemm.fp32", "random 1 up to 100", "random"),
            )
            self.assertEqual(
                (record["count"], record["beta"], record["type"], record["data"]), (1, 0, "f32", "normal")
            )
            self.assertIs(record["verified"], True)
            self.assertNotIn("time_us", record)  # meaningless for a simulated GPU
            self.assertNotIn("protocol", record)
            self.assertTrue(0 <= record["component"]["ours"] <= record["component"]["allowed"], record)
            self.assertGreater(record["sample"], 0)
            self.assertGreater(record["predicted_us"], 0)
            self.assertEqual(record["code"], [])
        self.assertEqual(
            result["summary"], {"all": {"products": 20}, "groups": {"random": {"products": 20}}, "worst": []}
        )
        again = self.result("--random", "1", "5", "--largest", "100")["records"]
        self.assertEqual(
            [(r["shape"], r["layout"]) for r in again], [(r["shape"], r["layout"]) for r in records[:5]]
        )
        other = self.result("--random", "2", "5", "--largest", "100")["records"]
        self.assertNotEqual([r["shape"] for r in other], [r["shape"] for r in records[:5]])

    def test_a_suite_of_ones_own(self):
        name = self.list_of(
            product("plain", 33, 20, 40),
            product("added", 20, 33, 70, "tt", beta=1),
            product("scaled", 5, 6, 7, "nt", beta=-0.5),
        )
        records = self.result("--suite", name)["records"]
        self.assertEqual(
            [(r["name"], r["group"], r["set"], r["beta"], r["layout"]) for r in records],
            [
                ("plain", "mine", name, 0, "nn"),
                ("added", "mine", name, 1, "tt"),
                ("scaled", "mine", name, -0.5, "nt"),
            ],
        )
        self.assertEqual(records[1]["shape"], {"m": 20, "n": 33, "k": 70})
        for record in records:
            self.assertIs(record["verified"], True)

    def test_batches(self):
        name = self.list_of(
            product("plain", 20, 33, 17, "tn", count=5), product("added", 9, 5, 40, "nt", count=70, beta=1)
        )
        for policy in ("auto", "fp16", "tiled"):
            records = self.result("--suite", name, "--policy", policy)["records"]
            self.assertEqual(
                [(r["count"], r["beta"], r["verified"]) for r in records], [(5, 0, True), (70, 1, True)]
            )
        self.assertIn("5 of 20 x 33 x 17 tn", self.run_tool(*BENCH, "--suite", name, *CPU).stdout.decode())

    def test_the_policy_that_is_asked_for(self):
        name = self.list_of(product("plain", 33, 20, 40), product("added", 20, 33, 70, "tn", beta=1))
        for policy in ("fp16-mma", "fp64", "tiled"):
            self.assertEqual(
                [
                    (r["policy"], r["verified"])
                    for r in self.result("--suite", name, "--policy", policy)["records"]
                ],
                [(policy, True)] * 2,
            )

    def test_a_map(self):
        records = self.result("--map", "9", "--largest", "8")["records"]
        self.assertEqual(
            [tuple(r["shape"].values()) for r in records],
            [(m, n, 9) for m in (1, 2, 4, 8) for n in (1, 2, 4, 8)],
        )
        self.assertEqual({r["set"] for r in records}, {"map 9 up to 8"})

    def test_serving(self):
        """Includes batch_invariant results, all by the one policy that keeps rows."""
        records = self.result("--serving", "--largest", "100")["records"]
        self.assertEqual(
            [(r["group"], r["name"]) for r in records[:2]],
            [("projection", "one token"), ("projection", "8 tokens")],
        )
        self.assertEqual(
            [tuple(r["shape"].values()) for r in records[5:10]], [(m, 100, 100) for m in (1, 8, 32, 100, 100)]
        )
        self.assertEqual({r["set"] for r in records}, {"serving up to 100"})
        self.assertEqual(len({(r["group"], r["name"]) for r in records}), 15)
        for record in records:
            self.assertIs(record["verified"], True)
            invariant = record["batch_invariant"]
            self.assertEqual(invariant["policy"], "fp64")
            self.assertTrue(0 <= invariant["component"] <= invariant["allowed"] < 2, record)
            self.assertNotIn("price", invariant)  # meaningless for a simulated GPU
        of_split = self.result("--serving", "--largest", "12", "--policy", "fp16")["records"]
        self.assertEqual(
            {(r["policy"], r["batch_invariant"]["policy"]) for r in of_split}, {("fp16", "fp64")}
        )
        self.assertNotIn("batch_invariant", self.result("--random", "1", "2", "--largest", "9")["records"][0])
        self.refused(4, ["15 products", "too many for the CPU executor"], *BENCH, "--serving", *CPU)
        self.refused(2, ["--map and --serving", "one of them"], *BENCH, "--serving", "--map", "3", *CPU)

    def test_table(self):
        done = self.run_tool(
            *BENCH,
            "--suite",
            self.list_of(product("first", 33, 20, 40), product("second", 8, 8, 8, "tt", beta=1)),
            *CPU,
        )
        self.assertIn("would say nothing about a GPU", done.message)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(lines[0], "C = A B on CPU executor, mine.json")
        self.assertEqual(
            lines[2].split(), ["product", "group", "shape", "kernel", "component", "allowed", "verified"]
        )
        self.assertRegex(lines[3], r"^first +mine +33 x 20 x 40 nn +\S+ .* yes$")
        self.assertRegex(lines[4], r"^second +mine +8\^3 tt \+ C .* yes$")
        self.assertEqual(len(lines), 5)

    def test_the_suite_is_for_a_GPU(self):
        self.refused(
            4, ["48 products", "too many for the CPU executor", "expected a GPU"], *BENCH, "--suite", *CPU
        )
        self.refused(
            4,
            ["200 products", "too many for the CPU executor", "--largest"],
            *BENCH,
            "--random",
            "1",
            "200",
            *CPU,
        )

    def test_wrong_options(self):
        self.refused(2, ["--random needs 2 values", "SEED COUNT"], *BENCH, "--random", "1", *CPU)
        self.refused(2, ["--random needs 2 values"], *BENCH, *CPU, "--random")
        self.refused(2, ["--random 1 0", "from 1 to 100000"], *BENCH, "--random", "1", "0", *CPU)
        self.refused(2, ["--random", "at least 0", "'x'"], *BENCH, "--random", "x", "5", *CPU)
        self.refused(2, ["--largest", "from 1", "'0'"], *BENCH, "--random", "1", "5", "--largest", "0", *CPU)
        self.refused(2, ["--map", "from 1", "'0'"], *BENCH, "--map", "0", *CPU)
        self.refused(2, ["--largest is for --random, --map and --serving"], *BENCH, "--largest", "5", *CPU)
        self.refused(
            2, ["--largest is for --random, --map and --serving"], *BENCH, "--suite", "--largest", "5", *CPU
        )
        self.refused(
            2, ["--random and --suite", "one of them"], *BENCH, "--random", "1", "5", "--suite", *CPU
        )
        for option, value in (
            ("--size", "5"),
            ("--m", "5"),
            ("--layout", "nn"),
            ("--data", "normal"),
            ("--precision", "fp32"),
            ("--protocol", "hot"),
        ):
            self.refused(
                2,
                [f"--random and {option}", "one of the two"],
                *BENCH,
                "--random",
                "1",
                "5",
                option,
                value,
                *CPU,
            )
        self.refused(2, ["'splitt'", "fp16"], *BENCH, "--random", "1", "5", "--policy", "splitt", *CPU)

    def test_wrong_files(self):
        self.refused(3, ["'nowhere.json'", "cannot be opened"], *BENCH, "--suite", "nowhere.json", *CPU)
        self.refused(3, ["'.'", "directory"], *BENCH, "--suite", ".", *CPU)
        (self.folder / "text.json").write_text("decode\n")
        self.refused(3, ["'text.json'", "not JSON", "bench/suite.json"], *BENCH, "--suite", "text.json", *CPU)
        self.refused(
            3,
            ["'mine.json': product 2", "'layout' is"],
            *BENCH,
            "--suite",
            self.list_of(product("a", 1, 1, 1), product("b", 1, 1, 1, "xy")),
            *CPU,
        )

    def test_Cuda_times(self):
        if not gpu_is_usable():
            self.skipTest("no usable GPU")
        name = self.list_of(
            product("plain", 333, 200, 400),
            product("added", 200, 333, 70, "tt", beta=1),
            product("batch", 40, 50, 60, "tn", count=7),
        )
        for list_of in (
            ("--suite", name),
            ("--random", "1", "10", "--largest", "3000"),
            ("--map", "20", "--largest", "4"),
            ("--serving", "--largest", "600"),
        ):
            result = json.loads(self.run_tool(*BENCH, *list_of, "--json", "--on", "cuda").stdout)
            for record in result["records"]:
                self.assertEqual((record["verified"], record["protocol"]), (True, "graph"), record)
                times = record["time_us"]
                self.assertGreater(times["ours"], 0)
                if "batch_invariant" in record:
                    self.assertAlmostEqual(
                        record["batch_invariant"]["price"], times["ours_batch_invariant"] / times["ours"]
                    )
                if "cublas_fp32" in times:
                    self.assertEqual(
                        times["cublas_fp32"],
                        min(times[who] for who in ("cublas_sgemm", "cublas_lt") if who in times),
                    )
                    self.assertAlmostEqual(record["times_cublas"], times["cublas_fp32"] / times["ours"])
                    self.assertLess(record["component"]["cublas_fp32"], record["shape"]["k"] + 1)
            self.assertLessEqual(set(result["rivals"]), {"cublas_sgemm", "cublas_lt"})
            self.assertEqual(result["summary"]["all"]["products"], len(result["records"]))


if __name__ == "__main__":
    main()
