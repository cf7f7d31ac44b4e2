#!/usr/bin/env python3
"""fingerprint.py on a made-up tree: comments, layout and the CPU's side do not matter, code does, wherever it is included from."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(SCRIPTS))
import fingerprint  # noqa: E402

TREE = {
    "src/gemm/ladder/kernels_plain.cuh": '// The kernels.\n#include <antiphase/gemm/tiled.cuh>\n#include <vector>\n#include "list.cuh"\nint a(int x) { return x+1; }\n',
    "src/gemm/list.cuh": '#pragma once\nconst char* name = "a // b  c";  // a name\n',
    "src/gemm/gemm.cpp": "int host() { return 1; }\n",
    "src/gemm/ladder/tiled.cuh": "#pragma once\n#include <antiphase/core/tile.hpp>\n#include <antiphase/device/load.cuh>\n#define SUM(x) \\\n  (x + 1)\n",
    "include/antiphase/core/tile.hpp": "#pragma once\n#include <antiphase/executor/cpu/machine.hpp>\nstruct tile { int m; };\n",
    "include/antiphase/executor/cpu/machine.hpp": "struct machine {};\n",
    "include/antiphase/device/load.cuh": """#pragma once
#if !AP_ON_GPU
#include <antiphase/device/host_only.hpp>
#endif
inline int load(int x) {
#if AP_ON_GPU
#if __CUDA_ARCH__ >= 900
  return __ldg_new(x);
#else
  return __ldg_old(x);
#endif
#else  // on the CPU
#ifdef SOMETHING
  x += 2;
#endif
  return cpu_load(x);
#endif
}
""",
    "include/antiphase/device/host_only.hpp": "struct host_only {};\n",
    "include/antiphase/core/unused.hpp": "struct unused {};\n",
    "src/scan/kernels_sum.cuh": "int b(int x) { return x - 1; }\n",
    "tool/measure/kernels_own_scan.cuh": "#include <antiphase/own.cuh>\nint c();\n",
    "include/antiphase/own.cuh": "int d();\n",
}
TILED, TILE, PLAIN, LIST = ("src/gemm/ladder/tiled.cuh", "include/antiphase/core/tile.hpp", "src/gemm/ladder/kernels_plain.cuh", "src/gemm/list.cuh")
LOAD, HOST_ONLY = "include/antiphase/device/load.cuh", "include/antiphase/device/host_only.hpp"


class Fingerprint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in TREE.items():
            self.write(name, text)
        self.before = self.codes()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_script(self, *arguments):
        done = subprocess.run([sys.executable, str(SCRIPTS / "fingerprint.py"), "--root", str(self.root), *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def codes(self):
        return dict(line.split() for line in self.run_script().splitlines())

    def change(self, name, old, new):
        self.assertIn(old, TREE[name])
        self.write(name, TREE[name].replace(old, new))

    def assert_same(self, name, old, new):
        self.change(name, old, new)
        self.assertEqual(self.codes(), self.before, f"{old!r} to {new!r}")

    def assert_changed(self, name, old, new):
        self.change(name, old, new)
        after = self.codes()
        self.assertNotEqual(after["gemm"], self.before["gemm"], f"{old!r} to {new!r}")
        self.assertEqual(after["scan"], self.before["scan"])

    def test_what_a_fingerprint_looks_like(self):
        self.assertEqual(sorted(self.before), ["gemm", "scan", "scan.own"])
        for code in self.before.values():
            self.assertRegex(code, "^[0-9a-f]{16}$")
        self.assertNotEqual(self.before["gemm"], self.before["scan"])

    def test_the_files_of_a_family(self):
        self.assertEqual(self.run_script("--files", "gemm").split(), [TILE, LOAD, TILED, PLAIN, LIST])

    def test_scans_with_types_of_ones_own_are_a_family(self):
        self.assertEqual(self.run_script("--files", "scan.own").split(), ["include/antiphase/own.cuh", "tool/measure/kernels_own_scan.cuh"])
        self.change("include/antiphase/own.cuh", "int d", "long d")
        self.assertEqual({family for family, code in self.codes().items() if code != self.before[family]}, {"scan.own"})
        self.assertEqual([fingerprint.family_of(kernel) for kernel in ("scan.own", "scan.own.x", "scan.owner", "scan.sum", "gemm.fp32", "gemma.x")],
                         ["scan.own", "scan.own", "scan", "scan", "gemm", None])

    def test_comments_do_not_matter(self):
        self.assert_same(PLAIN, "// The kernels.", "/* Some kernels,\n   described. */")
        self.assert_same(TILE, "int m;", "int m;  // rows \"and\" 'more'\n")
        self.assert_same(LIST, "  // a name", "")
        self.assert_same(PLAIN, "return x+1", "return /* one more */ x+1")

    def test_layout_does_not_matter(self):
        self.assert_same(PLAIN, "{ return x+1; }", "{\n\n    return x + 1;\n}")
        self.assert_same(TILE, "struct tile { int m; };", "struct tile\n{\n\tint m;\n};")
        self.assert_same(TILED, "\\\n  (x + 1)", "(x + 1)")
        self.assert_same(PLAIN, "#include", "#  include")

    def test_code_matters(self):
        self.assert_changed(PLAIN, "x+1", "x+2")
        self.assert_changed(TILE, "int m;", "long m;")
        self.assert_changed(TILED, "(x + 1)", "(x - 1)")
        self.assert_changed(PLAIN, "int a", "inta")

    def test_what_is_inside_a_string_is_code(self):
        self.assert_changed(LIST, "a // b", "a // c")
        self.assert_changed(LIST, "b  c", "b c")

    def test_the_branches_of_the_cpu_do_not_matter(self):
        self.assert_same(LOAD, "cpu_load(x)", "cpu_load(x + 1)")
        self.assert_same(LOAD, "x += 2", "x += 3")
        self.assert_same(LOAD, "#ifdef SOMETHING", "#if SOMETHING > 2")
        self.assert_same(LOAD, "host_only.hpp>", "other.hpp>")
        self.write(HOST_ONLY, "struct host_only { int more; };\n")
        self.assertEqual(self.codes(), self.before)

    def test_the_branches_of_a_gpu_matter(self):
        self.assert_changed(LOAD, "__ldg_new(x)", "__ldg_new(x + 1)")
        self.assert_changed(LOAD, "__ldg_old(x)", "__ldg_old(x + 1)")
        self.assert_changed(LOAD, "__CUDA_ARCH__ >= 900", "__CUDA_ARCH__ >= 800")
        self.assert_changed(LOAD, "#if AP_ON_GPU", "#if !AP_ON_GPU")
        self.assert_changed(LOAD, "#if !AP_ON_GPU", "#if AP_ON_GPU")

    def test_conditions(self):
        gpu = ("AP_ON_GPU", "defined(__CUDACC__)", "defined __CUDACC__", "AP_ON_GPU || defined(X)", "!defined(AP_CHECKED)", "AP_ON_GPU && !(0 || AP_EVERY_LANE_ARRIVES)",
               "!defined(AP_EVERY_LANE_ARRIVES)")
        cpu = ("!AP_ON_GPU", "!defined(__CUDACC__)", "defined(AP_CHECKED)", "X >= 3 && !AP_ON_GPU", "AP_EVERY_LANE_ARRIVES", "0")
        unknown = ("X", "defined(X)", "AP_ON_GPU == 1", "AP_ON_GPU && X", "X(3) || Y != 2", "!(AP_ON_GPU && X)", "__has_include(<x>)")
        for conditions, holds in ((gpu, True), (cpu, False), (unknown, None)):
            for condition in conditions:
                self.assertIs(fingerprint.holds(condition), holds, condition)

    def test_a_branch_after_an_undecided_one(self):
        text = "#if X\nint a;\n#elif AP_ON_GPU\nint b;\n#elif Y\nint c;\n#else\nint d;\n#endif\nint e;\n"
        self.write(LOAD, text)
        before = self.codes()["gemm"]
        for word, matters in (("int a", True), ("int b", True), ("int c", False), ("int d", False), ("int e", True), ("#elif AP_ON_GPU\n", True)):
            self.write(LOAD, text.replace(word, "long;" if word.startswith("int") else ""))
            self.assertEqual(self.codes()["gemm"] != before, matters, word)

    def test_joined_operators_are_not_separate_ones(self):
        self.assert_changed(PLAIN, "x+1", "x+ +1")
        self.change(PLAIN, "x+1", "x++1")
        joined = self.codes()
        self.change(PLAIN, "x+1", "x+ +1")
        self.assertNotEqual(self.codes(), joined)

    def test_a_directive_ends_with_its_line(self):
        self.change(TILED, "\\\n  (x + 1)", "(x) + 1")
        one_line = self.codes()
        self.change(TILED, "\\\n  (x + 1)", "(x)\n + 1")
        self.assertNotEqual(self.codes(), one_line)

    def test_digit_separators_do_not_open_characters(self):
        self.change(PLAIN, "x+1", "x + 1'000'000 // first")
        first = self.codes()
        self.change(PLAIN, "x+1", "x + 1'000'000 // second")
        self.assertEqual(self.codes(), first)

    def test_a_new_file_of_kernels_matters(self):
        self.write("src/gemm/kernels_more.cuh", "int c();\n")
        self.assertNotEqual(self.codes()["gemm"], self.before["gemm"])

    def test_what_no_gpu_kernel_includes_does_not_matter(self):
        for name in ("src/gemm/gemm.cpp", "include/antiphase/core/unused.hpp", "include/antiphase/executor/cpu/machine.hpp"):
            self.write(name, TREE[name] + "int more;\n")
        self.assertEqual(self.codes(), self.before)

    def test_the_source_for_the_tool(self):
        file = self.root / "made" / "provenance.cpp"
        self.run_script("--source", str(file))
        self.assertIn(f'starts_with("gemm.")) return "{self.before["gemm"]}"', file.read_text())
        self.assertIn('built_from() { return ""; }', file.read_text())  # no git here
        written = file.stat().st_mtime_ns
        self.run_script("--source", str(file))
        self.assertEqual(file.stat().st_mtime_ns, written, "was written although nothing has changed")

    def test_the_commit_and_whether_the_code_is_that_of_it(self):
        def git(*arguments):
            subprocess.run(["git", "-C", str(self.root), "-c", "user.name=n", "-c", "user.email=e", *arguments], check=True, capture_output=True)
        git("init", "-q")
        git("add", ".")
        git("commit", "-q", "-m", "all")
        file = self.root / "provenance.cpp"
        self.run_script("--source", str(file))
        self.assertRegex(file.read_text(), r'built_from\(\) \{ return "[0-9a-f]{12}"; \}')
        self.change(PLAIN, "x+1", "x+2")
        self.run_script("--source", str(file))
        self.assertRegex(file.read_text(), r'built_from\(\) \{ return "[0-9a-f]{12}-dirty"; \}')


if __name__ == "__main__":
    unittest.main()
