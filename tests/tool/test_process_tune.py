# SPDX-License-Identifier: Apache-2.0
"""antiphase tune, and the file named by ANTIPHASE_TUNING, as processes. Measuring needs a GPU; this tests
everything else."""
import json
import os

from process import ToolTest, gpu_is_usable, main, pattern

CPU = ("--on", "cpu")
CLASSES = {"shorter": [2, 4, 8, 32, 128, 512], "longer": [64, 512, 2048], "k": [4, 16, 64, 256, 1024, 4096]}


class Tune(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("A.npy", pattern(64 * 300), (64, 300))
        self.write("B.npy", pattern(300 * 40), (300, 40))

    def tuning(self, slowed="fp64", **members):
        """Writes a tuning for the CPU executor by which that policy takes 900 times as long as predicted.
        Returns an environment that names the file."""
        info = json.loads(self.run_tool("info", "--json").stdout)
        device = next(d for d in info["devices"] if d["on"] == "cpu")
        extents = [len(ends) + 1 for ends in CLASSES.values()]
        factors = {
            policy: [[[[factor] * 3] * extents[2]] * extents[1]] * extents[0]
            for policy, factor in (("fp16", 1), (slowed, 900))
        }
        content = {
            "schema": 1,
            "tuning": "gemm",
            "version": info["version"],
            "made": "today",
            "classes": CLASSES,
            "factors": factors,
            "device": {key: device[key] for key in ("name", "compute_capability", "multiprocessors")},
        }
        (self.folder / "t.json").write_text(json.dumps(content | members))
        return {**os.environ, "ANTIPHASE_TUNING": "t.json"}

    def explained(self, *more, **options):
        return json.loads(
            self.run_tool("gemm", "A.npy", "B.npy", "--explain", "--json", *CPU, *more, **options).stdout
        )

    def test_without_a_GPU_nothing_is_written(self):
        self.refused(
            4, ["tune measures a GPU", "CPU executor", "expected a usable GPU"], "tune", "-o", "t.json", *CPU
        )
        if not gpu_is_usable():
            self.refused(
                4,
                ["tune measures a GPU", "expected a usable GPU"],
                "tune",
                "--output",
                "t.json",
                "--seconds",
                "1",
            )
        self.refused(2, ["--output is required"], "tune", *CPU)
        self.refused(2, ["--seconds", "from 1", "'0'"], "tune", "-o", "t.json", "--seconds", "0", *CPU)
        self.refused(2, ["--out", "--output"], "tune", "--out", "t.json", *CPU)

    def test_the_file_decides_what_runs(self):
        plain = self.explained()
        first = plain["kernel"]
        self.assertEqual({c["factor"] for c in plain["considered"]}, {1})
        self.assertIn("none for CPU executor", plain["tuning"])
        environment = self.tuning(first)
        tuned = self.explained(env=environment)
        self.assertNotEqual(tuned["kernel"], first)
        self.assertIn("'t.json', for CPU executor", tuned["tuning"])
        self.assertEqual({c["kernel"]: c["factor"] for c in tuned["considered"]}[first], 900)
        predictions = {c["kernel"]: c["predicted_us"] for c in plain["considered"]}
        for c in tuned["considered"]:
            self.assertAlmostEqual(c["predicted_us"], c["factor"] * predictions[c["kernel"]])
        self.assertEqual(self.explained(env=environment), tuned)
        self.assertEqual(self.explained("--policy", first, env=environment)["kernel"], first)
        text = self.run_tool("gemm", "A.npy", "B.npy", "--explain", *CPU, env=environment).stdout.decode()
        self.assertRegex(text, r"\n  tuning: 't.json', for CPU executor \(.*\)\n")
        done = self.run_tool("gemm", "A.npy", "B.npy", "-o", "C.npy", *CPU, env=environment)
        self.assertIn(f"policy {tuned['kernel']}", done.message)
        self.run_tool("gemm", "A.npy", "B.npy", "-o", "D.npy", "--policy", tuned["kernel"], *CPU)
        self.assertEqual(self.read("C.npy"), self.read("D.npy"))

    def test_info_tells_which_is_in_use(self):
        def of_cpu(environment):
            info = json.loads(self.run_tool("info", "--json", env=environment).stdout)
            return next(d for d in info["devices"] if d["on"] == "cpu")["gemm_tuning"]

        environment = self.tuning()
        self.assertIn("'t.json', for CPU executor", of_cpu(environment))
        self.assertIn("gemm's tuning: 't.json'", self.run_tool("info", env=environment).stdout.decode())
        self.assertIn("none for CPU executor", of_cpu({**os.environ, "ANTIPHASE_TUNING": ""}))
        self.assertIn(
            "'nowhere.json': it cannot be read", of_cpu({**os.environ, "ANTIPHASE_TUNING": "nowhere.json"})
        )

    def test_one_of_another_device_or_version_is_left_aside(self):
        for members, why in (
            (
                {"device": {"name": "Some GPU", "compute_capability": "8.0", "multiprocessors": 7}},
                "it is for Some GPU (8.0, 7 multiprocessors)",
            ),
            ({"version": "0.0.1"}, "it was made with version 0.0.1"),
        ):
            told = self.explained(env=self.tuning(**members))
            self.assertEqual({c["factor"] for c in told["considered"]}, {1})
            self.assertIn(f"'t.json' is left aside: {why}", told["tuning"])

    def test_a_broken_file_is_refused(self):
        gemm = ("gemm", "A.npy", "B.npy", "-o", "C.npy", *CPU)
        for members, words in (
            ({"factors": 3}, ["'factors' is 3"]),
            ({"tuning": "scan"}, ["'tuning' is \"scan\""]),
            ({"classes": {}}, ["'shorter' is missing"]),
        ):
            self.refused(
                2, ["ANTIPHASE_TUNING", "'t.json'", "expected", *words], *gemm, env=self.tuning(**members)
            )
        (self.folder / "t.json").write_text("{")
        environment = {**os.environ, "ANTIPHASE_TUNING": "t.json"}
        self.refused(2, ["ANTIPHASE_TUNING", "'t.json'", "not a JSON object"], *gemm, env=environment)
        self.refused(
            2,
            ["ANTIPHASE_TUNING", "'A.npy'", "not a JSON object"],
            *gemm,
            env={**os.environ, "ANTIPHASE_TUNING": "A.npy"},
        )
        self.refused(
            2,
            ["ANTIPHASE_TUNING", "'.'", "cannot be read"],
            *gemm,
            env={**os.environ, "ANTIPHASE_TUNING": "."},
        )
        self.refused(
            2,
            ["ANTIPHASE_TUNING", "longer than 1 MiB"],
            *gemm,
            env={**os.environ, "ANTIPHASE_TUNING": "/dev/zero"},
        )

    def test_Cuda_tune(self):
        if not gpu_is_usable():
            self.skipTest("no usable GPU")
        result = json.loads(self.run_tool("tune", "-o", "t.json", "--seconds", "2", "--json", "-q").stdout)
        self.assertGreater(len(result["records"]), 10)
        for record in result["records"]:
            for time in record["times"]:
                self.assertGreater(time["measured_us"], 0)
                self.assertLessEqual(time["predicted_us"], 4.0001 * record["times"][0]["predicted_us"])
        made = json.loads((self.folder / "t.json").read_text())
        self.assertEqual(set(made["factors"]), {p["policy"] for p in result["policies"]})
        told = json.loads(
            self.run_tool(
                "gemm",
                "A.npy",
                "B.npy",
                "--explain",
                "--json",
                env={**os.environ, "ANTIPHASE_TUNING": "t.json"},
            ).stdout
        )
        self.assertIn(f"'t.json', for {made['device']['name']}", told["tuning"])


if __name__ == "__main__":
    main()
