#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks PTX modules (tests/checker/plain/ptx), as compilers made them and with an instruction removed.

    test_ptx.py TOOL FOLDER
"""
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

TOOL, FOLDER = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SUM = FOLDER.parents[3] / "examples/plain_cuda/sum.cu"
HEAD = ".version 8.5\n.target sm_90a\n.address_size 64\n"


def numbers(count, seed):
    """What "random" in a description of a launch is."""
    return [((i * 2654435761 + seed * 40503) % 2**64 >> 7 & 31) - 16 for i in range(count)]


class Modules(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_tool(self, *words):
        return subprocess.run([TOOL, *words], cwd=self.folder, capture_output=True, text=True, timeout=120)

    def findings(self, *words, schedules=6):
        done = self.run_tool("check", *words, "--schedules", str(schedules), "--json")
        self.assertIn(done.returncode, (0, 5), done.stderr + done.stdout)
        return json.loads(done.stdout)["programs"][0]["findings"]

    def errors(self, *words, **options):
        return {
            (f["kind"], pathlib.Path(f["access"]["at"]["file"]).name, f["access"]["at"]["line"])
            for f in self.findings(*words, **options)
            if f["severity"] == "error"
        }

    def take(self, name, *without):
        """A module of the folder and its launch; `without`: texts whose first line each goes."""
        text = (FOLDER / f"{name}.ptx").read_text()
        for line in without:
            self.assertIn(line, text)
            start = text.index(line)
            text = text[:start] + text[text.index("\n", start) :]
        (self.folder / f"{name}.ptx").write_text(text)
        (self.folder / f"{name}.json").write_text((FOLDER / f"{name}.json").read_text())
        return f"{name}.ptx", "--launch", f"{name}.json"

    def module(self, text, launch):
        (self.folder / "k.ptx").write_text(HEAD + text)
        (self.folder / "k.json").write_text(json.dumps({"kernel": "k", "grid": 1, "block": 64} | launch))
        return "k.ptx", "--launch", "k.json"

    def read(self, name, letter):
        return [x for (x,) in struct.iter_unpack(letter, (self.folder / name).read_bytes())]

    def test_nvcc_gives_the_findings_of_the_source(self):
        from_source = self.errors(SUM)
        self.assertEqual(
            from_source, {("overwritten in use", "sum.cu", 11), ("race", "sum.cu", 13)}, "the source itself"
        )
        self.assertEqual(self.errors(*self.take("sum")), from_source)

    def test_a_driver_may_declare_the_kernel_as_the_source_does(self):
        self.take("sum")
        (self.folder / "driver.cpp").write_text(
            "__global__ void sum(const int*, int*);\nint main() {\n  int *a, *b;\n  cudaMalloc(&a, 512), "
            "cudaMalloc(&b, 8);\n  cudaMemset(a, 0, 512);\n  sum<<<2, 64>>>(a, b);\n  cudaDeviceSynchronize();\n"
            "  cudaFree(a), cudaFree(b);\n}\n"
        )
        self.assertIn(("overwritten in use", "sum.cu", 11), self.errors("sum.ptx", "--kernels", "driver.cpp"))

    def test_a_barrier_in_a_branch_and_a_variable_of_the_host(self):
        body = """.extern .const .align 4 .b8 limit[4];
.visible .entry k(.param .u64 to) {
  .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p<2>;
  ld.param.u64 %d0, [to];
  mov.u32 %r0, %tid.x;
  ld.const.u32 %r1, [limit];
  setp.ge.u32 %p0, %r0, %r1;
  @%p0 bra JOIN;
  bar.sync 0;
JOIN:
  st.global.u32 [%d0], 1;
  ret;
}
"""
        (self.folder / "k.ptx").write_text(HEAD + body)
        driver = """__constant__ unsigned limit[1];
int main() {
  const unsigned most = LIMIT;
  int* to;
  cudaMalloc(&to, 4);
  cudaMemcpyToSymbol(limit, &most, 4);
  k<<<1, 64>>>(to);
  cudaDeviceSynchronize();
  cudaFree(to);
}
"""
        for limit, found in ((64, False), (32, True)):
            (self.folder / "d.cpp").write_text(driver.replace("LIMIT", str(limit)))
            errors = self.errors("k.ptx", "--kernels", "d.cpp")
            self.assertEqual(("divergent barrier", "k.ptx", 12) in errors, found, (limit, errors))

    def test_a_product_of_triton_is_clean_and_right(self):
        self.assertEqual(self.findings(*self.take("product")), [])
        got, (n, k) = self.read("product.out", "f"), (64, 192)
        a, b = numbers(128 * k, 1), numbers(k * n, 2)
        self.assertEqual(len(got), 128 * n)
        for i in range(0, len(got), 61):
            want = sum(a[i // n * k + s] * b[s * n + i % n] for s in range(k))
            self.assertEqual(got[i], want, i)

    def test_a_product_without_one_of_its_orders_is_accused(self):
        dot, store = 30, 33
        for gone, kind, line in (
            ("cp.async.wait_group \t2", "read before landing", dot),
            ("fence.proxy.async", "missing proxy fence", dot),
            ("wgmma.wait_group.sync.aligned 1", "overwritten in use", dot),
            ("wgmma.wait_group.sync.aligned 0", "overwritten in use", store),
        ):
            with self.subTest(gone):
                self.assertIn((kind, "make_fixtures.py", line), self.errors(*self.take("product", gone)))

    def test_a_softmax_of_triton_is_right_and_needs_its_barriers(self):
        words = self.take("softmax")
        self.assertEqual(self.errors(*words), set())
        got = self.read("softmax.out", "f")
        x = numbers(400, 1)
        for row in (0, 200):
            powers = [math.exp(v - max(x[row : row + 200])) for v in x[row : row + 200]]
            for i, p in enumerate(powers):
                self.assertAlmostEqual(got[row + i], p / sum(powers), places=5)
        self.assertIn(("race", "make_fixtures.py", 40), self.errors(*self.take("softmax", "bar.sync")))

    def test_a_fix_is_for_the_source_alone(self):
        (self.folder / "sum.cu").write_text(SUM.read_text())
        fixed = self.run_tool("check", *self.take("sum"), "--fix", "--schedules", "4").stdout
        self.assertIn("+    __syncthreads();\n", fixed)
        text = (FOLDER / "sum.ptx").read_text().replace("\t.loc\t", "\t// ")
        self.take("sum")
        (self.folder / "sum.ptx").write_text(text)
        fixed = self.run_tool("check", "sum.ptx", "--launch", "sum.json", "--fix", "--schedules", "4").stdout
        self.assertIn("at sum.ptx:", fixed)
        self.assertIn("no added barrier, wait or fence helps", fixed)

    def test_count_names_the_lines_of_the_source(self):
        done = self.run_tool("count", *self.take("sum"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("part[t] += part[t + half]", self.run_tool("count", SUM).stdout)
        self.assertRegex(done.stdout, r"(?m)^ *11 +shared read")

    def test_scopes_calls_tables_and_polls_give_the_right_numbers(self):
        words = self.module(
            """
.global .align 4 .u32 table[4] = {10, 20, 30, 40};
.func (.param .b32 r) twice(.param .b32 a) {
  .reg .b32 %r<2>;
  ld.param.b32 %r0, [a];
  add.s32 %r1, %r0, %r0;
  st.param.b32 [r], %r1;
  ret;
}
.visible .entry k(.param .u64 to, .param .align 4 .b8 add[8]) .reqntid 64 {
  .reg .b32 %r<20>;
  .reg .b64 %d<9>;
  .reg .pred %p<4>;
  .shared .align 8 .b64 full;
  ld.param.u64 %d0, [to];
  ld.param.u32 %r9, [add+4];
  mov.u32 %r0, %tid.x;
  setp.ne.s32 %p0, %r0, 0;
  @%p0 bra SKIP;
  mbarrier.init.shared.b64 [full], 64;
SKIP:
  bar.sync 0;
  mbarrier.arrive.shared.b64 _, [full];
  { .reg .pred done;
  W: mbarrier.try_wait.parity.shared.b64 done, [full], 0;
  @done bra OUT; bra W;
  OUT: }
  and.b32 %r1, %r0, 3;
  mov.u64 %d1, table;
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d1, %d1, %d2;
  ld.global.u32 %r2, [%d1];
  { .param .b32 p; .param .b32 q;
  st.param.b32 [p], %r2;
  call.uni (q), twice, (p);
  ld.param.b32 %r3, [q]; }
  { .reg .pred done;
  W: setp.gt.u32 done, %r3, 79;
  @done bra OUT;
  add.s32 %r3, %r3, 1;
  bra W;
  OUT: }
  mov.b32 %r10, 0;
  div.u32 %r11, %r3, %r10;
  add.s32 %r3, %r3, %r9;
  add.s32 %r3, %r3, -1;
  mul.wide.u32 %d2, %r0, 4;
  add.s64 %d3, %d0, %d2;
  @!%p0 st.global.u32 [%d3+0], 7;
  @%p0 st.global.u32 [%d3], %r3;
  ret;
}
""",
            {
                "arguments": [
                    {"array": "i32", "count": 64, "data": "none", "expected": [7] + [84] * 63},
                    {"bytes": [0, 0, 0, 0, 5, 0, 0, 0]},
                ]
            },
        )
        self.assertEqual(self.findings(*words), [])

    def test_numbers_of_a_half_and_unordered_comparisons(self):
        body, expected = "", []
        for code, value in (
            ("mov.b32 %r0, 0x3C004000; fma.rn.f16x2 %r1, %r0, %r0, %r0;", 0x40004600),
            ("mov.b16 %h0, 0x3F80; neg.bf16 %h1, %h0; mov.b32 %r1, {%h1, %h0};", 0x3F80BF80),
            ("mov.f32 %f0, 0f7FC00000; setp.ltu.f32 %p0, %f0, 0f00000000; selp.u32 %r1, 3, 4, %p0;", 3),
            ("mov.f32 %f0, 0f7FC00000; setp.ne.f32 %p0, %f0, 0f00000000; selp.u32 %r1, 3, 4, %p0;", 4),
            ("mov.f32 %f0, 0f3F800000; setp.geu.f32 %p0, %f0, 0f40000000; selp.u32 %r1, 3, 4, %p0;", 4),
            ("bmsk.clamp.b32 %r1, 4, 8;", 0xFF0),
            ("mov.b32 %r0, 0x00F0; bfind.shiftamt.u32 %r1, %r0;", 24),
            ("mov.b32 %r0, 0x00F0; fns.b32 %r1, %r0, 0, 2;", 5),
            ("mov.b32 %r0, -1; add.cc.u32 %r1, %r0, 1; addc.u32 %r1, 5, 0;", 6),
            ("mov.b64 %d3, {%r9, %r9}; add.rn.f32x2 %d3, %d3, %d3; mov.b64 {%r1, %r2}, %d3;", 0),
            ("set.lt.u32.s32 %r1, -1, 1;", 0xFFFFFFFF),
            ("setp.lt.s32 %p0, 0, 1; vote.ballot.sync.b32 %r1, %p0, 0xFFFFFFFF;", 0xFFFFFFFF),
            ("match.all.sync.b32 %r1|%p0, 7, 0xFFFFFFFF;", 0xFFFFFFFF),
            ("dp4a.u32.u32 %r1, 0x01020304, 0x01010101, 1;", 11),
            ("vabsdiff4.u32.u32.u32 %r1, 0x01FF0304, 0x03010009, 0;", 0x02FE0305),
            ("vabsdiff4.u32.s32.s32.add %r1, 0x01FF0304, 0x03010009, 7;", 19),
            ("vabsdiff2.u32.s32.s32 %r1, 0xFFFF0004, 0x00010009, 0;", 0x00020005),
            ("cvt.rni.f32.f32 %f0, 0f40200000; mov.b32 %r1, %f0;", 0x40000000),
            ("cvt.sat.u8.s32 %h0, -5; cvt.u32.u16 %r1, %h0;", 0),
            ("mov.u32 %r1, WARP_SZ;", 32),
            ("mov.u32 %r1, %dynamic_smem_size;", 96),
        ):
            body += f"{code}\nst.global.b32 [%d0+{4 * len(expected)}], %r1;\n"
            expected.append(value)
        words = self.module(
            ".visible .entry k(.param .u64 to) {\n.reg .b32 %r<10>; .reg .b16 %h<4>; .reg .f32 %f<4>; .reg .b64 %d<9>;\n"
            ".reg .pred %p<4>;\nld.param.u64 %d0, [to];\n" + body + "ret;\n}\n",
            {
                "block": 32,
                "shared": 96,
                "arguments": [{"array": "u32", "count": len(expected), "data": "none", "expected": expected}],
            },
        )
        self.assertEqual([f for f in self.findings(*words, schedules=1) if f["severity"] == "error"], [])

    def test_what_is_not_supported_matters_if_it_is_reached(self):
        body = (
            ".visible .entry k(.param .u32 n) {\n.reg .b32 %r<3>; .reg .pred %p<2>;\nld.param.u32 %r0, [n];\n"
            "setp.eq.s32 %p0, %r0, 0;\n@%p0 bra OUT;\ntcgen05.mma.sp [%r0];\nOUT: ret;\n}\n"
        )
        self.assertEqual(self.findings(*self.module(body, {"arguments": [0]})), [])
        done = self.run_tool("check", *self.module(body, {"arguments": [1]}))
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("k.ptx:9: PTX 'tcgen05.mma.sp' is not supported here", done.stderr)

    def test_a_load_that_a_selection_drops_is_no_race(self):
        body = """.visible .entry k(.param .u64 to) {
  .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred %p<2>;
  .shared .align 4 .b32 s;
  ld.param.u64 %d0, [to];
  mov.u32 %r0, %tid.x;
  setp.eq.s32 %p0, %r0, 0;
  @!%p0 bra READ;
  st.shared.u32 [s], 5;
READ:
  ld.shared.u32 %r1, [s];
  selp.b32 %r2, %r1, 0, PREDICATE;
  mul.wide.u32 %d1, %r0, 4;
  add.s64 %d1, %d0, %d1;
  st.global.u32 [%d1], %r2;
  ret;
}
"""
        launch = {"arguments": [{"array": "i32", "count": 64, "data": "none"}]}
        self.assertEqual(self.findings(*self.module(body.replace("PREDICATE", "%p0"), launch)), [])
        used = body.replace("selp.b32 %r2, %r1, 0, PREDICATE", "add.s32 %r2, %r1, 0")
        self.assertIn("race", {kind for kind, _, _ in self.errors(*self.module(used, launch))})

    def test_unwritten_memory_may_be_read_if_nothing_depends_on_it(self):
        body = """.file 1 "/home/me/k.cu"
.file 2 "/usr/local/cuda/include/cub/warp/warp_merge_sort.cuh"
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 format[4] = {37, 100, 10, 0};
.visible .entry k(.param .u64 to, .param .u32 mask) {
  .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .pred %p<2>; .local .align 8 .b8 a[8];
  .shared .align 4 .b8 s[512];
  .loc 1 5 0
  ld.param.u64 %d0, [to];
  ld.param.u32 %r5, [mask];
  mov.u32 %r0, %tid.x;
  shl.b32 %r1, %r0, 2;
  mov.u32 %r2, s;
  add.s32 %r2, %r2, %r1;
  .loc 1 6 0
  .loc PLACE
  ld.shared.u32 %r3, [%r2+256];
  .loc 1 7 0
  USE
  mul.wide.u32 %d1, %r0, 4;
  add.s64 %d1, %d0, %d1;
  st.global.u32 [%d1], %r4;
  ret;
}
"""
        user, toolkit = "1 6 0", "2 9 0, function_name $L, inlined_at 1 6 0"
        printed = (
            "mov.u32 %r4, 7; mov.u64 %d1, format; mov.u64 %d2, a; st.local.u32 [a], %r3; { .param .b64 x; "
            ".param .b64 y; .param .b32 z; st.param.b64 [x], %d1; st.param.b64 [y], %d2; "
            "call.uni (z), vprintf, (x, y); }"
        )
        masked, kept = "and.b32 %r4, %r3, %r5;", "st.shared.u32 [%r2], %r3;"
        for place, use, mask, is_error in (
            (toolkit, masked, 0, False),
            (toolkit, masked, 0xFFFFFFFF, True),
            (toolkit, printed, 0, True),
            (user, masked, 0, True),
            (user, f"{kept} mov.u32 %r4, 7;", 0, False),
            (user, f"min.s32 %r3, %r3, %r5; {kept} mov.u32 %r4, 7;", 0, False),
            (user, f"{kept} ld.shared.u32 %r4, [%r2];", 0, True),
            (user, f"{kept} mov.u32 %r4, 7; setp.eq.s32 %p1, %r3, 5; @%p1 bra L; L:", 0, True),
            (user, f"{kept} mov.u32 %r4, 7; and.b32 %r3, %r3, 4; st.shared.u32 [%r3], 1;", 0, True),
        ):
            with self.subTest(place=place, use=use, mask=mask):
                text = body.replace("PLACE", place).replace("USE", use)
                array = {"array": "i32", "count": 64, "data": "none"}
                errors = self.errors(*self.module(text, {"arguments": [array, mask]}), schedules=2)
                expected = {("uninitialised memory read", "k.cu", 6)} if is_error else set()
                self.assertEqual({e for e in errors if e[0].startswith("uninit")}, expected)

    def test_a_launch_that_is_not_as_it_should_be_is_one_sentence(self):
        self.take("sum")
        for text, message in (
            ("{", "line 1 is not JSON: expected an object with kernel, grid, block and arguments"),
            ('{"kernel": "sun"}', "there is no kernel 'sun': expected one of _Z3sumPKiPi"),
        ):
            (self.folder / "l.json").write_text(text)
            done = self.run_tool("check", "sum.ptx", "--launch", "l.json")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertTrue(done.stderr.rstrip().endswith(f"l.json: {message}"), done.stderr)
        self.assertIn(
            "there is no file 'm.json'", self.run_tool("check", "sum.ptx", "--launch", "m.json").stderr
        )
        self.assertIn("--launch", self.run_tool("check", "sum.ptx").stderr)


unittest.main(argv=sys.argv[:1])
