#!/usr/bin/env python3
"""report.py on made-up results: what the tables say, which figures count, what is marked, and what --check finds."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

SCRIPTS = pathlib.Path(sys.argv.pop())
README = "# A project\n\nBefore.\n\n<!-- ladder:begin -->\n<!-- ladder:end -->\n\nAfter.\n"
MACHINE = {"name": "Some GPU", "driver": "1.2", "cuda": {"built_with": "13.0"}}
CUBE = (4096, 4096, 4096)


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("README.md", README)
        self.write("src/gemm/kernels_plain.cuh", "int product(int x);\n")
        self.write("src/scan/kernels_sum.cuh", "int sum(int x);\n")
        (self.root / "bench/results").mkdir(parents=True)
        lines = subprocess.run([sys.executable, SCRIPTS / "fingerprint.py", "--root", self.root], capture_output=True, text=True, check=True).stdout
        self.code = dict(line.split() for line in lines.splitlines())

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name):
        return (self.root / name).read_text()

    def gemm(self, step, tflops, shape=CUBE, cublas=50.0, **members):
        m, n, k = shape
        return {"kernel": f"gemm.ladder.{step}", "policy": step, "adds": f"what {step} adds", "shape": {"m": m, "n": n, "k": k}, "type": "f32",
                "layout": "nn", "protocol": "rested", "verified": True, "code": self.code["gemm"],
                "time_us": {"ours": 2e-6 * m * n * k / tflops, "cublas_fp32": 2e-6 * m * n * k / cublas}, **members}

    def scan(self, step, rate, n, **members):
        return {"kernel": f"scan.ladder.{step}", "policy": step, "adds": "", "shape": {"n": n}, "type": "f32", "protocol": "rested", "verified": True,
                "code": self.code["scan"], "time_us": {"ours": 8e-3 * n / rate, "cub": 8e-3 * n / 3000, "memcpy": 8e-3 * n / 4000}, **members}

    def result(self, name, records, **members):
        file = {"schema": 1, "machine": MACHINE, "date": "2026-01-02T03:04:05Z", "commit": "abc", "records": records, **members}
        self.write(f"bench/results/{name}.json", json.dumps(file))

    def run_report(self, *arguments, code=0):
        done = subprocess.run([sys.executable, SCRIPTS / "report.py", "--root", self.root, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    def row(self, label):
        """The cells of the README's row that begins with the label."""
        rows = [line for line in self.read("README.md").splitlines() if line.startswith(f"| {label} |")]
        self.assertEqual(len(rows), 1, self.read("README.md"))
        return [cell.strip() for cell in rows[0].strip("|").split("|")]

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
        self.result("a", [self.gemm("naive", 5), self.gemm("naive", 3, odd), self.gemm("naive", 4, (1024,) * 3), self.gemm("naive", 4.5, protocol="hot"),
                          self.gemm("tiled", 8, overlap={"formula": 1.25})])
        self.run_report()
        self.assertEqual(self.row("step")[2:], ["1024³", "4096³", "4095×4097×1003", "gain at 4096³", "of cuBLAS FP32", "(Tl + Tc) / max", "4096³, hot"])
        self.assertEqual(self.row("`naive`")[2:], ["4.00", "5.00", "3.00", "", "10 %", "", "4.50"])
        self.assertEqual(self.row("`tiled`")[2:], ["", "8.00", "", "+60.0 %", "16 %", "1.25", ""])

    def test_scans(self):
        self.result("a", [self.scan("slow", 500, 1 << 16), self.scan("slow", 600, 1 << 28), self.scan("fast", 2400, 1 << 28)])
        self.run_report()
        self.assertEqual(self.row("step"), ["step", "adds", "2¹⁶", "2²⁸", "gain at 2²⁸", "of CUB"])
        self.assertEqual(self.row("`slow`")[2:], ["500", "600", "", "20 %"])
        self.assertEqual(self.row("`fast`")[2:], ["", "2400", "+300.0 %", "80 %"])
        self.assertEqual(self.row("**device copy**")[2:], ["4000", "4000", "", ""])
        self.assertTrue((self.root / "docs/pictures/ladder_scan.svg").exists())
        self.assertFalse((self.root / "docs/pictures/ladder_gemm.svg").exists())

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
        self.result("b", [self.gemm("naive", 9)], date="2026-02-01T00:00:00Z", machine={"name": "Another GPU"})
        self.run_report()
        self.assertEqual(self.row("`naive`")[2], "9.00")
        self.assertNotIn("`tiled`", self.read("README.md"))
        self.assertIn("Another GPU; 2026-02-01", self.read("README.md"))

    def test_a_refused_step_has_no_row(self):
        self.result("a", [self.gemm("naive", 5), {"kernel": "gemm.ladder.tiled", "policy": "tiled", "refused": "too large"}])
        self.run_report()
        self.assertNotIn("`tiled`", self.read("README.md"))

    def test_figures_of_other_code_are_marked(self):
        self.result("a", [self.gemm("naive", 5), self.gemm("tiled", 8, code="0123456789abcdef")])
        self.run_report()
        self.assertEqual(self.row("`tiled`")[2], "8.00 †")
        self.assertEqual(self.row("`naive`")[2], "5.00")
        self.assertEqual(self.row("**cuBLAS FP32**")[2], "50.0")
        self.assertIn("† measured before the code changed.", self.read("README.md"))
        self.assertIn("tiled †", self.read("docs/pictures/ladder_gemm.svg"))

    def test_a_change_of_the_code_makes_figures_stale_and_one_of_comments_does_not(self):
        self.ladder()
        self.run_report()
        self.write("src/gemm/kernels_plain.cuh", "// A product.\nint product( int x );\n")
        self.run_report("--check")
        self.write("src/gemm/kernels_plain.cuh", "long product(int x);\n")
        self.assertIn("README.md does not agree with bench/results", self.run_report("--check", code=1))
        self.run_report()
        self.assertEqual(self.row("`tiled`")[2], "8.00 †")
        self.run_report("--check")

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
        self.write("README.md", self.read("README.md") + "<!-- program examples/a.cpp -->\n```cpp\nint mine() {}\n```\nEnd.\n")
        self.run_report("--check", code=1)
        self.run_report()
        self.assertIn("```cpp\nint main() {}\n```\nEnd.", self.read("README.md"))
        self.run_report("--check")

    def test_programs_and_outputs_in_documents(self):
        self.write("README.md", README)
        self.write("examples/CMakeLists.txt", "project(a)\n")
        self.write("examples/output.txt", "1 finding\nhere\nand there\n")
        for results in range(2):  # documents without a figure are kept too, whether there are results or not
            self.write("docs/a.md", "<!-- program examples/CMakeLists.txt -->\n```cmake\n```\nand\n<!-- output examples/output.txt 1-2 -->\n```\nold\n```\nEnd.")
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
        good = {"schema": 1, "machine": MACHINE, "date": "2026-01-02T03:04:05Z", "commit": "abc", "records": [self.gemm("naive", 5)]}

        def broken(change):
            file = copy.deepcopy(good)
            change(file, file["records"][0])
            return json.dumps(file)
        for text, words in (
                ("{", "not JSON"),
                (broken(lambda file, record: file.update(schema=2)), "schema 2: expected 1"),
                (broken(lambda file, record: file.pop("date")), "'date' is missing"),
                (broken(lambda file, record: record.pop("code")), "'code' is missing"),
                (broken(lambda file, record: record["shape"].pop("k")), "'k' is missing"),
                (broken(lambda file, record: record.update(verified=False)), "not verified"),
                (broken(lambda file, record: record.update(protocol="warm")), "protocol 'warm'"),
                (broken(lambda file, record: record.update(kernel="sort.ladder.x")), "kernel 'sort.ladder.x'"),
                (broken(lambda file, record: record["time_us"].update(ours=0)), "time of ours is 0"),
                (broken(lambda file, record: record["time_us"].update(cublas_fp32="fast")), "time of cublas_fp32 is fast"),
                (broken(lambda file, record: record["time_us"].pop("ours")), "no time of ours")):
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


if __name__ == "__main__":
    unittest.main()
