#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The provenance in `antiphase ladder --json` and `antiphase bench --json`. Times need a GPU; this tests
everything else."""
import datetime
import json
import os
import subprocess
import unittest

TOOL = os.environ["ANTIPHASE_TOOL"]
TABLE = os.environ["ANTIPHASE_KERNEL_TABLE"]  # of the build's kernels; empty in a build without any


def run(*arguments, on="cpu"):
    return subprocess.run([TOOL, *arguments, "--on", on, "--quiet"], capture_output=True, text=True)


class ResultFile(unittest.TestCase):
    def ladder(self, *arguments):
        return self.result("ladder", *arguments)

    def result(self, *arguments):
        done = run(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def expect_origin(self, result):
        self.assertEqual(result["schema"], 2)
        self.assertEqual(result["machine"], {"name": result["place"]["name"]})
        self.assertRegex(result["commit"], "^([0-9a-f]{12}(-dirty)?)?$")
        age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(
            result["date"].replace("Z", "+00:00")
        )
        self.assertLess(abs(age.total_seconds()), 60)
        for record in result["records"]:
            self.assertEqual(record["code"], [])  # no compiled kernel
            self.assertNotIn("time_us", record)  # meaningless for a simulated GPU
            self.assertIs(record["verified"], True)
            self.assertEqual(record["error"]["unit"], "relative Frobenius")

    def test_of_products(self):
        result = self.ladder("gemm", "--m", "33", "--n", "40", "--k", "50", "--policy", "tiled,async-3")
        self.expect_origin(result)
        self.assertEqual(
            [record["kernel"] for record in result["records"]], ["gemm.ladder.tiled", "gemm.ladder.async-3"]
        )
        for record in result["records"]:
            self.assertEqual(record["shape"], {"m": 33, "n": 40, "k": 50})
            self.assertEqual((record["type"], record["layout"]), ("f32", "nn"))

    def test_of_scans(self):
        result = self.ladder("scan", "--size", "5000", "--policy", "double-buffer,items", "--type", "f8")
        self.expect_origin(result)
        self.assertEqual(
            [record["kernel"] for record in result["records"]],
            ["scan.ladder.double-buffer", "scan.ladder.items"],
        )
        for record in result["records"]:
            self.assertEqual((record["shape"], record["type"]), ({"n": 5000}, "f64"))

    def test_of_the_public_product(self):
        result = self.result("bench", "gemm", "--m", "33", "--n", "40", "--k", "50")
        self.expect_origin(result)
        self.assertEqual([record["kernel"] for record in result["records"]], ["gemm.fp32", "gemm.strict"])

    def test_code_on_a_GPU(self):
        """Every record has a fingerprint from the build, a different one for each policy."""
        if run("bench", "scan", "--size", "10", on="cuda").returncode == 4:
            self.skipTest("no GPU to test on")
        if not TABLE:
            self.skipTest("this build has no table of its kernels")
        with open(TABLE) as file:
            table = json.load(file)
        for arguments in (
            ("ladder", "gemm", "--size", "256"),
            ("ladder", "scan", "--size", "100000"),
            ("bench", "gemm", "--size", "8,256"),
            ("bench", "scan", "--size", "1000,100000", "--type", "f4,i1"),
            ("bench", "scan", "--size", "100000", "--by-key", "7"),
            ("bench", "scan", "--own", "16", "--size", "100000"),
            ("bench", "scan", "--rows", "10", "--size", "100000"),
        ):
            done = run(*arguments, "--json", on="cuda")
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(done.stdout)
            self.assertEqual(result["machine"]["cuda"]["built_with"], table["compiler"])
            for record in result["records"]:
                if "refused" in record:
                    continue
                self.assertTrue(record["code"], (record["kernel"], record["policy"]))
                self.assertEqual(record["code"], sorted(set(record["code"])))
                for code in record["code"]:
                    architecture, fingerprint = code.split(":")
                    self.assertIn(fingerprint, table["kernels"][architecture])
            if arguments[0] == "ladder":
                codes = [tuple(record["code"]) for record in result["records"] if "refused" not in record]
                self.assertEqual(len(set(codes)), len(codes))

    def test_an_unknown_protocol_is_refused(self):
        for family in ("gemm", "scan"):
            done = run("ladder", family, "--size", "10", "--protocol", "warm")
            self.assertEqual(done.returncode, 2)
            self.assertIn("expected rested or hot", done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
