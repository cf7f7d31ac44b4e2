# SPDX-License-Identifier: Apache-2.0
"""antiphase bench as a process. Times need a GPU; this tests everything else."""
import json
import re

from process import ToolTest, gpu_is_usable, main, results

CPU = ("--on", "cpu")
MEASURED = results() / "experiments/20261127-overlap.json"
SMALL = ("--m", "70", "--n", "130", "--k", "100")


class Overlap(ToolTest):
    def test_model(self):
        """Without a GPU the sums are verified, and the model is shown."""
        out = self.run_tool(
            "bench", "overlap", "--blocks", "1,2", "--rounds", "3,256", "-q", *CPU
        ).stdout.decode()
        rows = [line.split()[:2] for line in out.splitlines() if line and line[0].isdigit()]
        # a narrow terminal has the last columns below
        self.assertEqual(rows[:4], [["1", "3"], ["1", "256"], ["2", "3"], ["2", "256"]])

    def test_a_file_of_times(self):
        """The model for what was measured, and the page; nothing runs."""
        read = ("bench", "overlap", "--read", MEASURED)
        then, now = json.loads(MEASURED.read_text()), json.loads(self.run_tool(*read, "--json").stdout)
        self.assertEqual(len(now["records"]), len(then["records"]))
        for was, r in zip(then["records"], now["records"]):
            self.assertEqual(
                [(s["buffers"], s["step_ns"]) for s in r["steps"]],
                [(s["buffers"], s["step_ns"]) for s in was["steps"]],
            )
            gains = [s["model"] for s in r["steps"]]
            self.assertEqual(gains, sorted(gains), "a further buffer is never slower")
            two = r["steps"][1]
            off = 0.12 if r["blocks_per_multiprocessor"] == 1 else 0.3
            self.assertLess(abs(two["model"] / two["gain"] - 1), off, r)
        self.assertIn("H100", self.run_tool(*read).stdout.decode())
        self.run_tool(*read, "-o", "page.html")
        page = (self.folder / "page.html").read_text()
        self.assertNotIn("{{", page)
        self.assertNotRegex(page, r"(src|href)=.https?:")
        held = json.loads(
            re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1]
        )
        for shown, r in zip(held["records"], now["records"], strict=True):
            self.assertAlmostEqual(shown["steps"][1]["model"], r["steps"][1]["model"], places=2)

    def test_wrong_input(self):
        done = self.run_tool("bench", "overlap", "--blocks", "0", *CPU, code=2)
        self.assertIn("--blocks", done.stderr.decode())
        self.refused(4, ["--read"], "bench", "overlap", "-o", "page.html", *CPU)
        good = json.loads(MEASURED.read_text())
        for text, word in (
            ("", "something else"),
            ('{"command": "ladder gemm"}', "something else"),
            (json.dumps(good | {"records": []}), "no records"),
            (json.dumps(good | {"records": [{"rounds": 1}]}), "lacks something"),
        ):
            (self.folder / "x.json").write_text(text)
            self.refused(3, ["x.json", word], "bench", "overlap", "--read", "x.json")
        self.refused(
            3, ["none.json", "cannot be read: No such file"], "bench", "overlap", "--read", "none.json"
        )
        (self.folder / "x.json").write_text(json.dumps(good | {"machine": {"name": "NVIDIA Z9"}}))
        self.refused(2, ["NVIDIA Z9", "machine profile"], "bench", "overlap", "--read", "x.json")


class Linear(ToolTest):
    def test_no_row_depends_on_the_others(self):
        out = self.run_tool(
            *(
                "bench",
                "linear",
                "--invariant",
                "--shape",
                "24x72,40x64",
                "--rows",
                "1,66",
                "--json",
                "-q",
                *CPU,
            )
        ).stdout
        records = json.loads(out)["records"]
        self.assertEqual(
            [(r["n"], r["rows"], r["moved"]) for r in records],
            [(24, 1, 0), (24, 66, 0), (40, 1, 0), (40, 66, 0)],
        )
        table = self.run_tool(
            "bench", "linear", "--invariant", "--type", "f2", "--shape", "24x72", "--rows", "9", "-q", *CPU
        )
        self.assertRegex(table.stdout.decode(), r"24 x 72 +9 +f16-64x\d+ +- +- +- +0/9 +-")

    def test_wrong_input(self):
        self.refused(2, ["--shape '24y72'"], "bench", "linear", "--shape", "24y72", *CPU)
        self.refused(2, ["--type"], "bench", "linear", "--type", "f4", *CPU)


class Bench(ToolTest):
    def records(self, *arguments):
        return json.loads(self.run_tool("bench", "gemm", *arguments, "--json", "-q", *CPU).stdout)["records"]

    def test_records(self):
        records = self.records(*SMALL, "--policy", "fp16")
        self.assertEqual(
            [(r["kernel"], r["layout"], r["data"]) for r in records],
            [("gemm.fp32", "nn", "normal"), ("gemm.strict", "nn", "normal")],
        )
        self.assertEqual((records[0]["policy"], records[1]["policy"]), ("fp16", "strict"))
        for record in records:
            self.assertEqual(record["shape"], {"m": 70, "n": 130, "k": 100})
            self.assertIs(record["verified"], True)
            self.assertNotIn("time_us", record)  # meaningless for a simulated GPU
            self.assertGreater(record["counts"]["switches"], 0)
            self.assertEqual(record["sample"], 64 * 64)
            self.assertTrue(0 < record["error"]["ours"] < 1e-6, record)
            self.assertTrue(0 < record["component"]["ours"] < record["component"]["allowed"], record)
            self.assertLess(abs(record["bias"]["ours"]), record["component"]["ours"])
            self.assertEqual(record["recomputed"], {"outputs": 0, "share": 0})
        self.assertAlmostEqual(records[0]["component"]["allowed"], 80 + 100 / 59)
        self.assertEqual(records[1]["component"]["allowed"], 100)
        self.assertGreater(records[0]["choice"]["workspace"], 0)

    def test_all_combinations(self):
        records = self.records(
            "--size",
            "33,20",
            "--m",
            "5",
            "--n",
            "6",
            "--k",
            "7",
            "--layout",
            "nn,tt",
            "--data",
            "uniform,exp4n",
            "--precision",
            "strict",
        )
        found = [(*r["shape"].values(), r["layout"], r["data"]) for r in records]
        self.assertEqual(
            found,
            [
                (*shape, layout, data)
                for shape in ((33, 33, 33), (20, 20, 20), (5, 6, 7))
                for layout in ("nn", "tt")
                for data in ("uniform", "exp4n")
            ],
        )
        self.assertEqual({r["kernel"] for r in records}, {"gemm.strict"})

    def test_layouts_do_not_change_the_matrices(self):
        records = self.records(*SMALL, "--layout", "nn,nt,tn,tt")
        for kernel in ("gemm.fp32", "gemm.strict"):
            self.assertEqual(len({r["error"]["ours"] for r in records if r["kernel"] == kernel}), 1)

    def test_recomputed_outputs_are_counted(self):
        every = self.records(*SMALL, "--data", "outlier-tiny", "--precision", "fp32", "--policy", "fp16")[0][
            "recomputed"
        ]
        self.assertEqual(every, {"outputs": 70 * 130, "share": 1})
        some = self.records(
            "--size", "128", "--data", "sparse10-exp4n", "--precision", "fp32", "--policy", "fp16"
        )[0]["recomputed"]
        self.assertTrue(0 < some["outputs"] < 128 * 128, some)
        self.assertEqual(some["share"], some["outputs"] / 128**2)
        none = self.records(*SMALL, "--data", "outlier-tiny", "--precision", "strict")[0]["recomputed"]
        self.assertEqual(none, {"outputs": 0, "share": 0})

    def test_denormal_results_are_allowed_their_roundings(self):
        # a failed check ends with exit code 5
        for record in self.records(
            "--size", "16", "--data", "denormal-results,adverse-subnormal,denormal-rows"
        ):
            self.assertIs(record["verified"], True)
            self.assertEqual(
                record["choice"]["bound"]["absolute"],
                (16 if record["kernel"] == "gemm.strict" else 1) * 2**-150,
            )

    def test_every_distribution(self):
        records = self.records("--size", "64", "--data", "all", "--precision", "fp32")
        self.assertGreater(len(records), 30)
        self.assertEqual(len({r["data"] for r in records}), len(records))

    def test_table(self):
        done = self.run_tool("bench", "gemm", *SMALL, *CPU)
        self.assertIn("would say nothing about a GPU", done.message)
        lines = done.stdout.decode().splitlines()
        self.assertIn("CPU executor", lines[0])
        self.assertEqual(lines[2].split()[:5], ["product", "layout", "data", "by", "kernel"])
        self.assertNotIn("TFLOP/s", lines[2])
        self.assertEqual(
            [line.split()[7:10] for line in lines[3:]],
            [["fp32", "fp64", lines[3].split()[9]], ["strict", *lines[4].split()[8:10]]],
        )
        for line in lines[3:]:
            self.assertTrue(line.endswith(" yes"), line)

    def test_empty_products(self):
        for extents in (("0", "3", "4"), ("3", "0", "4"), ("3", "4", "0")):
            m, n, k = extents
            for record in self.records("--m", m, "--n", n, "--k", k):
                self.assertEqual((record["verified"], record["component"]["ours"]), (True, 0))

    def test_wrong_options(self):
        bench = ("bench", "gemm")
        self.refused(
            2,
            ["--m, --n and --k", "2, 1 and 1", "once per product"],
            *bench,
            "--m",
            "1,2",
            "--n",
            "1",
            "--k",
            "1",
            *CPU,
        )
        self.refused(2, ["--layout 'xy'", "nn, nt, tn or tt"], *bench, "--layout", "nn,xy", *CPU)
        self.refused(2, ["--data 'norml'", "normal", "exp4n"], *bench, "--data", "norml", *CPU)
        self.refused(2, ["--precision 'half'", "fp32 or strict"], *bench, "--precision", "half", *CPU)
        self.refused(2, ["--protocol 'warm'", "rested or hot"], *bench, "--protocol", "warm", *CPU)
        self.refused(2, ["--against 'mkl'", "cublas or none"], *bench, "--against", "mkl", *CPU)
        self.refused(2, ["--repeats", "from 1 to 1000", "'0'"], *bench, "--repeats", "0", *CPU)
        self.refused(2, ["--size", "at least 0", "'-1'"], *bench, "--size", "-1", *CPU)
        self.refused(2, ["2097152 x 2097152", "2^40"], *bench, "--size", "2097152", *CPU)
        self.refused(2, ["no command 'gem'", "did you mean gemm"], "bench", "gem")
        self.refused(2, ["a command is missing", "gemm"], "bench")

    def test_Cuda_times(self):
        if not gpu_is_usable():
            self.skipTest("no usable GPU")
        done = self.run_tool(
            "bench",
            "gemm",
            "--size",
            "300",
            "--m",
            "129",
            "--n",
            "1",
            "--k",
            "4000",
            "--layout",
            "nn,tt",
            "--json",
            "--on",
            "cuda",
        )
        records = json.loads(done.stdout)["records"]
        self.assertEqual(len(records), 8)
        for record in records:
            self.assertIs(record["verified"], True)
            self.assertGreater(record["time_us"]["ours"], 0)
            self.assertGreater(record["host_us"]["ours"], 0)
            self.assertEqual("ours_allocating" in record["time_us"], record["choice"]["workspace"] > 0)
            if "cublas_fp32" in record["time_us"]:
                self.assertLess(record["error"]["cublas_fp32"], 1e-5)  # it multiplied the same matrices
                self.assertAlmostEqual(
                    record["times_cublas"], record["time_us"]["cublas_fp32"] / record["time_us"]["ours"]
                )


class BenchScan(ToolTest):
    def records(self, *arguments):
        return json.loads(self.run_tool("bench", "scan", *arguments, "--json", "-q", *CPU).stdout)["records"]

    def test_records(self):
        records = self.records("--size", "5000,3", "--type", "f4,i1,u8")
        self.assertEqual(
            [(r["type"], r["shape"]["n"]) for r in records],
            [(t, n) for t in ("f32", "i8", "u64") for n in (5000, 3)],
        )
        for record in records:
            self.assertEqual((record["kernel"], record["verified"]), ("scan.sum", True))
            self.assertNotIn("time_us", record)  # meaningless for a simulated GPU
            self.assertNotIn("protocol", record)
            self.assertGreater(record["counts"]["switches"], 0)
            self.assertEqual(record["code"], [])  # the CPU executor runs no compiled GPU kernels
            if record["type"] != "f32":
                self.assertEqual(record["error"]["ours"], 0)
        self.assertTrue(0 < records[0]["error"]["ours"] < 1e-6, records[0])

    def test_all_types(self):
        records = self.records("--size", "300", "--type", "all")
        self.assertEqual(
            {r["type"] for r in records},
            {"f32", "f64", *(f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64))},
        )

    def test_rows_keys_and_wider_types(self):
        for arguments, kernel, data in (
            (("--size", "600", "--rows", "30"), "scan.rows", "30 rows"),
            (("--size", "700", "--by-key", "7", "--type", "i8"), "scan.by-key", "a key for each 7"),
            (("--size", "700", "--type", "i1", "--accumulate", "i4"), "scan.wider", "summed in i32"),
        ):
            (record,) = self.records(*arguments)
            self.assertEqual((record["kernel"], record["data"], record["verified"]), (kernel, data, True))
        for arguments, message in (
            (("--size", "10", "--rows", "3"), "--size 10: expected a multiple of --rows 3"),
            (("--rows", "2", "--by-key", "2"), "one at a time"),
            (("--type", "i1", "--accumulate", "u4"), "wider types of the same kind"),
            (("--accumulate", "x"), "expected f4"),
        ):
            self.assertIn(message, self.run_tool("bench", "scan", *arguments, "-q", *CPU, code=2).message)

    def test_types_of_ones_own(self):
        records = self.records("--own", "16,4", "--size", "7,9000")
        self.assertEqual(
            [(r["type"], r["shape"]["n"], r["policy"]) for r in records],
            [
                (t, n, policy)
                for t in ("16 bytes", "4 bytes")
                for n, policy in ((7, "items"), (9000, "single-pass"))
            ],
        )
        self.assertEqual(
            {(r["kernel"], r["data"], r["verified"], r["error"]["ours"]) for r in records},
            {("scan.own", "x + offset, offset - x", True, 0)},
        )
        every = self.records("--own", "all", "--size", "20000,0")
        self.assertEqual(
            [(r["type"], r["verified"]) for r in every],
            [(f"{size} bytes", True) for size in (4, 8, 16, 24, 32) for _ in range(2)],
        )
        table = (
            self.run_tool("bench", "scan", "--own", "24", "--size", "10", "-q", *CPU)
            .stdout.decode()
            .splitlines()
        )
        self.assertEqual(
            (table[2].split(), table[3].split()),
            (["type", "n", "policy", "error", "verified"], ["24", "bytes", "10", "items", "0.0e+00", "yes"]),
        )

    def test_a_policy_by_name(self):
        records = self.records("--size", "700", "--policy", "warp-shuffle", "--type", "i4")
        self.assertEqual(
            [(r["kernel"], r["policy"]) for r in records], [("scan.sum.warp-shuffle", "warp-shuffle")]
        )
        refused = self.run_tool(
            "bench", "scan", "--policy", "warp-shuffle", "--type", "i1", "-q", *CPU, code=4
        )
        self.assertRegex(refused.message, "warp-shuffle does not take this problem: sum of i8: ")

    def test_table(self):
        done = self.run_tool("bench", "scan", "--size", "40,9000", "--type", "u2", *CPU)
        self.assertIn("would say nothing about a GPU", done.message)
        lines = done.stdout.decode().splitlines()
        self.assertIn("CPU executor", lines[0])
        self.assertEqual(lines[2].split(), ["type", "n", "policy", "error", "verified"])
        self.assertEqual(
            [(line.split()[0], line.split()[1], line.split()[-1]) for line in lines[3:]],
            [("u2", "40", "yes"), ("u2", "9000", "yes")],
        )

    def test_empty_arrays(self):
        self.assertEqual([r["verified"] for r in self.records("--size", "0")], [True])

    def test_wrong_options(self):
        bench = ("bench", "scan")
        self.refused(2, ["--type 'f32'", "did you mean f4", "all"], *bench, "--type", "f32", *CPU)
        self.refused(2, ["--own '5'", "4, 8, 16, 24, 32 or all"], *bench, "--own", "5", *CPU)
        self.refused(2, ["--own", "--type or --policy"], *bench, "--own", "4", "--type", "f4", *CPU)
        self.refused(2, ["--own", "--type or --policy"], *bench, "--own", "4", "--policy", "items", *CPU)
        self.refused(2, ["--by-key", "--own", "one at a time"], *bench, "--own", "4", "--by-key", "3", *CPU)
        self.refused(2, ["--against 'thrust'", "cub, memcpy"], *bench, "--against", "thrust", *CPU)
        self.refused(2, ["--protocol 'warm'", "rested or hot"], *bench, "--protocol", "warm", *CPU)
        self.refused(2, ["'itms'", "items"], *bench, "--policy", "itms", *CPU)
        self.refused(2, ["--size", "at least 0", "'-1'"], *bench, "--size", "-1", *CPU)
        self.refused(2, ["2199023255552", "2^40"], *bench, "--size", str(2**41), *CPU)

    def test_Cuda_times_of_types_of_ones_own(self):
        if not gpu_is_usable():
            self.skipTest("no usable GPU")
        done = self.run_tool(
            "bench", "scan", "--own", "all", "--size", "1,3000017", "--repeats", "3", "--json", "--on", "cuda"
        )
        records = json.loads(done.stdout)["records"]
        self.assertEqual({r["type"] for r in records}, {f"{size} bytes" for size in (4, 8, 16, 24, 32)})
        for record in records:
            self.assertEqual(
                (record["verified"], record["error"]["ours"], record["error"]["cub"]), (True, 0, 0)
            )
            self.assertEqual(
                {who: sorted(rival) for who, rival in record["rivals"].items()},
                {"cub": ["mode", "verified", "version"], "memcpy": ["mode", "version"]},
            )

    def test_Cuda_times(self):
        if not gpu_is_usable():
            self.skipTest("no usable GPU")
        done = self.run_tool(
            "bench",
            "scan",
            "--size",
            "1,70000,40000000",
            "--type",
            "f4,i1,u2,i8",
            "--repeats",
            "3",
            "--json",
            "--on",
            "cuda",
        )
        records = json.loads(done.stdout)["records"]
        for size in (1, 70000, 40000000):
            for of_type, bytes_of in (("f32", 4), ("i8", 1), ("u16", 2), ("i64", 8)):
                found = [r for r in records if (r["shape"]["n"], r["type"]) == (size, of_type)]
                short = 2 * size * bytes_of <= 128 << 20
                self.assertLessEqual({r["protocol"] for r in found}, {"rested", "event", "graph"})
                self.assertEqual(
                    {"rested"} if not short else {"rested", "event"},
                    {r["protocol"] for r in found} - {"graph"},
                )
                for record in found:
                    self.assertIs(record["verified"], True)
                    self.assertIs(record["rivals"]["cub"]["verified"], True)
                    self.assertRegex(record["rivals"]["cub"]["version"], r"^\d+\.\d+")
                    self.assertAlmostEqual(
                        record["of_memcpy"], record["time_us"]["memcpy"] / record["time_us"]["ours"]
                    )
                    self.assertAlmostEqual(
                        record["times_cub"], record["time_us"]["cub"] / record["time_us"]["ours"]
                    )
                    self.assertAlmostEqual(
                        record["gb_per_s"], 2e-3 * size * bytes_of / record["time_us"]["ours"]
                    )
                    self.assertGreater(record["spread"]["cub"]["most"], 0)


class Explain(ToolTest):
    def matrices(self, m, n, k, **options):
        self.write("A.npy", [1.0] * (m * k), (m, k), **options)
        self.write("B.npy", [1.0] * (k * n), (k, n), **options)

    def explain(self, *arguments):
        return json.loads(
            self.run_tool("gemm", "A.npy", "B.npy", "--explain", "--json", "-q", *arguments, *CPU).stdout
        )

    def test_what_would_run(self):
        self.matrices(130, 70, 200)
        chosen = self.explain("--policy", "fp64")
        self.assertEqual(chosen["kernel"], "fp64")
        self.assertEqual(chosen["bound"], {"units": 1 + 200 * 2**-29, "absolute": 2**-150})
        chosen = self.explain("--policy", "tf32")
        self.assertEqual(chosen["bound"], {"units": 80 + 200 / 59, "absolute": 2**-150})
        chosen = self.explain("--policy", "fp16")
        self.assertEqual(
            (chosen["kernel"], chosen["precision"], chosen["shape"]),
            ("fp16", "fp32", {"m": 130, "n": 70, "k": 200}),
        )
        self.assertEqual((chosen["tile"]["m"], chosen["tile"]["n"]), (128, 128))
        self.assertGreater(chosen["stages"], 1)
        self.assertGreater(chosen["workspace"], 0)
        self.assertIn("asked for", chosen["why"][0])
        self.assertIn("fp32", self.explain()["why"][0])
        self.assertEqual(chosen["bound"], {"units": 80 + 200 / 59, "absolute": 2**-150})
        self.assertEqual((chosen["asked_bound"], chosen["bound_kept"]), (chosen["bound"], True))
        self.assertEqual(self.names(), ["A.npy", "B.npy"])
        ran = json.loads(
            self.run_tool(
                "gemm", "A.npy", "B.npy", "--output", "C.npy", "--policy", "fp16", "--json", *CPU
            ).stdout
        )
        self.assertEqual((ran["policy"], ran["precision"]), ("fp16", "fp32"))
        by_split = self.read("C.npy")
        ran = json.loads(
            self.run_tool(
                "gemm", "A.npy", "B.npy", "--output", "D.npy", "--policy", "fp16-mma", "--json", *CPU
            ).stdout
        )
        self.assertEqual(ran["policy"], "fp16-mma")
        self.assertEqual(self.read("D.npy"), by_split)  # sums of ones, exact

    def test_strictly(self):
        self.matrices(20, 30, 40, order="F")
        chosen = self.explain("--precision", "strict")
        self.assertEqual(chosen["considered"], [])
        self.assertIn("strict", chosen["why"][0])
        ran = json.loads(
            self.run_tool(
                "gemm", "A.npy", "B.npy", "--output", "C.npy", "--precision", "strict", "--json", *CPU
            ).stdout
        )
        self.assertEqual((ran["policy"], ran["precision"]), (chosen["kernel"], "strict"))

    def test_what_was_refused(self):
        self.matrices(900, 700, 1200)
        chosen = self.explain()
        considered = chosen["considered"]
        self.assertEqual(considered[0]["kernel"], chosen["kernel"])
        self.assertEqual(considered, sorted(considered, key=lambda c: c["predicted_us"]))
        chosen = self.explain("--shared-limit", "48")
        self.assertEqual(
            [one.split(": ")[0] for one in chosen["refused"]], [c["kernel"] for c in chosen["considered"]]
        )
        self.assertIn("shared memory", chosen["refused"][0])
        self.assertEqual(self.explain("--shared-limit", "99", "--policy", "fp16-mma")["kernel"], "fp16-mma")
        text = self.run_tool(
            "gemm", "A.npy", "B.npy", "--explain", "--shared-limit", "48", *CPU
        ).stdout.decode()
        self.assertIn(f"refused: {chosen['refused'][0]}", text)
        self.refused(
            4,
            ["policy fp16", "shared memory"],
            "gemm",
            "A.npy",
            "B.npy",
            "--explain",
            "--policy",
            "fp16",
            "--shared-limit",
            "48",
            *CPU,
        )

    def test_text(self):
        self.matrices(20, 30, 40)
        lines = (
            self.run_tool("gemm", "A.npy", "B.npy", "--explain", "--policy", "async-3", *CPU)
            .stdout.decode()
            .splitlines()
        )
        self.assertRegex(lines[0], r"^20 x 30 with K = 40 on CPU executor")
        self.assertRegex(
            lines[1], r"^  async-3: tiles of 32 x 32 x 32, 3 stages, 1 block, 0 bytes of workspace$"
        )
        self.assertRegex(lines.pop(3), r"^  predicted: about [0-9.e+]+ us on a GPU of this size")
        self.assertEqual(
            lines[2:],
            [
                "  bound: |C - AB| <= 40 u |A||B| + 40 x 2^-150, u = 2^-24; precision fp32 stands for 80.67797 u |A||B| + 2^-150",
                "  tuning: none for CPU executor, so predictions are taken as they are",
                "  why: policy async-3 was asked for",
                "  why: kernel gemm.async-3",
            ],
        )
        lines = (
            self.run_tool(
                "gemm", "A.npy", "B.npy", "--explain", "--policy", "async-3", "--precision", "strict", *CPU
            )
            .stdout.decode()
            .splitlines()
        )
        self.assertEqual(lines[2], "  bound: |C - AB| <= 40 u |A||B| + 40 x 2^-150, u = 2^-24")

    def test_wrong_options(self):
        self.matrices(4, 4, 4)
        both = ("gemm", "A.npy", "B.npy")
        self.refused(
            2, ["--explain", "--output", "one of the two"], *both, "--explain", "--output", "C.npy", *CPU
        )
        self.refused(
            2,
            ["--precision 'double'", "fp32 or strict"],
            *both,
            "--output",
            "C.npy",
            "--precision",
            "double",
            *CPU,
        )
        self.refused(
            2, ["--precision 'double'", "fp32 or strict"], *both, "--explain", "--precision", "double", *CPU
        )
        for policy in ("fp16", "fp16-mma"):
            self.refused(
                2,
                [f"--policy {policy} ", "--precision strict"],
                *both,
                "--explain",
                "--precision",
                "strict",
                "--policy",
                policy,
                *CPU,
            )
        self.refused(
            2,
            ["(4, 4)", "(3, 5)"],
            "gemm",
            "A.npy",
            self.write("D.npy", [1.0] * 15, (3, 5)),
            "--explain",
            *CPU,
        )


if __name__ == "__main__":
    main()
