# SPDX-License-Identifier: Apache-2.0
"""antiphase advise and antiphase model as processes."""
import json
import pathlib

from process import ToolTest, main, results

ROOT = pathlib.Path(__file__).resolve().parents[2]
H200 = ("--device", "H200")


class Advise(ToolTest):
    def test_a_product(self):
        asked = ("advise", "gemm", "--m", "4096", "--n", "4096", "--k", "4096", *H200)
        text = self.run_tool(*asked).stdout.decode()
        pick = json.loads(self.run_tool(*asked, "--json").stdout)["pick"]["policy"]
        for said in (
            "product of 4096 x 4096 x 4096, on NVIDIA H200",
            f"policy {pick}",
            "what limits it",
            "what would change the answer",
            "stages of",
        ):
            self.assertIn(said, text)
        # between two lists, each sorted from the fastest on
        self.assertRegex(text, r"\n---  +steps of the ladder, by name:\n")
        answer = json.loads(
            self.run_tool(
                "advise", "gemm", "--m", "64", "--n", "64", "--k", "64", "--json", "--device", "rtx 4090"
            ).stdout.decode()
        )
        self.assertEqual(answer["device"], "NVIDIA RTX 4090")
        self.assertEqual(answer["pick"]["policy"], answer["predicted"][0]["policy"])

    def test_a_scan_and_a_kernel(self):
        self.assertIn("one-wave", self.run_tool("advise", "scan", "--size", "65536", *H200).stdout.decode())
        kernel = ("advise", "--kernel", "smem=64KiB,regs=128,load=2000clk,compute=1000clk,threads=512")
        self.assertIn("3 buffers", self.run_tool(*kernel, *H200).stdout.decode())
        self.assertEqual(
            json.loads(self.run_tool(*kernel, *H200, "--json").stdout)["pipelined"]["stages"][3]["fits"],
            False,
        )
        text = self.run_tool(*kernel, *H200).stdout.decode()
        self.assertRegex(text, r"\n2 +\+20\.0 % ")  # two tiles: half of the saving
        self.assertIn("3 slots fit into shared memory", text)
        product = self.run_tool("advise", "gemm", "--m", "64", "--n", "64", "--k", "64", *H200)
        self.assertRegex(product.stdout.decode(), r"\n8 x 8 +15\.9 +2\.0 +1\.0 ")
        scan = json.loads(self.run_tool("advise", "scan", "--size", 1 << 28, "--json", *H200).stdout)
        shares = [s["share_of_bandwidth"] for s in scan["pipelined"]["stages"]]
        self.assertEqual(shares, sorted(shares))
        for more, said in (("", "S - 1 loads"), (",form=roles", "S loads"), (",copy=bulk", "S loads")):
            self.assertIn(
                said, " ".join(self.run_tool(*kernel[:2], kernel[2] + more, *H200).stdout.decode().split())
            )

    def test_a_profile_of_a_file(self):
        profile = json.loads((ROOT / "core/executor/profiles/a100.json").read_text())
        profile["name"] = "Mine"
        (self.folder / "mine.json").write_text(json.dumps(profile))
        self.assertIn(
            "on Mine",
            self.run_tool("advise", "scan", "--size", "1000", "--device", "mine.json").stdout.decode(),
        )
        (self.folder / "bad.json").write_text("{}")
        self.refused(
            2,
            ["'bad.json'", "expected a file that 'antiphase info --measure' wrote"],
            "advise",
            "scan",
            "--size",
            "1",
            "--device",
            "bad.json",
        )

    def test_what_makes_no_sense(self):
        self.refused(
            2, ["advise", "expected gemm, scan, a program (.cu), --from FILE, or --kernel"], "advise"
        )
        self.refused(2, ["--m", "from 1"], "advise", "gemm", "--m", "0", "--n", "1", "--k", "1")
        self.refused(2, ["--k is required"], "advise", "gemm", "--m", "1", "--n", "1")
        self.refused(
            2, ["no machine profile 'B17'", "NVIDIA H200"], "advise", "scan", "--size", "1", "--device", "B17"
        )
        self.refused(
            2, ["smem is 'big'", "a size such as"], "advise", "--kernel", "smem=big,compute=1", *H200
        )
        self.refused(2, ["size is 3"], "advise", "scan", "--size", "1", "--bytes", "3", *H200)


class Measure(ToolTest):
    def test_without_a_GPU_nothing_is_written(self):
        said = "info --measure measures a GPU"
        self.refused(
            4, [said, "expected a usable GPU"], "info", "--measure", "--output", "p.json", "--on", "cpu"
        )
        self.assertFalse((self.folder / "p.json").exists())
        self.refused(2, ["--output is for --measure"], "info", "--output", "p.json")
        self.refused(2, ["--on is for --measure"], "info", "--on", "cpu")
        self.refused(2, ["--for and --measure"], "info", "--measure", "--for", "8.0")


class Model(ToolTest):
    def test_errors_of_result_files(self):
        file = next(results().glob("*-gemm-2048x2048x2048-rested.json"))
        said = json.loads(self.run_tool("model", str(file), "--json", "--all").stdout.decode())
        ladder = next(k for k in said["kernels"] if k["kernels"] == "gemm ladder")
        self.assertEqual((ladder["times"], ladder["fitted"], ladder["shapes"]), (13, 0, 1))
        self.assertLess(ladder["unseen_median"], 0.06)
        self.assertGreater(ladder["rank"], 0.9)
        self.assertEqual(len(said["times"]), 19)
        self.assertIn("gemm ladder", self.run_tool("model", str(file)).stdout.decode())

    def choices(self, *records, machine="NVIDIA H200", others=False):
        """(number of the record, way, then, now) of products that were measured on a machine."""
        file = {"command": "bench gemm", "machine": {"name": machine}, "records": records}
        (self.folder / "r.json").write_text(json.dumps(file))
        every = () if others else ("--all",)
        said = json.loads(self.run_tool("model", "--choices", "r.json", "--json", *every).stdout)
        return [(c["record"], c["way"], c["then"], c["now"]) for c in said["choices"]]

    def test_what_auto_takes_today(self):
        def product(m, n, k, policy="fp16", precision="fp32", **members):
            shape = {"m": m, "n": n, "k": k}
            return {"kernel": f"gemm.{precision}", "policy": policy, "shape": shape, **members}

        large, wide, cube = (4096, 4096, 4096), (10051, 10984, 42), (512, 512, 512)
        records = [
            product(*large),
            {"kernel": "gemm.ladder.tiled", "policy": "tiled", "shape": {"m": 1, "n": 1, "k": 1}},
            product(*large, "strict", "strict"),
            *(product(*wide, "fp16", beta=beta) for beta in (0, 1)),
            product(*cube, "fp64-short", count=64),  # which is for a K of up to 4
            product(512, 4096, 4096, batch_invariant={"policy": "fp16"}),
        ]
        of_all = self.choices(*records)
        self.assertEqual(
            [choice[:3] for choice in of_all],
            [
                (0, "policy", "fp16"),
                (2, "policy", "strict"),
                (3, "policy", "fp16"),
                (4, "policy", "fp16"),
                (5, "policy", "fp64-short"),
                (6, "policy", "fp16"),
                (6, "batch_invariant", "fp16"),
            ],
        )
        today = {choice[:2]: choice[3] for choice in of_all}
        self.assertEqual((today[2, "policy"], today[6, "batch_invariant"]), ("strict", "tf32"))
        for record, shape in ((0, large), (3, wide)):
            extents = (word for name, extent in zip("mnk", shape) for word in ("--" + name, str(extent)))
            advice = json.loads(self.run_tool("advise", "gemm", *extents, "--json", *H200).stdout)
            self.assertEqual(today[record, "policy"], advice["pick"]["policy"])
        others = [choice for choice in of_all if choice[2] != choice[3]]
        self.assertEqual(self.choices(*records, others=True), others)
        self.assertIn(
            f"another policy today for {len(others)} of 7 choices",
            self.run_tool("model", "--choices", "r.json").stdout.decode(),
        )
        self.assertEqual(self.choices(*records, machine="Some GPU"), [])
        self.refused(2, ["the device that each file names"], "model", "--choices", "r.json", *H200)
        (self.folder / "bad.json").write_text('{"command": "bench gemm", "records": []}')
        self.refused(
            3, ["'bad.json'", "not as docs/project/measuring.md says"], "model", "--choices", "bad.json"
        )

    def test_what_is_no_result_file(self):
        (self.folder / "a.json").write_text("[]")
        self.refused(
            3, ["'a.json' is no result file", "expected JSON of bench, ladder or tune"], "model", "a.json"
        )
        self.refused(3, ["'b.json': cannot be read: No such file"], "model", "b.json")
        (self.folder / "c.json").write_text('{"command": "bench gemm", "records": []}')
        self.refused(3, ["no record"], "model", "c.json")


if __name__ == "__main__":
    main()
