# SPDX-License-Identifier: Apache-2.0
"""antiphase count as a process: kernels with known counts, its table, and what it refuses."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TOOL = sys.argv.pop(1)
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
EXPECTED = re.compile(
    r"(shared|global|constant) (read|write|atomic|async copy) (\d+) x (\d+)(?:: (\d+) of (\d+))?"
)


def expectations(source):
    """What the comments of a source say: by line, memory and access: requests, lanes, units and ideal."""
    told = {}
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if "//" not in line or line.lstrip().startswith("//"):
            continue
        for memory, access, *numbers in EXPECTED.findall(line[line.index("//") :]):
            told[number, memory, access] = tuple(int(n or 0) for n in numbers)
    return told


class Counts(unittest.TestCase):
    maxDiff = None

    def count(self, *arguments, **others):
        return subprocess.run(
            [TOOL, "count", *map(str, arguments)], capture_output=True, text=True, timeout=120, **others
        )

    def lines(self, *arguments):
        done = self.count(*arguments, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line for k in json.loads(done.stdout)["kernels"] for line in k["lines"]]

    def test_known_counts(self):
        for name in ("kernels.cu", "more.cu"):
            source = HERE / name
            found = {
                (c["line"], c["memory"], c["access"]): (
                    c["requests"],
                    c["lanes"],
                    c["wavefronts"] if c["memory"] == "shared" else c["sectors"],
                    c["ideal"],
                )
                for c in self.lines(source)
            }
            told = expectations(source)
            self.assertGreater(len(told), 5)
            self.assertEqual(found, told)

    def test_bytes_and_source(self):
        read = next(
            c
            for c in self.lines(HERE / "kernels.cu")
            if c["source"].startswith("float4 v") and c["access"] == "read"
        )
        self.assertEqual(read["bytes"], 512)

    def test_table(self):
        done = self.count("kernels.cu", cwd=HERE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        table = done.stdout.split("kernel transpose, kernels.cu\n")[1].split("\n\n")[0]
        self.assertRegex(
            table, r"(?m)^ *\d+ +shared read +32 +32 +32 wavefronts +1 +4096 +y\[32 \* r \+ c\] = tile"
        )
        self.assertIn("global memory: 8192 bytes asked for, 8192 in sectors (1.00 times as many)", table)
        self.assertIn("shared memory: 8192 bytes asked for, 1056 wavefronts (16.50 times the ideal)", table)

    def test_kernels_of_the_library(self):
        """No warp of the textbook's product reads a column of a tile; where one is written, padding helps."""
        for name, conflicts in (("tiled", True), ("padded", False)):
            shared = [c for c in self.lines(f"gemm/{name}") if c["memory"] == "shared"]
            for access, has in (("read", False), ("write", conflicts)):
                units, ideal = (
                    sum(c[n] for c in shared if c["access"] == access) for n in ("wavefronts", "ideal")
                )
                self.assertGreater(ideal, 0)
                self.assertEqual(units > ideal, has, (name, access))

    def test_the_picture_of_the_docs(self):
        done = self.count("examples/plain_cuda/transpose.cu", "--output", "-", "--quiet", cwd=ROOT)
        self.assertEqual(done.stdout, (ROOT / "docs/pictures/counts.svg").read_text())
        bars = [
            r.attrib for r in xml.etree.ElementTree.fromstring(done.stdout).iter() if r.get("class") == "more"
        ]
        wide = [float(b["width"]) for b in bars[1:]]  # after the legend's
        self.assertEqual([w > 0 for w in wide], [False, True] + 2 * [False] + [True] + 5 * [False])
        self.assertAlmostEqual(wide[4] / wide[1], 31 / 28, places=2)  # wavefronts, sectors beyond the ideal

    def test_faults_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "my.cu"
            source.write_text(
                "__global__ void k(int* x) { x[threadIdx.x + 1] = 1; }\n"
                "int main() { int* x; cudaMalloc(&x, 128); k<<<1, 32>>>(x); cudaDeviceSynchronize(); cudaFree(x); }\n"
            )
            done = self.count(source)
            self.assertEqual(done.returncode, 0)
            self.assertIn("the run has faults, so the counts may be wrong", done.stderr)

    def test_the_output_is_the_tool_s_and_may_stand_beside_json(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder) / "x.svg"
            source = ROOT / "examples/plain_cuda/transpose.cu"
            done = self.count("-arch=sm_90", source, "-o", picture, "--json")
            self.assertEqual((done.returncode, "nothing is written" in done.stderr), (0, False), done.stderr)
            self.assertEqual(picture.read_text(), (ROOT / "docs/pictures/counts.svg").read_text())
            self.assertTrue(json.loads(done.stdout)["kernels"])
            self.assertEqual(self.count(source, "-o", "-", "--json").returncode, 2)

    def ladder(self, *arguments):
        done = subprocess.run(
            [TOOL, "ladder", *arguments, "--counts", "--on", "cpu", "--quiet"], capture_output=True, text=True
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_steps_of_ladders(self):
        def asked(*arguments):
            [record] = json.loads(self.ladder(*arguments, "--json"))["records"]
            return record["asked"]

        # Tiles of 32 x 32: four of C, each of two steps along K that load a tile of A and one of B.
        tiled = asked("gemm", "--size", "64", "--policy", "tiled")
        self.assertEqual(tiled["global"]["bytes"], 4 * (4 * 2 * 2 * 1024 + 64 * 64))
        self.assertEqual(tiled["global"]["sectors"] * 32, tiled["global"]["bytes"])
        self.assertEqual(tiled["shared"]["bytes"], 4 * 4 * 2 * (2 * 1024 + 2 * 32 * 1024))
        self.assertEqual(tiled["lanes"], 32 * tiled["requests"])
        self.assertEqual(tiled["operations_per_byte"], 2 * 64**3 / tiled["global"]["bytes"])
        # Sixteen bytes in one access are one request: of C, of 64 KiB in four parts, and of a step's tiles.
        for step in ("strict", "tensor-core-2"):
            packed = asked("gemm", "--size", "64", "--policy", step)["global"]
            self.assertEqual(packed["sectors"] * 32, packed["bytes"], step)
        # Each number in by the copy engine, and out.
        ring = asked("scan", "--size", "12288", "--policy", "single-pass-2")
        self.assertEqual((ring["copied_bytes"], ring["operations"]), (8 * 12288, 12288))
        # A part of a larger problem is counted, and one of all heads.
        naive = asked("attention", "--heads", "3", "--size", "130", "--depth", "16", "--policy", "naive")
        self.assertEqual(naive["operations"], 4 * 128 * 128 * 16)
        self.assertEqual(naive["shared"]["requests"], 0)
        self.assertGreater(naive["global"]["sectors"], 2 * naive["global"]["ideal"])

        table = self.ladder("gemm", "--size", "64", "--policy", "tiled,tensor-core-2")
        self.assertTrue(all(len(line) <= 80 for line in table.splitlines()), table)
        self.assertIn("lanes  wavefronts  ideal  sectors  ideal", table)
        self.assertRegex(table, "ops a byte\ntensor-core-2 .* 16\n")

    def test_refusals(self):
        for arguments, code, text in (
            (("no.cu",), 3, "no file"),
            (("gemm/none",), 2, "there is no kernel"),
            ((), 2, "kernel"),
        ):
            done = self.count(*arguments)
            self.assertEqual(done.returncode, code, arguments)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
