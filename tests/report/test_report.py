#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.py on made-up results: tables, figures that count, marks, and findings of --check."""
import contextlib
import copy
import io
import json
import math
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

sys.path.insert(0, f"{sys.argv.pop()}/figures")
import idea_plots  # noqa: E402
import report  # noqa: E402

README = "# A project\n\nBefore.\n\n<!-- ladder:begin -->\n<!-- ladder:end -->\n\nAfter.\n"
MACHINE = {"name": "Some GPU", "driver": "1.2", "cuda": {"built_with": "13.0"}}
CUBE = (4096, 4096, 4096)
OTHER_CODE = ["sm_90a:0123456789abcdef"]


class ReportTest(unittest.TestCase):
    """A project with only the files that report.py reads."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("README.md", README)
        (self.root / "bench/results").mkdir(parents=True)
        self.code = {
            "gemm": ["sm_90a:1111", "sm_90a:2222"],
            "scan": ["sm_90a:3333"],
            "scan.own": ["sm_90a:4444"],
        }
        self.build("1111", "2222", "3333", "4444")

    def build(self, *codes, compiler="13.0", architecture="sm_90a"):
        """A build whose kernels have these fingerprints."""
        kernels = {"compute_80": ["0123456789abcdef"], architecture: codes}
        self.write("build/tool/kernels.json", json.dumps({"compiler": compiler, "kernels": kernels}))

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name):
        return (self.root / name).read_text()

    def gemm(self, step, tflops, shape=CUBE, cublas=50.0, **members):
        m, n, k = shape
        return {
            "kernel": f"gemm.ladder.{step}",
            "policy": step,
            "adds": f"what {step} adds",
            "shape": {"m": m, "n": n, "k": k},
            "type": "f32",
            "layout": "nn",
            "protocol": "rested",
            "verified": True,
            "code": self.code["gemm"],
            "time_us": {"ours": 2e-6 * m * n * k / tflops, "cublas_fp32": 2e-6 * m * n * k / cublas},
            **members,
        }

    def product(
        self,
        precision,
        tflops,
        size,
        cublas=50.0,
        data="normal",
        layout="nn",
        protocol="rested",
        norm=2e-7,
        recomputed=0.0,
        **members,
    ):
        """A record of bench gemm; `size` is a number or a shape."""
        m, n, k = (size,) * 3 if isinstance(size, int) else size
        ours, theirs = (2e-6 * m * n * k / rate for rate in (tflops, cublas))
        return {
            "kernel": f"gemm.{precision}",
            "policy": "fp16",
            "shape": {"m": m, "n": n, "k": k},
            "type": "f32",
            "layout": layout,
            "data": data,
            "protocol": protocol,
            "verified": True,
            "code": self.code["gemm"],
            "time_us": {"ours": ours, "cublas_fp32": theirs},
            "roof": {"tflops": 273, "share": tflops / 273},
            "error": {"ours": norm, "cublas_fp32": 4 * norm, "unit": "relative Frobenius"},
            "component": {"ours": 0.46, "cublas_fp32": 3.3, "allowed": 80 + k / 59, "unit": "2^-24 |A||B|"},
            "bias": {"ours": -0.01, "cublas_fp32": 0.002},
            "recomputed": {"outputs": 1, "share": recomputed},
            **members,
        }

    def scan(self, step, rate, n, **members):
        return {
            "kernel": f"scan.ladder.{step}",
            "policy": step,
            "adds": "",
            "shape": {"n": n},
            "type": "f32",
            "protocol": "rested",
            "verified": True,
            "code": self.code["scan"],
            "time_us": {"ours": 8e-3 * n / rate, "cub": 8e-3 * n / 3000, "memcpy": 8e-3 * n / 4000},
            **members,
        }

    def sums(self, of_type, size, n, us, cub=None, memcpy=None, protocol="rested", **members):
        """A record of bench scan; `size` is of an element."""
        times = {"ours": us, "cub": cub, "memcpy": memcpy}
        return {
            "kernel": "scan.sum",
            "policy": "single-pass",
            "shape": {"n": n},
            "type": of_type,
            "protocol": protocol,
            "verified": True,
            "code": self.code["scan"],
            "time_us": {who: time for who, time in times.items() if time},
            "gb_per_s": 2e-3 * n * size / us,
            **members,
        }

    def result(self, name, records, **members):
        file = {
            "schema": 2,
            "machine": MACHINE,
            "date": "2026-01-02T03:04:05Z",
            "commit": "abc",
            "records": records,
            **members,
        }
        self.write(f"bench/results/{name}.json", json.dumps(file))

    def tool(self, *choices):
        """A program antiphase by which auto takes these: file, number of the record, way, policy."""
        said = [
            {"file": f"some/{file}.json", "record": record, "way": way, "then": "?", "now": now}
            for file, record, way, now in choices
        ]
        self.write("build/antiphase", f"#!/bin/sh\ncat <<'END'\n{json.dumps({'choices': said})}\nEND\n")
        (self.root / "build/antiphase").chmod(0o755)

    def run_report(self, *arguments, code=0):
        """Runs in this process: starting one for each of these runs takes four times as long as all of them."""
        said, complained = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(
            complained
        ), unittest.mock.patch.object(
            sys, "argv", ["report.py", "--root", str(self.root), *map(str, arguments)]
        ):
            status = report.main()
        self.assertEqual(status, code, said.getvalue() + complained.getvalue())
        self.verdict, self.choices = (
            "".join(line for line in said.getvalue().splitlines() if line.startswith(of))
            for of in ("code of the figures: ", "choices of the products: ")
        )
        return complained.getvalue()

    def row(self, label):
        """The cells of the README's row that begins with the label."""
        rows = [line for line in self.read("README.md").splitlines() if line.startswith(f"| {label} |")]
        self.assertEqual(len(rows), 1, self.read("README.md"))
        return [cell.strip() for cell in rows[0].strip("|").split("|")]


class Report(ReportTest):
    def ladder(self):
        self.result("a", [self.gemm("naive", 5), self.gemm("tiled", 8), self.gemm("padded", 7.6)])

    def test_without_results_it_says_so(self):
        self.run_report()
        self.assertIn("No figures yet", self.read("README.md"))
        self.assertFalse((self.root / "docs").exists())
        self.run_report("--check")

    def test_the_table(self):
        self.ladder()
        self.run_report()
        self.assertEqual(self.row("step"), ["step", "adds", "4096³", "gain at 4096³", "of cuBLAS FP32"])
        self.assertEqual(self.row("`naive`"), ["`naive`", "what naive adds", "5.00", "", "10 %"])
        self.assertEqual(self.row("`tiled`"), ["`tiled`", "what tiled adds", "8.00", "+60.0 %", "16 %"])
        self.assertEqual(self.row("`padded`"), ["`padded`", "what padded adds", "7.60", "−5.0 %", "15 %"])
        self.assertEqual(self.row("**cuBLAS FP32**"), ["**cuBLAS FP32**", "", "50.0", "", ""])
        self.assertIn("Some GPU, driver 1.2, CUDA 13.0; 2026-01-02, commit abc.", self.read("README.md"))
        self.assertNotIn("†", self.read("README.md"))

    def test_what_is_outside_the_markers_stays(self):
        self.ladder()
        self.run_report()
        text = self.read("README.md")
        self.assertTrue(text.startswith("# A project\n\nBefore.\n\n<!-- ladder:begin -->\n"))
        self.assertTrue(text.endswith("\n<!-- ladder:end -->\n\nAfter.\n"))

    def test_shapes_and_protocols_are_columns(self):
        odd = (4095, 4097, 1003)
        self.result(
            "a",
            [
                self.gemm("naive", 5),
                self.gemm("naive", 3, odd),
                self.gemm("naive", 4, (1024,) * 3),
                self.gemm("naive", 4.5, protocol="hot"),
                self.gemm("tiled", 8, overlap={"formula": 1.25}),
            ],
        )
        self.run_report()
        self.assertEqual(
            self.row("step")[2:],
            [
                "1024³",
                "4096³",
                "4095×4097×1003",
                "gain at 4096³",
                "of cuBLAS FP32",
                "(Tl + Tc) / max",
                "4096³, hot",
            ],
        )
        self.assertEqual(self.row("`naive`")[2:], ["4.00", "5.00", "3.00", "", "10 %", "", "4.50"])
        self.assertEqual(self.row("`tiled`")[2:], ["", "8.00", "", "+60.0 %", "16 %", "1.25", ""])

    def test_scans(self):
        self.result(
            "a",
            [
                self.scan("slow", 500, 1 << 16),
                self.scan("slow", 600, 1 << 28),
                self.scan("fast", 2400, 1 << 28),
            ],
        )
        self.run_report()
        self.assertEqual(self.row("step"), ["step", "adds", "2¹⁶", "2²⁸", "gain at 2²⁸", "of CUB"])
        self.assertEqual(self.row("`slow`")[2:], ["500", "600", "", "20 %"])
        self.assertEqual(self.row("`fast`")[2:], ["", "2400", "+300.0 %", "80 %"])
        self.assertEqual(self.row("**device copy**")[2:], ["4000", "4000", "", ""])
        self.assertTrue((self.root / "docs/pictures/ladder_scan.svg").exists())
        self.assertFalse((self.root / "docs/pictures/ladder_gemm.svg").exists())

    def test_attention(self):
        def step(name, us, members, mask):
            shape = {"members": members, "heads": 12, "queries": 1024, "keys": 1024, "depth": 64}
            operations = 4 * members * 12 * 1024 * 1024 * 64 * (0.5 if mask == "causal" else 1)
            return {
                **self.scan(name, 1, 1),
                "kernel": f"attention.ladder.{name}",
                "shape": shape,
                "mask": mask,
                "time_us": {"ours": us},
                "tflops": operations / us * 1e-6,
            }

        self.result(
            "a",
            [
                step("naive", 30000, 8, "causal"),
                step("roles", 300, 8, "causal"),
                step("roles", 500, 8, "none"),
            ],
        )
        self.run_report()
        self.assertEqual(
            self.row("step"), ["step", "adds", "8×12×1024×64, causal", "8×12×1024×64", "gain at 8×12×1024×64"]
        )
        self.assertEqual(self.row("`naive`")[2:], ["0.43", "", ""])
        self.assertEqual(self.row("`roles`")[2:], ["42.9", "51.5", ""])
        self.assertTrue((self.root / "docs/pictures/ladder_attention.svg").exists())

    def test_steps_of_other_operands_are_a_ladder_of_their_own(self):
        def half(step, tflops):
            record = self.gemm(step, tflops)
            return {
                **record,
                "kernel": f"gemm.ladder-f16.{step}",
                "type": "f16",
                "time_us": {
                    "ours": record["time_us"]["ours"],
                    "cublas_f16": record["time_us"]["cublas_fp32"],
                },
            }

        self.result(
            "a",
            [
                self.gemm("naive", 5),
                self.gemm("tiled", 10),
                half("tensor-core-2", 30),
                half("tensor-core-tma", 40),
            ],
        )
        self.run_report()
        self.assertEqual(self.row("`tiled`")[-2:], ["+100.0 %", "20 %"])
        # no gain relative to a step with other operands
        self.assertEqual(self.row("`tensor-core-2`")[-2:], ["", "60 %"])
        self.assertEqual(self.row("`tensor-core-tma`")[-2:], ["+33.3 %", "80 %"])
        self.assertEqual(self.row("**cuBLAS FP32**")[2], "50.0")
        self.assertEqual(self.row("**cuBLAS f16**")[2], "50.0")
        self.assertNotIn("tensor-core", self.read("docs/pictures/ladder_gemm.svg"))
        self.assertIn("tensor-core-tma", self.read("docs/pictures/ladder_gemm-f16.svg"))
        self.run_report("--check")

    def test_the_newest_figure_counts_whatever_its_file_is_called(self):
        self.result("z", [self.gemm("naive", 5), self.gemm("tiled", 8)])
        self.result("a", [self.gemm("tiled", 9)], date="2026-02-01T00:00:00Z", commit="def")
        self.run_report()
        self.assertEqual(self.row("`tiled`")[2], "9.00")
        self.assertEqual(self.row("`naive`")[2], "5.00")
        text = self.read("README.md")
        self.assertLess(text.index("`naive`"), text.index("`tiled`"))  # the order of the ladder
        self.assertIn("commits abc, def", text)

    def test_machines_are_not_mixed(self):
        self.result("a", [self.gemm("naive", 5), self.gemm("tiled", 8)])
        self.result(
            "b", [self.gemm("naive", 9)], date="2026-02-01T00:00:00Z", machine={"name": "Another GPU"}
        )
        self.run_report()
        self.assertEqual(self.row("`naive`")[2], "9.00")
        self.assertNotIn("`tiled`", self.read("README.md"))
        self.assertIn("Another GPU; 2026-02-01", self.read("README.md"))

    def test_a_refused_step_has_no_row(self):
        self.result(
            "a",
            [
                self.gemm("naive", 5),
                {"kernel": "gemm.ladder.tiled", "policy": "tiled", "refused": "too large"},
            ],
        )
        self.run_report()
        self.assertNotIn("`tiled`", self.read("README.md"))

    def test_figures_of_other_code_are_marked(self):
        self.result("a", [self.gemm("naive", 5), self.gemm("tiled", 8, code=OTHER_CODE)])
        self.run_report()
        self.assertEqual(self.row("`tiled`")[2], "8.00 †")
        self.assertEqual(self.row("`naive`")[2], "5.00")
        self.assertEqual(self.row("**cuBLAS FP32**")[2], "50.0")
        self.assertIn("† measured before the code changed.", self.read("README.md"))
        self.assertIn("tiled †", self.read("docs/pictures/ladder_gemm.svg"))

    def test_a_tampered_figure_is_found(self):
        self.ladder()
        self.run_report()
        self.run_report("--check")
        good = self.read("README.md")
        self.write("README.md", good.replace("8.00", "8.90"))
        self.assertIn("README.md does not agree", self.run_report("--check", code=1))
        self.assertIn("8.90", self.read("README.md"), "--check must not write")
        self.write("README.md", good.replace("After.", "Afterwards."))
        self.run_report("--check")  # outside the markers everything is allowed

    def test_programs_are_those_of_their_files(self):
        self.ladder()
        self.write("examples/a.cpp", "int main() {}\n")
        self.write(
            "README.md",
            self.read("README.md") + "<!-- program examples/a.cpp -->\n```cpp\nint mine() {}\n```\nEnd.\n",
        )
        self.run_report("--check", code=1)
        self.run_report()
        self.assertIn("```cpp\nint main() {}\n```\nEnd.", self.read("README.md"))
        self.run_report("--check")

    def test_programs_in_documents(self):
        self.write("README.md", README)
        self.write("examples/CMakeLists.txt", "project(a)\n")
        self.write("examples/output.txt", "1 finding\nhere\nand there\n")
        for results in range(2):  # documents without a figure are kept too, whether there are results or not
            self.write(
                "docs/a.md",
                "<!-- program examples/CMakeLists.txt -->\n```cmake\n```\nand\n<!-- program examples/output.txt 1-2 -->\n```\nold\n```\nEnd.",
            )
            if results:
                self.ladder()
            self.run_report()
            self.assertIn("```cmake\nproject(a)\n```\nand\n", self.read("docs/a.md"))
            self.assertIn("```\n1 finding\nhere\n```\nEnd.", self.read("docs/a.md"))
            self.run_report("--check")

    def test_figures_in_documents(self):
        self.ladder()
        place = "gained <!-- gain gemm tiled naive 4096 -->+1.0 %<!-- end --> indeed"
        self.write("docs/claims.md", place)
        self.assertIn("docs/claims.md does not agree", self.run_report("--check", code=1))
        self.run_report()
        self.assertIn("-->+60.0 %<!-- end --> indeed", self.read("docs/claims.md"))
        self.run_report("--check")
        self.write("docs/claims.md", place.replace("tiled", "no-such-step"))
        self.assertIn("there is no figure of gemm step no-such-step", self.run_report("--check", code=1))

    def test_figures_of_tiles(self):
        self.ladder()
        series = [
            {"tile": 8, "buffers": 1, "ms": 30, "load_ms": 20, "compute_ms": 10, "resident_blocks": 18},
            {"tile": 8, "buffers": 2, "ms": 24, "load_ms": 1, "compute_ms": 1, "resident_blocks": 20},
        ]
        self.write("bench/results/experiments/1-tile-sizes.json", json.dumps({"series": []}))
        self.write("bench/results/experiments/2-tile-sizes.json", json.dumps({"series": series}))
        kinds = ("gain", "promise", "ratio", "blocks", "single", "double")
        self.write("docs/claims.md", " ".join(f"<!-- tile {what} 8 --><!-- end -->" for what in kinds))
        self.run_report()
        shown = re.findall(r"-->([^<]+)<!-- end -->", self.read("docs/claims.md"))
        self.assertEqual(shown, ["+25.0 %", "1.50×", "0.50", "18", "30.0 ms", "24.0 ms"])
        self.write("docs/claims.md", "<!-- tile gain 16 --><!-- end -->")
        self.assertIn("there are no figures of tiles of 16", self.run_report("--check", code=1))

    def test_figures_of_lines_and_of_a_tensor_core(self):
        self.ladder()
        self.write(
            "docs/claims.md",
            "<!-- lines 03-tiles --><!-- end --> <!-- lines 06-stages --><!-- end --> <!-- cubes --><!-- end -->",
        )
        self.run_report()
        tiles, stages, cubes = map(int, re.findall(r"-->(\d+)<!-- end -->", self.read("docs/claims.md")))
        self.assertEqual(cubes, 8)
        self.assertLess(10, tiles)
        self.assertLess(tiles, stages)
        self.write("docs/claims.md", "<!-- lines 77-none --><!-- end -->")
        self.assertIn("there is no lab 77-none", self.run_report("--check", code=1))

    def test_strides_add_up_to_running_sums(self):
        for n in (1, 2, 5, 8):
            held, pairs = idea_plots.scan_steps(n)
            self.assertEqual(held[-1], [(0, i) for i in range(n)])
            self.assertEqual([len(p) for p in pairs], [n - 2**s for s in range(len(pairs))])
        picture = idea_plots.strides(8)
        self.assertEqual(picture.count('marker-end="url(#tip0)"'), 7 + 6 + 4)
        for i in range(1, 8):
            self.assertIn(f">x0…x{i}<", picture)

    def test_a_tampered_or_missing_picture_is_found(self):
        self.ladder()
        self.run_report()
        picture = self.read("docs/pictures/ladder_gemm.svg")
        self.write("docs/pictures/ladder_gemm.svg", picture.replace(">8.0<", ">9.0<"))
        self.assertIn("docs/pictures/ladder_gemm.svg does not agree", self.run_report("--check", code=1))
        (self.root / "docs/pictures/ladder_gemm.svg").unlink()
        self.run_report("--check", code=1)

    def test_a_picture_without_results_is_found_and_removed(self):
        self.write("docs/pictures/ladder_scan.svg", "<svg/>")
        self.run_report("--check", code=1)
        self.run_report()
        self.assertFalse((self.root / "docs/pictures/ladder_scan.svg").exists())

    def test_a_result_that_is_not_in_the_readme_is_found(self):
        self.ladder()
        self.run_report()
        self.result("b", [self.gemm("tiled", 9)], date="2026-03-01T00:00:00Z")
        self.run_report("--check", code=1)

    def test_the_markers_must_be_there_once_and_in_order(self):
        self.ladder()
        for text in ("# A project\n", README + README, "<!-- ladder:end -->\n<!-- ladder:begin -->\n"):
            self.write("README.md", text)
            self.assertIn("expected one line <!-- ladder:begin -->", self.run_report(code=1))
            self.assertEqual(self.read("README.md"), text)

    def test_bad_results_are_refused_by_name(self):
        good = {
            "schema": 2,
            "machine": MACHINE,
            "date": "2026-01-02T03:04:05Z",
            "commit": "abc",
            "records": [self.gemm("naive", 5)],
        }

        def broken(change):
            file = copy.deepcopy(good)
            change(file, file["records"][0])
            return json.dumps(file)

        for text, words in (
            ("{", "not JSON"),
            (broken(lambda file, record: file.update(schema=3)), "schema 3: expected 2"),
            (broken(lambda file, record: file.update(partial=True)), "partial: the run was interrupted"),
            (broken(lambda file, record: file.pop("date")), "'date' is missing"),
            (broken(lambda file, record: record.pop("code")), "'code' is missing"),
            (
                broken(lambda file, record: record.update(code="0123456789abcdef")),
                "expected a list of architectures with fingerprints",
            ),
            (
                broken(lambda file, record: record.update(code=["0123456789abcdef"])),
                "expected a list of architectures with fingerprints",
            ),
            (broken(lambda file, record: record["shape"].pop("k")), "'k' is missing"),
            (broken(lambda file, record: record.update(verified=False)), "not verified"),
            (broken(lambda file, record: record.update(protocol="warm")), "protocol 'warm'"),
            (broken(lambda file, record: record.update(kernel="sort.ladder.x")), "kernel 'sort.ladder.x'"),
            (broken(lambda file, record: record["time_us"].update(ours=0)), "time of ours is 0"),
            (
                broken(lambda file, record: record["time_us"].update(cublas_fp32="fast")),
                "time of cublas_fp32 is fast",
            ),
            (broken(lambda file, record: record["time_us"].pop("ours")), "no time of ours"),
        ):
            self.write("bench/results/some.json", text)
            message = self.run_report(code=1)
            self.assertIn("bench/results/some.json: ", message)
            self.assertIn(words, message)
            self.assertEqual(len(message.splitlines()), 1)
        self.write("bench/results/some.json", json.dumps(good))
        self.run_report()

    def test_pictures_are_well_formed_and_drawn_to_scale(self):
        self.result("a", [self.gemm("naive", 5), self.gemm("a<b&c", 20), self.gemm("slower", 10)])
        self.run_report()
        root = xml.etree.ElementTree.fromstring(self.read("docs/pictures/ladder_gemm.svg"))
        space = "{http://www.w3.org/2000/svg}"
        bars = [float(bar.get("width")) for bar in root.iter(space + "rect") if bar.get("rx")]
        self.assertEqual(len(bars), 4)  # cuBLAS is the last
        for bar, rate in zip(bars, (5, 20, 10, 50)):
            self.assertAlmostEqual(bar / bars[0], rate / 5, delta=0.05)
        texts = [text.text for text in root.iter(space + "text")]
        for expected in ("a<b&c", "20.0", "+300.0 %", "−50.0 %", "cuBLAS FP32", "50.0"):
            self.assertIn(expected, texts)
        colours = [bar.get("fill") for bar in root.iter(space + "rect") if bar.get("rx")]
        self.assertEqual(colours[0], colours[1])
        self.assertEqual(len({colours[0], colours[2], colours[3]}), 3)  # a gain, a loss, a rival


class Code(ReportTest):
    """Marks on figures whose code differs from the build's."""

    def marked(self):
        """The marked steps: the same in the table and in the picture."""
        rows = [line.split("|") for line in self.read("README.md").splitlines() if line.startswith("| `")]
        steps = [row[1].strip(" `") for row in rows if "†" in row[3]]
        picture = self.read("docs/pictures/ladder_gemm.svg")
        self.assertEqual(
            steps, [row[1].strip(" `") for row in rows if f">{row[1].strip(' `')} †<" in picture]
        )
        self.assertEqual(bool(steps), "† measured before the code changed." in self.read("README.md"))
        self.assertEqual(bool(steps), (self.root / "bench/results/stale.txt").exists())
        return steps

    def ladder(self, **of_tiled):
        self.result(
            "a",
            [
                self.gemm("naive", 5, code=["sm_90a:1111"]),
                self.gemm("tiled", 8, **{"code": ["sm_90a:1111", "sm_90a:2222"], **of_tiled}),
                self.gemm("padded", 7, code=["sm_90a:3333"]),
            ],
        )
        self.run_report()

    def test_a_build_with_the_code_of_all(self):
        self.ladder()
        self.assertEqual(self.marked(), [])
        self.assertEqual(self.verdict, "code of the figures: checked, 3 records current, 0 stale")
        self.run_report("--check")
        self.assertEqual(self.verdict, "code of the figures: checked, 3 records current, 0 stale")

    def test_a_figure_is_judged_by_its_own_kernels_alone(self):
        self.ladder()
        self.build("1111", "3333", "5555")
        message = self.run_report("--check", code=1)
        self.assertIn("README.md does not agree with bench/results", message)
        self.assertIn("bench/results/stale.txt does not agree with the compiled kernels", message)
        self.assertEqual(self.verdict, "code of the figures: checked, 2 records current, 1 stale")
        self.run_report()
        self.assertEqual(self.marked(), ["tiled"])
        self.run_report("--check")
        self.build("1111", "2222", "3333", "5555")  # as before, plus one
        self.run_report("--check", code=1)
        self.run_report()
        self.assertEqual(self.marked(), [])

    def test_code_for_another_architecture_is_no_match(self):
        self.ladder(code=["sm_90a:0123456789abcdef"])
        self.assertEqual(self.marked(), ["tiled"])

    def test_a_table_by_name(self):
        self.ladder()
        self.write("other.json", json.dumps({"compiler": "13.0", "kernels": {"sm_90a": ["1111"]}}))
        self.run_report("--check", "--kernels", self.root / "other.json", code=1)
        self.assertEqual(self.verdict, "code of the figures: checked, 1 records current, 2 stale")
        for text in ("", "[]", '{"compiler": "13.0"}', '{"compiler": "13.0", "kernels": []}'):
            self.write("other.json", text)
            self.assertIn(
                "other.json: expected a table that scripts/build/fingerprint.py wrote",
                self.run_report("--check", f"--kernels={self.root}/other.json", code=1),
            )
        self.assertIn(
            "missing.json: expected a table",
            self.run_report("--check", f"--kernels={self.root}/missing.json", code=1),
        )

    def test_without_a_table_marks_stay(self):
        self.ladder()
        self.build("1111", "3333")
        self.run_report()
        for no_table in (["--kernels="], []):
            if not no_table:
                (self.root / "build/tool/kernels.json").unlink()
            self.run_report("--check", *no_table)
            self.assertTrue(
                self.verdict.startswith("code of the figures: not checked: there is no table of kernels"),
                self.verdict,
            )
            self.run_report(*no_table)
            self.assertEqual(self.marked(), ["tiled"])
            good = self.read("README.md")
            self.write("README.md", good.replace("8.00 †", "8.00"))
            self.assertIn("README.md does not agree", self.run_report("--check", *no_table, code=1))
            self.write("README.md", good)
        self.result("b", [self.gemm("padded", 9)], date="2026-03-01T00:00:00Z")
        self.run_report()
        self.assertEqual(self.marked(), ["tiled"])
        self.result("c", [self.gemm("tiled", 10)], date="2026-03-02T00:00:00Z")
        self.run_report()
        self.assertEqual(self.marked(), [])

    def test_a_list_that_was_written_by_hand_is_found(self):
        self.ladder()
        self.write("bench/results/stale.txt", "a.json 0 gemm.ladder.naive\n")
        self.assertIn(
            "bench/results/stale.txt does not agree with the compiled kernels",
            self.run_report("--check", code=1),
        )

    def not_checked(self, why):
        """Expects the middle step to be unchecked; the others are current."""
        self.assertEqual(
            self.verdict, f"code of the figures: checked, 2 records current, 0 stale; not checked: 1 {why}"
        )
        self.assertEqual(self.marked(), [])
        self.run_report("--check")
        self.build("9999")
        self.run_report()
        self.assertEqual(self.marked(), ["naive", "padded"])

    def test_a_figure_whose_kernels_are_not_known_is_not_checked(self):
        self.ladder(code=[])
        self.not_checked("do not tell the code of their kernels")

    def test_a_figure_for_an_architecture_that_the_build_lacks_is_not_checked(self):
        self.ladder(code=["sm_80:7777"])
        self.not_checked("were compiled for sm_80, this build for compute_80, sm_90a")

    def test_figures_of_another_compiler_are_not_checked(self):
        self.ladder()
        self.build("9999", compiler="13.1")
        self.run_report("--check")
        self.assertEqual(
            self.verdict,
            "code of the figures: not checked: 3 were compiled with CUDA 13.0, "
            "and this build's 13.1 makes other code",
        )

    def test_figures_of_the_first_schema_are_not_checked(self):
        self.ladder()
        self.result("a", [self.gemm("naive", 5, code="0123456789abcdef")], schema=1)
        self.run_report()
        self.assertEqual(
            (self.verdict, self.marked()),
            ("code of the figures: not checked: 1 do not tell the code of their kernels", []),
        )


class PublicCalls(ReportTest):
    """Results of antiphase bench: the tables `NAMES` of DOCUMENT."""

    NAMES, DOCUMENT = (), "docs/some.md"

    def setUp(self):
        super().setUp()
        self.write(
            self.DOCUMENT,
            "".join(f"# {name}\n<!-- table {name} -->\nold\n<!-- table end -->\n" for name in self.NAMES),
        )

    def table(self, name):
        """The cells of all rows of a table in the document."""
        part = self.read(self.DOCUMENT).split(f"<!-- table {name} -->")[1].split("<!-- table end -->")[0]
        return [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in part.splitlines()
            if line.startswith("|")
        ]

    def points(self, name):
        """The points of every line of a picture, from left to right."""
        root = xml.etree.ElementTree.fromstring(self.read(f"docs/pictures/{name}"))
        return [
            [tuple(map(float, point.split(","))) for point in line.get("points").split()]
            for line in root.iter("{http://www.w3.org/2000/svg}polyline")
        ]


class Products(PublicCalls):
    NAMES, DOCUMENT = ("speed", "layouts", "accuracy", "data"), "docs/gemm.md"

    def test_without_results_they_say_so(self):
        self.run_report()
        self.assertEqual(self.read("docs/gemm.md").count("No figures yet"), 4)
        self.assertFalse((self.root / "docs/pictures").exists())
        self.run_report("--check")

    def test_speed(self):
        odd = (4095, 4097, 1003)
        self.result(
            "a",
            [
                self.product("fp32", 220, 4096),
                self.product("strict", 55, 4096),
                self.product("fp32", 100, 1024, cublas=40),
                self.product("fp32", 150, odd),
                self.product("fp32", 210, 4096, cublas=42, protocol="hot"),
            ],
        )
        self.run_report()
        self.assertEqual(
            self.table("speed"),
            [
                [
                    "M × N × K",
                    "cuBLAS FP32",
                    "`fp32`",
                    "of cuBLAS",
                    "of the roofline",
                    "of cuBLAS, hot",
                    "`strict`",
                    "of cuBLAS",
                    "of the roofline",
                    "of cuBLAS, hot",
                ],
                ["---"] + ["--:"] * 9,
                ["1024³", "40.0", "100", "2.50×", "37 %", "", "", "", "", ""],
                ["4096³", "50.0", "220", "4.40×", "81 %", "5.00×", "55.0", "1.10×", "20 %", ""],
                ["4095×4097×1003", "50.0", "150", "3.00×", "55 %", "", "", "", "", ""],
            ],
        )
        self.assertIn("Some GPU, driver 1.2, CUDA 13.0; 2026-01-02, commit abc.", self.read("docs/gemm.md"))
        self.assertIn("No figures yet", self.read("README.md"))  # none for the ladder
        self.assertIn("](pictures/gemm_ratio.svg)\n<!-- table end -->", self.read("docs/gemm.md"))
        self.write("README.md", README + "<!-- table speed -->\n<!-- table end -->\n")
        self.run_report()
        self.assertIn("| 4096³ |", self.read("README.md"))
        self.assertIn("](docs/pictures/gemm_ratio.svg)\n", self.read("README.md"))

    def test_layouts_and_data_do_not_replace_each_other(self):
        self.result(
            "a",
            [
                self.product("fp32", 200 + 5 * i, 2048, layout=layout)
                for i, layout in enumerate(("nn", "nt", "tn", "tt"))
            ]
            + [self.product("fp32", 99, 2048, data="exp4n")],
        )
        self.run_report()
        self.assertEqual(
            self.table("layouts")[2],
            ["`fp32` 2048³", "200", "205", "210", "215", "4.00×", "4.10×", "4.20×", "4.30×"],
        )
        self.assertEqual(self.table("speed")[2][2], "200")

    def test_accuracy(self):
        self.result(
            "a",
            [
                self.product("fp32", 200, 1024, norm=1.9e-7),
                self.product("fp32", 200, 512, data="uniform01"),
                self.product("strict", 50, 512),
                self.product("fp32", 200, 2048, data="exp4n"),
            ],
        )
        self.run_report()
        self.assertEqual(
            self.table("accuracy")[2:],
            [
                ["normal, 1024", "1.9e-07", "7.6e-07", "0.5", "3.3", "97", "-0.01", "+0.00"],
                ["uniform [0, 1), 512", "2.0e-07", "8.0e-07", "0.5", "3.3", "89", "-0.01", "+0.00"],
            ],
        )

    def test_data(self):
        self.result(
            "a",
            [
                self.product("fp32", 220, 4096),
                self.product("fp32", 45, 4096, data="outlier-tiny", recomputed=1.0),
                self.product("fp32", 190, 4096, data="exp4n-signed", recomputed=0.00021),
                self.product("fp32", 200, 2048, data="wide"),
            ],
        )
        self.run_report()
        self.assertEqual(
            [row[:4] for row in self.table("data")[2:]],
            [
                ["`normal`", "220", "4.40×", "0"],
                ["`outlier-tiny`", "45.0", "0.90×", "100 %"],
                ["`exp4n-signed`", "190", "3.80×", "0.021 %"],
            ],
        )
        self.assertIn("guaranteed: 149.", self.read("docs/gemm.md"))

    def test_stale_figures_are_marked_but_not_those_of_cublas(self):
        self.result("a", [self.product("fp32", 220, 4096, code=OTHER_CODE)])
        self.run_report()
        self.assertEqual(self.table("speed")[2][1:4], ["50.0", "220 †", "4.40×"])
        self.assertIn("† measured before the code changed.", self.read("docs/gemm.md"))
        self.assertIn("† measured before the code changed.", self.read("docs/pictures/gemm_ratio.svg"))

    def test_a_tampered_table_or_picture_is_found(self):
        self.result("a", [self.product("fp32", 220, 4096), self.product("fp32", 100, 1024)])
        self.run_report()
        self.run_report("--check")
        for name, old, new in (
            ("docs/gemm.md", "4.40×", "4.90×"),
            ("docs/pictures/gemm_ratio.svg", "4.40", "4.90"),
            ("docs/pictures/gemm_error.svg", "K of", "N of"),
        ):
            good = self.read(name)
            self.assertIn(old, good)
            self.write(name, good.replace(old, new))
            self.assertIn(f"{name} does not agree", self.run_report("--check", code=1))
            self.write(name, good)

    def test_a_table_that_does_not_exist(self):
        self.write("docs/gemm.md", "<!-- table sped -->\n<!-- table end -->\n")
        self.assertIn("there is no table 'sped'", self.run_report(code=1))

    def test_ratios_in_documents(self):
        self.result("a", [self.product("fp32", 222, 4096)])
        self.write("docs/claims.md", "<!-- times fp32 4096 -->1×<!-- end --> as fast")
        self.run_report()
        self.assertIn("-->4.4×<!-- end --> as fast", self.read("docs/claims.md"))
        self.write("docs/claims.md", "<!-- times strict 4096 -->1×<!-- end -->")
        self.assertIn(
            "there is no figure of strict compared with cuBLAS at 4096", self.run_report("--check", code=1)
        )

    def test_errors_in_documents(self):
        self.result("a", [self.product("fp32", 222, 4096, code=OTHER_CODE)])
        self.write(
            "docs/claims.md",
            "<!-- error fp32 4096 -->0<!-- end -->, <!-- error fp32 4096 cublas_fp32 -->0<!-- end -->",
        )
        self.run_report()
        self.assertEqual(
            self.read("docs/claims.md"),
            "<!-- error fp32 4096 -->2.0e-07 †<!-- end -->, "
            "<!-- error fp32 4096 cublas_fp32 -->8.0e-07<!-- end -->",
        )

    def test_the_ratio_picture_is_to_scale(self):
        self.result(
            "a",
            [self.product("fp32", rate, size) for size, rate in ((512, 50), (1024, 100), (4096, 200))]
            + [self.product("fp32", 999, (64, 128, 256))],
        )
        self.run_report()
        ours, cublas = self.points("gemm_ratio.svg")
        self.assertEqual(len(ours), 3)
        # three doublings against one
        self.assertAlmostEqual((ours[2][0] - ours[0][0]) / (ours[1][0] - ours[0][0]), 3, delta=0.01)
        # from 1 to 4 against from 1 to 2
        self.assertAlmostEqual((cublas[0][1] - ours[2][1]) / (ours[0][1] - ours[1][1]), 3, delta=0.01)
        self.assertEqual(cublas[0][1], ours[0][1])

    def test_the_error_picture_is_logarithmic(self):
        self.result(
            "a",
            [
                self.product("fp32", 200, size, norm=norm)
                for size, norm in ((1024, 1e-7), (2048, 1e-6), (4096, 1e-5))
            ],
        )
        self.run_report()
        ours, cublas = sorted(self.points("gemm_error.svg"), key=lambda points: -points[0][1])
        self.assertAlmostEqual(ours[0][1] - ours[1][1], ours[1][1] - ours[2][1], delta=0.2)
        # four times as large
        self.assertAlmostEqual((ours[0][1] - cublas[0][1]) / (ours[0][1] - ours[1][1]), 0.602, delta=0.01)


class Lists(PublicCalls):
    """Results of antiphase bench gemm --suite, --random, --serving and --map."""

    NAMES, DOCUMENT = ("suite", "random", "serving", "map"), "docs/gemm.md"
    HEAD = ["", "products", "of cuBLAS", "slower", "worst", "of the roofline", "cuBLAS of the roofline"]

    def listed(
        self, of, name, us, cublas, shape=(4096, 4096, 64), group="g", roof=10, by="memory", **members
    ):
        m, n, k = shape
        return {
            "kernel": "gemm.fp32",
            "policy": "fp64",
            "set": of,
            "name": name,
            "group": group,
            "shape": {"m": m, "n": n, "k": k},
            "count": 1,
            "beta": 0,
            "type": "f32",
            "layout": "nt",
            "data": "normal",
            "protocol": "graph",
            "verified": True,
            "code": self.code["gemm"],
            "time_us": {"ours": us, "cublas_sgemm": cublas, "cublas_lt": 2 * cublas, "cublas_fp32": cublas},
            "roof": {
                "us": roof,
                "by": by,
                "tflops": 200,
                "tb_per_s": 4,
                "share": roof / us,
                "cublas_share": roof / cublas,
            },
            **members,
        }

    def test_without_results_they_say_so(self):
        self.run_report()
        self.assertEqual(self.read("docs/gemm.md").count("No figures yet"), 4)
        self.assertFalse((self.root / "docs/pictures").exists())

    def test_the_suite(self):
        self.result(
            "a",
            [
                self.listed("suite", "a batch", 20, 30, count=32, beta=1),
                self.listed("suite", "one", 40, 10, (1, 2, 3), policy="fp64-short", group="h"),
            ],
        )
        self.run_report()
        self.assertEqual(
            self.table("suite")[2:],
            [
                [
                    "g: a batch",
                    "32 of 4096×4096×64 NT, + C",
                    "`fp64`",
                    "20.0",
                    "30.0",
                    "1.50×",
                    "50 %",
                    "33 %",
                ],
                ["h: one", "1×2×3 NT", "`fp64-short`", "40.0", "10.0", "0.25×", "25 %", "100 %"],
            ],
        )
        self.assertIn("](pictures/gemm_roofline.svg)\n<!-- table end -->", self.read("docs/gemm.md"))

    def test_means_of_random_shapes(self):
        self.result(
            "a",
            [
                self.listed("random 1", "1", 10, 40),
                self.listed("random 1", "2", 10, 10, policy="fp16"),
                self.listed("random 2", "1", 10, 5, (3, 3, 3), by="launch"),
            ],
        )
        self.run_report()
        rows = self.table("random")
        self.assertEqual(rows[0], self.HEAD)
        self.assertEqual(
            rows[2:],
            [
                ["all", "3", "1.26×", "33 %", "0.50×", "100 %", "79 %"],
                ["by `fp16`", "1", "1.00×", "0 %", "1.00×", "100 %", "100 %"],
                ["by `fp64`", "2", "1.41×", "50 %", "0.50×", "100 %", "71 %"],
                ["limited by launch", "1", "0.50×", "100 %", "0.50×", "100 %", "200 %"],
                ["limited by memory", "2", "2.00×", "0 %", "1.00×", "100 %", "50 %"],
            ],
        )
        self.assertIn("(random 1, random 2)", self.read("docs/gemm.md"))

    def test_random_shapes_in_documents(self):
        self.result(
            "a",
            [
                self.listed("random 1", "1", 10, 40, (300, 300, 300)),
                self.listed("random 1", "2", 10, 10, (2, 300, 64), code=OTHER_CODE),
                self.listed("random 1", "3", 30, 15, (200, 200, 65)),
                self.listed("random 1", "4", 30, 25, (1, 200, 65)),
            ],
        )
        told = {
            "count all": "4 †",
            "mean all": "1.14× †",
            "worst all": "0.50× †",
            "slower all": "50 % †",
            "mean large": "4.00×",
            "mean shallow": "1.00× †",
            "mean few-lines": "1.00× †",
            "mean line": "0.83×",
        }
        self.write("docs/claims.md", "\n".join(f"<!-- random {words} -->?<!-- end -->" for words in told))
        self.run_report()
        self.assertEqual(
            self.read("docs/claims.md"),
            "\n".join(f"<!-- random {words} -->{text}<!-- end -->" for words, text in told.items()),
        )
        for words, why in (
            ("mean brief", "no figure of brief"),
            ("mean tiny", "'tiny' is no group"),
            ("mode all", "'mode' is nothing"),
        ):
            self.write("docs/claims.md", f"<!-- random {words} -->?<!-- end -->")
            self.assertIn(why, self.run_report("--check", code=1))

    def test_the_price_of_invariance(self):
        def served(name, us, invariant_us, **members):
            record = self.listed(
                "serving",
                name,
                us,
                30,
                batch_invariant={"policy": "fp64-short", "price": invariant_us / us},
                **members,
            )
            record["time_us"]["ours_batch_invariant"] = invariant_us
            return record

        self.result(
            "a", [served("one token", 20, 50), served("8 tokens", 40, 44, code=OTHER_CODE, group="h")]
        )
        self.run_report()
        self.assertEqual(
            self.table("serving")[2:],
            [
                [
                    "g: one token",
                    "4096×4096×64 NT",
                    "`fp64`",
                    "20.0",
                    "`fp64-short`",
                    "50.0",
                    "2.50×",
                    "30.0",
                ],
                [
                    "h: 8 tokens",
                    "4096×4096×64 NT",
                    "`fp64`",
                    "40.0 †",
                    "`fp64-short`",
                    "44.0",
                    "1.10×",
                    "30.0",
                ],
            ],
        )

    def test_lists_do_not_replace_other_figures(self):
        self.result(
            "a",
            [
                self.product("fp32", 220, 4096, layout="nt"),
                self.listed("suite", "same", 1, 9, (4096,) * 3),
                self.listed("map 4096", "same", 1, 9, (4096,) * 3),
            ],
        )
        self.write("docs/claims.md", "<!-- times fp32 4096 -->1×<!-- end --> as fast")
        self.assertIn("there is no figure of fp32", self.run_report(code=1))
        self.result("b", [self.product("fp32", 200, 4096)])
        self.run_report()
        self.assertIn("-->4.0×<!--", self.read("docs/claims.md"))

    def test_of_several_files_of_one_list_the_newest_counts(self):
        self.result("a", [self.listed("random 1", str(i), 10, 40) for i in range(5)])
        self.result(
            "b", [self.listed("random 1", str(i), 10, 20) for i in range(3)], date="2026-01-03T03:04:05Z"
        )
        self.run_report()
        self.assertEqual(self.table("random")[2][:3], ["all", "3", "2.00×"])

    def test_stale_figures_are_marked(self):
        self.result(
            "a",
            [
                self.listed("suite", "a", 20, 30, code=OTHER_CODE),
                self.listed("suite", "b", 20, 30),
                self.listed("random 1", "a", 20, 30, code=OTHER_CODE),
            ],
        )
        self.run_report()
        self.assertEqual([row[3] for row in self.table("suite")[2:]], ["20.0 †", "20.0"])
        self.assertEqual(self.table("random")[2][2], "1.50× †")
        self.assertIn("† measured before the code changed.", self.read("docs/pictures/gemm_roofline.svg"))

    def test_the_roof_is_to_scale(self):
        # 2 x 4096^2 x 64 operations, 4 (2 x 4096 x 64 + 4096^2) bytes: 31 operations per byte, ridge at 50
        self.result(
            "a",
            [self.listed("suite", "a", 20, 200), self.listed("suite", "small", 2, 2, (2, 2, 2), by="launch")],
        )
        self.run_report()
        picture = self.read("docs/pictures/gemm_roofline.svg")
        root = xml.etree.ElementTree.fromstring(picture)
        # after the key
        circles = [
            (c.get("fill"), float(c.get("cx")), float(c.get("cy")))
            for c in root.iter("{http://www.w3.org/2000/svg}circle")
        ][2:]
        self.assertEqual([fill for fill, _, _ in circles], ["none", "#0072b2"])
        roof = self.points("gemm_roofline.svg")[0]
        # height of a decade relative to its width: equal on the slope
        decade = (roof[0][1] - roof[1][1]) / (roof[1][0] - roof[0][0])
        self.assertAlmostEqual(
            (circles[0][2] - circles[1][2]) / (roof[1][0] - circles[0][1]) * math.log10(50 / 31.03) / decade,
            1,
            delta=0.02,
        )
        self.assertEqual(circles[0][1], circles[1][1])
        self.assertIn("1 of the suite<", picture)
        self.assertIn("Left out: 1 products so small", picture)

    def test_the_map(self):
        self.result(
            "a",
            [
                self.listed("map 64", f"{m} x {n}", 10, 10 * ratio, (m, n, 64))
                for m, n, ratio in ((1, 1, 1), (1, 2048, 0.25), (2048, 1, 2), (2048, 2048, 8))
            ],
        )
        self.run_report()
        self.assertEqual(self.table("map")[2], ["K = 64", "4", "1.41×", "25 %", "0.25×", "100 %", "71 %"])
        root = xml.etree.ElementTree.fromstring(self.read("docs/pictures/gemm_map.svg"))
        cells = [
            (float(r.get("x")), float(r.get("y")), r.get("fill"))
            for r in root.iter("{http://www.w3.org/2000/svg}rect")
            if r.get("x")
        ]
        self.assertEqual([fill for _, _, fill in cells], ["#eeeeee", "#d55e00", "#77b0d0", "#0072b2"])
        self.assertTrue(cells[0][0] < cells[1][0] and cells[0][1] == cells[1][1], "N goes to the right")
        self.assertTrue(cells[0][1] < cells[2][1] and cells[0][0] == cells[2][0], "M goes downwards")
        texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
        for expected in ("K = 64", "2K", "1.00", ".25", "2.0", "8.0"):
            self.assertIn(expected, texts)

    def test_a_tampered_picture_is_found(self):
        self.result(
            "a", [self.listed("suite", "a", 20, 200), self.listed("map 64", "4 x 4", 10, 20, (4, 4, 64))]
        )
        self.run_report()
        self.run_report("--check")
        for name in ("docs/pictures/gemm_roofline.svg", "docs/pictures/gemm_map.svg"):
            good = self.read(name)
            self.write(name, good.replace("cuBLAS FP32", "cuBLAS", 1))
            self.assertIn(f"{name} does not agree", self.run_report("--check", code=1))
            self.write(name, good)


class Choices(PublicCalls):
    """Marks of products for which auto takes another policy today."""

    NAMES, DOCUMENT = ("speed", "accuracy", "suite", "serving", "random"), "docs/gemm.md"
    NOTE = "‡ measured with another policy than auto takes today; of means: some of the products."
    LIST = "bench/results/rechosen.txt"

    def suite(self, *policies, now, **members):
        """Results of one product for each of the policies; `now`: of those that the program tells of."""
        self.result(
            "a", [Lists.listed(self, "suite", str(i), 20, 30, policy=p) for i, p in enumerate(policies)]
        )
        self.tool(*(("a", i, "policy", policy) for i, policy in enumerate(now)))

    def times(self):
        return [row[3] for row in self.table("suite")[2:]]

    def test_another_policy_is_marked_and_the_same_is_not(self):
        self.suite("fp64", "fp64", now=["fp64", "tf32"])
        message = self.run_report("--check", code=1)
        self.assertIn("docs/gemm.md does not agree with bench/results", message)
        self.assertIn("rechosen.txt does not agree with what auto takes today", message)
        self.run_report()
        self.assertEqual(self.times(), ["20.0", "20.0 ‡"])
        self.assertEqual(self.choices, "choices of the products: checked, 1 as today, 1 others")
        self.assertEqual(self.read(self.LIST).splitlines()[1:], ["a.json 1 policy tf32"])
        for shown in ("docs/gemm.md", "docs/pictures/gemm_roofline.svg"):
            self.assertEqual(self.read(shown).count(self.NOTE), 1)
        self.run_report("--check")

    def test_a_choice_that_changes_again_is_found(self):
        self.suite("fp64", now=["fp64"])
        self.run_report()
        self.assertFalse((self.root / self.LIST).exists())
        self.assertNotIn("‡", self.read("docs/gemm.md"))
        for now in ("tf32", "fp16", "fp64"):
            self.suite("fp64", now=[now])
            self.run_report("--check", code=1)
            self.run_report()
            self.run_report("--check")
            self.assertEqual(self.times(), ["20.0" if now == "fp64" else "20.0 ‡"])
        self.assertFalse((self.root / self.LIST).exists())

    def test_without_a_program_marks_stay(self):
        self.suite("fp64", "fp64", now=["fp64", "tf32"])
        self.run_report()
        for none in (["--tool="], []):
            if not none:
                (self.root / "build/antiphase").unlink()
            self.run_report("--check", *none)
            self.assertIn("choices of the products: not checked", self.choices)
            self.run_report(*none)
            self.assertEqual(self.times(), ["20.0", "20.0 ‡"])
            good = self.read("docs/gemm.md")
            self.write("docs/gemm.md", good.replace("20.0 ‡", "20.0"))
            self.run_report("--check", *none, code=1)
            self.write("docs/gemm.md", good)
        self.suite("tf32", "fp64", now=["tf32", "fp64"])
        self.run_report()
        self.assertEqual(self.times(), ["20.0", "20.0"])

    def test_of_what_the_program_does_not_know_marks_stay(self):
        self.suite("fp64", "fp64", now=["fp64", "tf32"])
        self.run_report()
        self.suite("fp64", "fp64", now=["fp64"])
        self.run_report("--check")
        self.assertIn("1 as today, 0 others; not checked: 1 of which", self.choices)
        self.assertEqual(self.times(), ["20.0", "20.0 ‡"])

    def test_every_way_has_its_own_mark(self):
        served = Lists.listed(self, "serving", "one", 20, 30, batch_invariant={"policy": "fp64", "price": 2})
        served["time_us"]["ours_batch_invariant"] = 40
        self.result("a", [served])
        for served_by, invariant, marks in (
            ("fp64", "tf32", ["20.0", "40.0 ‡"]),
            ("tf32", "fp64", ["20.0 ‡", "40.0"]),
        ):
            self.tool(("a", 0, "policy", served_by), ("a", 0, "batch_invariant", invariant))
            self.run_report()
            row = self.table("serving")[2]
            self.assertEqual([row[3], row[5]], marks)
            self.assertEqual(self.read("docs/gemm.md").count(self.NOTE), 1)

    def test_means_and_single_figures_and_both_marks(self):
        self.result(
            "a",
            [
                self.product("fp32", 220, 4096, code=OTHER_CODE),
                self.product("fp32", 200, 4096, protocol="hot"),
                Lists.listed(self, "random 1", "1", 10, 40),
                Lists.listed(self, "random 1", "2", 10, 40, policy="fp16"),
            ],
        )
        self.write("docs/claims.md", "<!-- times fp32 4096 -->1×<!-- end --> as fast")
        self.tool(
            *(("a", record, "policy", now) for record, now in enumerate(("tf32", "tf32", "fp64", "tf32")))
        )
        self.run_report()
        self.assertEqual(self.table("speed")[2][2:6], ["220 † ‡", "4.40×", "81 %", "4.00× ‡"])
        self.assertEqual(self.table("accuracy")[2][1], "2.0e-07 † ‡")
        self.assertEqual(
            [row[2] for row in self.table("random")[2:]], ["4.00× ‡", "4.00× ‡", "4.00×", "4.00× ‡"]
        )
        self.assertIn("-->4.4× † ‡<!--", self.read("docs/claims.md"))

    def test_what_is_no_program(self):
        self.suite("fp64", now=["fp64"])
        for text in ("#!/bin/sh\necho '{}'\n", "#!/bin/sh\necho no option >&2; exit 2\n", "no program"):
            self.write("build/antiphase", text)
            self.assertIn("build/antiphase: ", self.run_report("--check", code=1))
        self.assertIn("missing: ", self.run_report("--check", f"--tool={self.root}/missing", code=1))


class Sums(PublicCalls):
    NAMES, DOCUMENT = ("sums", "other_sums", "own_scans", "short_sums"), "docs/scan.md"

    def test_ratios_in_documents(self):
        self.result("a", [self.sums("f64", 8, 4096, 1, cub=9), self.sums("f32", 4, 4096, 10, cub=13)])
        self.write("docs/claims.md", "<!-- times sum 4096 -->1×<!-- end --> as fast")
        self.run_report()
        self.assertIn("-->1.3×<!-- end --> as fast", self.read("docs/claims.md"))
        self.write("docs/claims.md", "<!-- times sum 8192 -->1×<!-- end -->")
        self.assertIn("there is no sum compared with CUB at 8192", self.run_report("--check", code=1))

    def test_without_results_they_say_so(self):
        self.run_report()
        self.assertEqual(self.read("docs/scan.md").count("No figures yet"), 4)
        self.assertFalse((self.root / "docs/pictures").exists())

    def test_types_and_sizes(self):
        self.result(
            "a",
            [
                self.sums("f32", 4, 1 << 28, 520, cub=685, memcpy=507),
                self.sums("i8", 1, 1 << 28, 136, cub=524, memcpy=131),
                self.sums("f32", 4, 1 << 16, 6.8, cub=12.8),
                self.sums("i8", 1, 1000, 5, memcpy=4),
                self.sums("i64", 8, 1 << 28, 1, protocol="hot"),
            ],
        )
        self.run_report()
        self.assertEqual(
            self.table("sums"),
            [
                ["n", "`f32`", "`i8`"],
                ["---", "--:", "--:"],
                ["1000", "", "80.0 %"],
                ["2¹⁶", "1.88×", ""],
                ["2²⁸", "97.5 %, 1.32×", "96.3 %, 3.85×"],
            ],
        )
        self.assertIn("](pictures/scan_share.svg)\n<!-- table end -->", self.read("docs/scan.md"))
        self.assertIn("No figures yet", self.read("README.md"))  # none for the ladder
        self.run_report("--check")

    def test_the_rival_with_the_same_bits_in_every_run(self):
        self.result(
            "a",
            [
                self.sums("f32", 4, 1 << 28, 520, cub=650, memcpy=507),
                self.sums("i8", 1, 1 << 28, 136, cub=524),
            ],
        )
        self.run_report()
        self.assertNotIn("parentheses", self.read("docs/scan.md"))
        record = self.sums("f32", 4, 1 << 28, 520, cub=650, memcpy=507)
        record["time_us"]["cub_run_to_run"] = 780
        self.result("a", [record, self.sums("i8", 1, 1 << 28, 136, cub=524)])
        self.run_report()
        self.assertEqual(self.table("sums")[2], ["2²⁸", "97.5 %, 1.25× (1.50×)", "3.85×"])
        self.assertIn("(in parentheses as CUB with the same bits in every run).", self.read("docs/scan.md"))

    def test_short_calls(self):
        self.result(
            "a",
            [
                self.sums("f32", 4, 1 << 16, 6.8, cub=12.8, memcpy=5.9, protocol="event"),
                self.sums("f32", 4, 1 << 16, 2, cub=3.6, protocol="graph"),
                self.sums("f32", 4, 1 << 20, 3.5, cub=7, protocol="graph"),
                self.sums("i8", 1, 1 << 20, 3, cub=7, protocol="graph"),
            ],
        )
        self.run_report()
        self.assertEqual(
            self.table("short_sums")[2:],
            [
                ["2¹⁶", "6.80", "12.80", "5.90", "1.88×", "2.00", "3.60", "", "1.80×"],
                ["2²⁰", "", "", "", "", "3.50", "7.00", "", "2.00×"],
            ],
        )

    def test_rows_keys_and_wider_types(self):
        self.result(
            "a",
            [
                {
                    **self.sums("f32", 4, 1 << 28, 800, cub=1200, memcpy=760),
                    "kernel": "scan.by-key",
                    "data": "a key for each 9",
                },
                {**self.sums("f32", 4, 1000, 5, memcpy=4), "kernel": "scan.rows", "data": "10 rows"},
            ],
        )
        self.run_report()
        self.assertEqual(
            self.table("other_sums")[2:],
            [
                ["`f32`, a key for each 9", "2²⁸", "800.0", "95.0 %", "1.50×"],
                ["`f32`, 10 rows", "1000", "5.0", "80.0 %", ""],
            ],
        )
        self.assertIn("No figures yet", self.read("docs/scan.md"))  # of whole arrays

    def test_types_of_ones_own(self):
        def own(size, n, us, **members):
            return {
                **self.sums(f"{size} bytes", size, n, us, **members),
                "kernel": "scan.own",
                "code": self.code["scan.own"],
                "data": "x + offset",
            }

        self.result(
            "a",
            [
                self.sums("f32", 4, 1000, 5),
                own(16, 1 << 26, 600, cub=900, memcpy=510),
                own(4, 1 << 26, 140, memcpy=133),
                own(16, 1 << 20, 9, cub=18),
                own(8, 1000, 5, protocol="graph"),
            ],
        )
        self.run_report()
        table = [
            ["element", "n", "µs", "CUB", "copy", "of a copy", "of CUB"],
            ["4 bytes", "2²⁶", "140.0", "", "133.0", "95.0 %", ""],
            ["16 bytes", "2²⁰", "9.0", "18.0", "", "", "2.00×"],
            ["16 bytes", "2²⁶", "600.0", "900.0", "510.0", "85.0 %", "1.50×"],
        ]
        self.assertEqual([self.table("own_scans")[0], *self.table("own_scans")[2:]], table)
        self.build("1111", "2222", "4444")
        self.run_report()
        self.assertEqual(self.table("own_scans")[2:], table[1:])
        self.build("1111", "2222", "3333")
        self.run_report()
        self.assertEqual([row[2] for row in self.table("own_scans")[2:]], ["140.0 †", "9.0 †", "600.0 †"])

    def test_types_do_not_replace_each_other(self):
        self.result(
            "a",
            [
                self.sums("i16", 2, 1 << 20, 4, memcpy=2),
                self.sums("u16", 2, 1 << 20, 8, memcpy=2, code=OTHER_CODE),
            ],
        )
        self.run_report()
        self.assertEqual(self.table("sums")[2], ["2²⁰", "50.0 %", "25.0 % †"])
        self.assertIn("† measured before the code changed.", self.read("docs/pictures/scan_share.svg"))

    def test_the_ladder_of_another_type_is_not_in_its_table(self):
        self.result(
            "a",
            [
                self.scan("items", 3000, 1 << 20),
                {**self.scan("items", 1000, 1 << 20), "type": "f64"},
                {**self.scan("items", 9, 1 << 24), "type": "i32"},
            ],
        )
        self.run_report()
        self.assertEqual(self.row("step")[2:4], ["2²⁰", "gain at 2²⁰"])
        self.assertEqual(self.row("`items`")[2], "3000")

    def test_the_picture_is_to_scale(self):
        self.result(
            "a",
            [
                self.sums("f32", 4, 1 << power, 10 / share, cub=10 / cub, memcpy=10)
                for power, share, cub in ((16, 0.5, 0.25), (18, 0.75, 0.5), (28, 1, 0.75))
            ],
        )
        self.run_report()
        ours, cub = sorted(self.points("scan_share.svg"), key=lambda points: points[0][1])
        self.assertAlmostEqual((ours[2][0] - ours[0][0]) / (ours[1][0] - ours[0][0]), 6, delta=0.05)
        self.assertAlmostEqual((ours[0][1] - ours[2][1]) / (ours[0][1] - ours[1][1]), 2, delta=0.02)
        self.assertEqual([point[1] for point in cub[1:]], [point[1] for point in ours[:2]])

    def test_the_picture_has_a_panel_for_each_size_of_elements(self):
        self.result(
            "a",
            [
                self.sums(of_type, size, 1 << power, 20, cub=40, memcpy=10)
                for of_type, size, powers in (("f32", 4, (16, 28)), ("i32", 4, (16,)), ("i8", 1, (16, 20)))
                for power in powers
            ],
        )
        self.run_report()
        picture = self.read("docs/pictures/scan_share.svg")
        for expected in ("1 byte per element: i8<", "4 bytes per element: f32 (faint: i32)<"):
            self.assertIn(expected, picture)
        self.assertEqual(picture.count("<polyline"), 6)  # ours and CUB's of three types
        self.assertEqual(picture.count('opacity="0.4"'), 4)  # a line and a point of i32, ours and CUB's
        lines = self.points("scan_share.svg")
        of_bytes, of_floats = lines[1], lines[5]  # ours; the panels are side by side and share their axes
        self.assertEqual(of_bytes[0][1], of_floats[0][1])
        # twelve doublings against four
        self.assertAlmostEqual(
            (of_floats[1][0] - of_floats[0][0]) / (of_bytes[1][0] - of_bytes[0][0]), 3, delta=0.01
        )

    def test_rates_of_floats(self):
        self.write("docs/rates.md", "<!-- table float_sums -->\n<!-- table end -->\n")
        self.result(
            "a",
            [
                self.sums("f32", 4, 1 << 28, 520, cub=650, memcpy=507),
                self.sums("f32", 4, 1 << 10, 2),
                self.sums("i32", 4, 1 << 28, 9),
            ],
        )
        self.run_report()
        rows = [line for line in self.read("docs/rates.md").splitlines() if line.startswith("|")]
        self.assertEqual(
            rows,
            [
                "| elements | `scan` | CUB | device copy | of CUB | of the copy |",
                "| --- | --: | --: | --: | --: | --: |",
                "| 2²⁸ | 4130 | 3304 | 4236 | 1.25× | 97.5 % |",
            ],
        )


class Places(ReportTest):
    """Documents in folders, and the ladders in one of them."""

    def test_the_ladders_may_stand_in_a_document(self):
        self.result("a", [self.gemm("naive", 5)])
        self.write("README.md", "# A project\n")
        self.write("docs/learn/ladder.md", README)
        self.run_report()
        self.assertIn("| `naive` |", self.read("docs/learn/ladder.md"))
        self.assertIn("](../pictures/ladder_gemm.svg)", self.read("docs/learn/ladder.md"))
        self.assertEqual(self.read("README.md"), "# A project\n")
        self.run_report("--check")

    def test_the_ladders_stand_in_one_place_only(self):
        self.result("a", [self.gemm("naive", 5)])
        self.write("docs/learn.md", README)
        self.assertIn("expected one line <!-- ladder:begin -->", self.run_report(code=1))

    def test_documents_in_folders_have_programs_tables_and_figures(self):
        self.result("a", [self.gemm("naive", 5), self.product("fp32", 220, 4096)])
        self.write("examples/a.cpp", "int main() {}\n")
        self.write(
            "docs/design/gemm.md",
            "<!-- program examples/a.cpp -->\n```cpp\n```\n<!-- table speed -->\n<!-- table end -->\n<!-- rate gemm naive 4096 -->1<!-- end -->\n",
        )
        self.assertIn("docs/design/gemm.md does not agree", self.run_report("--check", code=1))
        self.run_report()
        text = self.read("docs/design/gemm.md")
        for expected in (
            "```cpp\nint main() {}\n```",
            "](../pictures/gemm_ratio.svg)",
            "<!-- rate gemm naive 4096 -->5.00<!-- end -->",
        ):
            self.assertIn(expected, text)


if __name__ == "__main__":
    unittest.main()
