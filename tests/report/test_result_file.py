#!/usr/bin/env python3
"""What `antiphase ladder --json` and `antiphase bench --json` say about where a figure comes from. Times need a GPU; here is everything else."""
import datetime
import json
import os
import pathlib
import subprocess
import sys
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop())
TOOL = os.environ["ANTIPHASE_TOOL"]


def run(*arguments):
    return subprocess.run([TOOL, *arguments, "--on", "cpu", "--quiet"], capture_output=True, text=True)


class ResultFile(unittest.TestCase):
    def ladder(self, *arguments):
        return self.result("ladder", *arguments)

    def result(self, *arguments):
        done = run(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def expect_origin(self, result, family):
        self.assertEqual(result["schema"], 1)
        self.assertEqual(result["machine"], {"name": result["place"]["name"]})
        self.assertRegex(result["commit"], "^([0-9a-f]{12}(-dirty)?)?$")
        age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(result["date"].replace("Z", "+00:00"))
        self.assertLess(abs(age.total_seconds()), 60)
        lines = subprocess.run([sys.executable, SCRIPTS / "fingerprint.py"], capture_output=True, text=True, check=True).stdout
        code = dict(line.split() for line in lines.splitlines())[family]
        for record in result["records"]:
            self.assertEqual(record["code"], code, "the tool was built from other sources than those here")
            self.assertNotIn("time_us", record)  # of a simulated GPU it would mean nothing
            self.assertIs(record["verified"], True)
            self.assertEqual(record["error"]["unit"], "relative Frobenius")

    def test_of_products(self):
        result = self.ladder("gemm", "--m", "33", "--n", "40", "--k", "50", "--policy", "tiled,async-3")
        self.expect_origin(result, "gemm")
        self.assertEqual([record["kernel"] for record in result["records"]], ["gemm.ladder.tiled", "gemm.ladder.async-3"])
        for record in result["records"]:
            self.assertEqual(record["shape"], {"m": 33, "n": 40, "k": 50})
            self.assertEqual((record["type"], record["layout"]), ("f32", "nn"))

    def test_of_scans(self):
        result = self.ladder("scan", "--size", "5000", "--policy", "double-buffer,items", "--type", "f8")
        self.expect_origin(result, "scan")
        self.assertEqual([record["kernel"] for record in result["records"]], ["scan.ladder.double-buffer", "scan.ladder.items"])
        for record in result["records"]:
            self.assertEqual((record["shape"], record["type"]), ({"n": 5000}, "f64"))

    def test_of_the_public_product(self):
        result = self.result("bench", "gemm", "--m", "33", "--n", "40", "--k", "50")
        self.expect_origin(result, "gemm")
        self.assertEqual([record["kernel"] for record in result["records"]], ["gemm.fp32", "gemm.strict"])

    def test_an_unknown_protocol_is_refused(self):
        for family in ("gemm", "scan"):
            done = run("ladder", family, "--size", "10", "--protocol", "warm")
            self.assertEqual(done.returncode, 2)
            self.assertIn("expected rested or hot", done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
