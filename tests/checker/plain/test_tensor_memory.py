#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks kernels of Blackwell whose sums are in Tensor Memory, right ones and ones with a mistake, of which three are
like those that public reports describe; cluster launch control; fragments of matrices (wmma).

    test_tensor_memory.py TOOL
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(sys.argv[1]).resolve()
ROWS, COLUMNS, DEPTH, ROUNDS = 128, 32, 16, 2
HEAD = ".version 8.6\n.target sm_100a\n.address_size 64\n"
REGISTERS = "{" + ", ".join(f"%f{i}" for i in range(COLUMNS)) + "}"


def wait(barrier, parity):
    return f"""{{ .reg .pred done;
W: mbarrier.try_wait.parity.shared.b64 done, [{barrier}], {parity};
@!done bra W; }}
"""


def product(
    wait_for_load=True,
    used_early=False,
    fences=("before", "after"),
    early_free=False,
    commit=True,
    release=True,
    free=True,
):
    """Warp 4 multiplies twice into the same sums; warps 0 to 3 take them out in between."""
    before, after = (
        f"tcgen05.fence::{side}_thread_sync;\n" if side in fences else "" for side in ("before", "after")
    )
    sums = multiply = ""
    for i in range(ROUNDS):
        sums += wait("full", i % 2) + after
        sums += f"tcgen05.ld.sync.aligned.32x32b.x32.b32 {REGISTERS}, [%lane];\n"
        stores = "".join(
            f"st.global.f32 [%out+{(i * ROWS * COLUMNS + n) * 4}], %f{n};\n" for n in range(COLUMNS)
        )
        if used_early == "arithmetic":
            sums += "".join(f"add.f32 %f{n}, %f{n}, 0f00000000;\n" for n in range(COLUMNS))
        elif used_early:
            sums += stores
        if wait_for_load:
            sums += "tcgen05.wait::ld.sync.aligned;\n"
        if release:
            sums += before + "mbarrier.arrive.shared.b64 _, [empty];\n"
        if not wait_for_load and used_early is not True:
            sums += "tcgen05.wait::ld.sync.aligned;\n"
        if used_early is not True:
            sums += stores
        if i > 0 and release:
            multiply += wait("empty", (i - 1) % 2) + "bar.warp.sync -1;\n"
        multiply += after
        multiply += "@%first tcgen05.mma.cta_group::1.kind::f16 [%base], %da, %db, %form, 0;\n"
        multiply += "@%first tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];\n"
    if not commit:
        multiply = multiply.replace(
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full]",
            "mbarrier.arrive.shared.b64 _, [full]",
        )
    end = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 32;\n" if free else ""
    return (
        HEAD
        + f"""
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out) .reqntid 160 {{
.reg .b32 %r<10>; .reg .b64 %d<10>; .reg .pred %p<4>; .reg .pred %first; .reg .f32 %f<{COLUMNS}>;
.reg .b32 %base, %lane, %form, %warp; .reg .b64 %da, %db, %out;
.shared .align 128 .b8 sa[4096]; .shared .align 128 .b8 sb[1024];
.shared .align 8 .b64 full; .shared .align 8 .b64 empty; .shared .align 4 .b32 base;
mov.u32 %r0, %tid.x; shr.u32 %warp, %r0, 5;
setp.ne.u32 %p0, %r0, 0;
@%p0 bra INIT;
mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [empty], 128;
fence.mbarrier_init.release.cluster;
INIT: setp.ne.u32 %p0, %warp, 4;
@%p0 bra ALLOC;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
bra FILLED;
ALLOC: shr.u32 %r1, %r0, 3; shl.b32 %r1, %r1, 8; and.b32 %r2, %r0, 7; shl.b32 %r2, %r2, 4; add.u32 %r1, %r1, %r2;
mul.wide.u32 %d0, %r0, 32; ld.param.u64 %d1, [a]; add.u64 %d1, %d1, %d0;
mov.u32 %r2, sa; add.u32 %r2, %r2, %r1;
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d1]; st.shared.v4.b32 [%r2], {{%r4, %r5, %r6, %r7}};
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d1+16]; st.shared.v4.b32 [%r2+128], {{%r4, %r5, %r6, %r7}};
setp.ge.u32 %p1, %r0, 32;
@%p1 bra FILLED;
ld.param.u64 %d1, [b]; add.u64 %d1, %d1, %d0; mov.u32 %r2, sb; add.u32 %r2, %r2, %r1;
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d1]; st.shared.v4.b32 [%r2], {{%r4, %r5, %r6, %r7}};
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d1+16]; st.shared.v4.b32 [%r2+128], {{%r4, %r5, %r6, %r7}};
FILLED: fence.proxy.async.shared::cta; bar.sync 0;
ld.shared.b32 %base, [base];
@!%p0 bra MULTIPLY;
shl.b32 %lane, %warp, 21; add.u32 %lane, %lane, %base;
ld.param.u64 %out, [out]; mul.wide.u32 %d0, %r0, {COLUMNS * 4}; add.u64 %out, %out, %d0;
{sums}bra END;
MULTIPLY: and.b32 %r1, %r0, 31; setp.eq.u32 %first, %r1, 0;
mov.b32 %form, {0x10 | COLUMNS // 8 << 17 | ROWS // 16 << 24};
mov.u32 %r2, sa; shr.u32 %r2, %r2, 4; cvt.u64.u32 %da, %r2; or.b64 %da, %da, {8 << 16 | 16 << 32};
mov.u32 %r2, sb; shr.u32 %r2, %r2, 4; cvt.u64.u32 %db, %r2; or.b64 %db, %db, {8 << 16 | 16 << 32};
{multiply}{end if early_free else ""}END: bar.sync 0;
@%p0 bra OUT;
{"" if early_free else end}OUT: ret;
}}
"""
    )


PAIR = (
    HEAD
    + f"""
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out) .reqntid 128 .reqnctapercluster 2, 1, 1 {{
.reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %first, %p; .reg .f32 %f<{COLUMNS}>;
.reg .b32 %base, %lane, %form, %warp, %rank; .reg .b64 %da, %db, %out;
.shared .align 128 .b8 sa[4096]; .shared .align 128 .b8 sb[512]; .shared .align 8 .b64 full; .shared .align 4 .b32 base;
mov.u32 %r0, %tid.x; mov.u32 %rank, %cluster_ctarank; shr.u32 %warp, %r0, 5; setp.ne.u32 %first, %r0, 0;
@%first bra BEGUN;
mbarrier.init.shared.b64 [full], 1;
fence.mbarrier_init.release.cluster;
BEGUN:
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; // all have begun
setp.ne.u32 %p, %warp, 0;
@%p bra FILL;
tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [base], 32;
FILL: shr.u32 %r1, %r0, 3; shl.b32 %r1, %r1, 8; and.b32 %r2, %r0, 7; shl.b32 %r2, %r2, 4; add.u32 %r1, %r1, %r2;
mul.lo.u32 %r2, %rank, 128; add.u32 %r2, %r2, %r0; mul.wide.u32 %d0, %r2, 32; ld.param.u64 %d1, [a]; add.u64 %d1, %d1, %d0;
mov.u32 %r3, sa; add.u32 %r3, %r3, %r1;
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d1]; st.shared.v4.b32 [%r3], {{%r4, %r5, %r6, %r7}};
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d1+16]; st.shared.v4.b32 [%r3+128], {{%r4, %r5, %r6, %r7}};
setp.ge.u32 %p, %r0, 16;
@%p bra FILLED;
mul.lo.u32 %r2, %rank, 16; add.u32 %r2, %r2, %r0; mul.wide.u32 %d0, %r2, 32; ld.param.u64 %d1, [b]; add.u64 %d1, %d1, %d0;
mov.u32 %r3, sb; add.u32 %r3, %r3, %r1;
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d1]; st.shared.v4.b32 [%r3], {{%r4, %r5, %r6, %r7}};
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d1+16]; st.shared.v4.b32 [%r3+128], {{%r4, %r5, %r6, %r7}};
FILLED: fence.proxy.async.shared::cta;
tcgen05.fence::before_thread_sync; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; // all are filled
tcgen05.fence::after_thread_sync;
ld.shared.b32 %base, [base];
setp.ne.u32 %p, %rank, 0; // the second block issues nothing
@%p bra TAKE;
@%first bra TAKE;
mov.b32 %form, {0x10 | COLUMNS // 8 << 17 | 2 * ROWS // 16 << 24};
mov.u32 %r2, sa; and.b32 %r2, %r2, 262143; shr.u32 %r2, %r2, 4; cvt.u64.u32 %da, %r2; or.b64 %da, %da, {8 << 16 | 16 << 32};
mov.u32 %r2, sb; and.b32 %r2, %r2, 262143; shr.u32 %r2, %r2, 4; cvt.u64.u32 %db, %r2; or.b64 %db, %db, {8 << 16 | 16 << 32};
mov.b32 %r3, 0;
tcgen05.mma.cta_group::2.kind::f16 [%base], %da, %db, %form, {{%r3, %r3, %r3, %r3, %r3, %r3, %r3, %r3}}, 0;
tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [full], 3;
TAKE: {wait("full", 0)}
tcgen05.fence::after_thread_sync;
shl.b32 %lane, %warp, 21; add.u32 %lane, %lane, %base;
tcgen05.ld.sync.aligned.32x32b.x32.b32 {REGISTERS}, [%lane];
tcgen05.wait::ld.sync.aligned;
mul.lo.u32 %r2, %rank, 128; add.u32 %r2, %r2, %r0; ld.param.u64 %out, [out]; mul.wide.u32 %d0, %r2, {COLUMNS * 4};
add.u64 %out, %out, %d0;
{"".join(f"st.global.f32 [%out+{4 * n}], %f{n};" for n in range(COLUMNS))}
tcgen05.fence::before_thread_sync;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; // all have loaded
tcgen05.fence::after_thread_sync;
setp.ne.u32 %p, %warp, 0;
@%p bra END;
tcgen05.dealloc.cta_group::2.sync.aligned.b32 %base, 32;
END: ret;
}}
"""
)


def numbers(count, seed):
    """What "data": "random" gives an array."""
    return [((i * 2654435761 + seed * 40503) % 2**64 >> 7 & 31) - 16 for i in range(count)]


class TensorMemory(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check(self, text, launch, schedules=2):
        (self.folder / "k.ptx").write_text(text)
        (self.folder / "k.json").write_text(json.dumps({"kernel": "k", "grid": 1} | launch))
        done = subprocess.run(
            [TOOL, "check", "k.ptx", "--launch", "k.json", "--schedules", str(schedules), "--json"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertIn(done.returncode, (0, 4, 5), done.stderr + done.stdout)
        return json.loads(done.stdout)["programs"][0]["findings"]

    @staticmethod
    def launch_of_product():
        return {
            "block": 160,
            "arguments": [
                {"array": "f16", "count": ROWS * DEPTH, "data": "random", "seed": 1},
                {"array": "f16", "count": COLUMNS * DEPTH, "data": "random", "seed": 2},
                {"array": "f32", "count": ROUNDS * ROWS * COLUMNS, "data": "none", "output": "out"},
            ],
        }

    def errors_of_product(self, **changes):
        found = self.check(product(**changes), self.launch_of_product())
        return {f["kind"] for f in found if f["severity"] == "error"}

    def test_a_product_is_right_and_clean(self):
        self.assertEqual(self.check(product(), self.launch_of_product()), [])
        got = [x for (x,) in struct.iter_unpack("f", (self.folder / "out").read_bytes())]
        a, b = numbers(ROWS * DEPTH, 1), numbers(COLUMNS * DEPTH, 2)
        for i in range(0, len(got), 37):
            row, column = i // COLUMNS % ROWS, i % COLUMNS
            self.assertEqual(got[i], sum(a[row * DEPTH + k] * b[column * DEPTH + k] for k in range(DEPTH)), i)

    def test_what_is_missing_is_reported_at_its_line(self):
        cases = [  # without what, severity, kind, instruction of the line, what is missing
            # like flashinfer#5334
            (
                {"wait_for_load": False},
                "error",
                "overwritten in use",
                "tcgen05.mma",
                "tcgen05.wait::ld by the warp",
            ),
            # like its look-alikes: a register is read before, which GPUs wait for
            (
                {"wait_for_load": False, "used_early": True},
                *(
                    "pedantic",
                    "read before landing",
                    "st.global",
                    "tcgen05.wait::ld before the loaded registers",
                ),
            ),
            (  # arithmetic may be moved past the arrival
                {"wait_for_load": False, "used_early": "arithmetic"},
                "error",
                "overwritten in use",
                "tcgen05.mma",
                "tcgen05.wait::ld by the warp",
            ),
            (
                {"commit": False},
                "error",
                "read before landing",
                "tcgen05.ld",
                "tcgen05.commit after the Tensor Core",
            ),
            (
                {"fences": ["before"]},
                "pedantic",
                "race",
                "tcgen05.ld",
                "tcgen05.fence::after_thread_sync between",
            ),
            (
                {"fences": ["after"]},
                "pedantic",
                "race",
                "tcgen05.mma",
                "tcgen05.fence::before_thread_sync by thread 0",
            ),
            (
                {"free": False},
                "error",
                "memory leak",
                "tcgen05.alloc",
                "tcgen05.dealloc before the block ends",
            ),
        ]
        for changes, severity, kind, instruction, missing in cases:
            with self.subTest(missing):
                text = product(**changes)
                found = self.check(text, self.launch_of_product(), 1)
                self.assertIn(
                    (severity, kind, True),
                    {
                        (
                            f["severity"],
                            f["kind"],
                            text.splitlines()[f["access"]["at"]["line"] - 1].find(instruction) >= 0
                            and f["missing"]["text"].startswith(missing),
                        )
                        for f in found
                    },
                    found,
                )
                if severity == "pedantic":
                    self.assertEqual({f["severity"] for f in found}, {"pedantic"})

    def test_addresses_without_the_lanes_of_the_warp(self):  # as TileLang has them
        text = product().replace("shl.b32 %lane, %warp, 21;", "mov.b32 %lane, 0;")
        found = self.check(text, self.launch_of_product(), 2)
        self.assertEqual({(f["severity"], f["kind"]) for f in found}, {("pedantic", "access outside memory")})
        got = (self.folder / "out").read_bytes()
        self.assertEqual(self.check(product(), self.launch_of_product(), 1), [])
        self.assertEqual((self.folder / "out").read_bytes(), got)
        text = text.replace("mov.b32 %lane, 0;", "mov.b32 %lane, 4194304;")
        self.assertIn("kernel gave up", {f["kind"] for f in self.check(text, self.launch_of_product(), 1)})

    def test_sums_are_never_given_back(self):
        self.assertNotEqual(self.errors_of_product(release=False), set())

    def test_columns_are_freed_while_others_load_them(self):
        self.assertNotEqual(self.errors_of_product(early_free=True), set())

    LAUNCH_OF_PAIR = {
        "grid": 2,
        "block": 128,
        "arguments": [
            {"array": "f16", "count": 2 * ROWS * DEPTH, "data": "random", "seed": 1},
            {"array": "f16", "count": COLUMNS * DEPTH, "data": "random", "seed": 2},
            {"array": "f32", "count": 2 * ROWS * COLUMNS, "data": "none", "output": "out"},
        ],
    }

    def test_a_pair_of_blocks_multiplies(self):
        self.assertEqual(self.check(PAIR, self.LAUNCH_OF_PAIR), [])
        got = [x for (x,) in struct.iter_unpack("f", (self.folder / "out").read_bytes())]
        a, b = numbers(2 * ROWS * DEPTH, 1), numbers(COLUMNS * DEPTH, 2)
        for i in range(0, len(got), 37):
            row, column = divmod(i, COLUMNS)
            self.assertEqual(got[i], sum(a[row * DEPTH + k] * b[column * DEPTH + k] for k in range(DEPTH)), i)

    def test_mistakes_of_a_pair(self):
        barrier = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; // all "
        cases = [  # what is replaced, by what, what is reported
            (barrier + "have begun", "", "the other block may not have begun"),  # like cutlass#3316
            (barrier + "are filled", "bar.sync 0;", "a cluster barrier, or a release and an acquire"),
            (".multicast::cluster.b64 [full], 3", ".b64 [full]", "deadlock"),
            ("@%p bra TAKE;\n", "", "tcgen05.commit after the Tensor Core operation"),  # both blocks issue it
            ("alloc.cta_group::2", "alloc.cta_group::1", "with cta_group::1 and with cta_group::2"),
        ]
        for old, new, reported in cases:
            with self.subTest(reported, new=new):
                self.assertEqual(PAIR.count(old), 1 + (old[0] == "a"))
                found = self.check(PAIR.replace(old, new, 1), self.LAUNCH_OF_PAIR, 1)
                said = json.dumps([f for f in found if f["severity"] == "error"])
                self.assertIn(reported, said)

    def test_factors_of_blocks_are_copied_and_applied(self):
        """Ones of e4m3, and factors of powers of 2 from shared memory."""
        columns = 32
        text = (
            HEAD
            + f""".visible .entry k(.param .u64 out) .reqntid 128 {{
.reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p; .reg .f32 %f<{columns}>;
.reg .b32 %base, %lane, %form, %warp; .reg .b64 %da, %db, %ds, %out;
.shared .align 128 .b8 sa[4096]; .shared .align 128 .b8 factors[512]; .shared .align 8 .b64 full; .shared .align 4 .b32 base;
mov.u32 %r0, %tid.x; shr.u32 %warp, %r0, 5; setp.ne.u32 %p, %r0, 0;
@%p bra INIT;
mbarrier.init.shared.b64 [full], 1;
INIT: setp.ne.u32 %p, %warp, 0;
@%p bra FILL;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 64;
FILL: mov.u32 %r1, sa; shl.b32 %r2, %r0, 5; add.u32 %r1, %r1, %r2; mov.b32 %r3, 0x38383838;
st.shared.v4.b32 [%r1], {{%r3, %r3, %r3, %r3}}; st.shared.v4.b32 [%r1+16], {{%r3, %r3, %r3, %r3}};
and.b32 %r2, %r0, 31; shl.b32 %r2, %r2, 4; shl.b32 %r4, %warp, 2; add.u32 %r2, %r2, %r4;
mov.u32 %r1, factors; add.u32 %r1, %r1, %r2; rem.u32 %r3, %r0, 5; add.u32 %r3, %r3, 127; st.shared.b32 [%r1], %r3;
fence.proxy.async.shared::cta; bar.sync 0;
ld.shared.b32 %base, [base]; setp.ne.u32 %p, %r0, 0;
@%p bra TAKE;
mov.b32 %form, {columns // 8 << 17 | 1 << 23 | ROWS // 16 << 24};
mov.u32 %r2, sa; shr.u32 %r2, %r2, 4; cvt.u64.u32 %da, %r2; or.b64 %da, %da, {8 << 16 | 16 << 32};
mov.u32 %r2, factors; shr.u32 %r2, %r2, 4; cvt.u64.u32 %ds, %r2; or.b64 %ds, %ds, {8 << 16 | 8 << 32};
add.u32 %r2, %base, 32;
tcgen05.cp.cta_group::1.32x128b.warpx4 [%r2], %ds;
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%base], %da, %da, %form, [%r2], [%r2], 0;
tcgen05.shift.cta_group::1.down [%base]; // 8 columns
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];
TAKE: {wait("full", 0)}
tcgen05.fence::after_thread_sync;
shl.b32 %lane, %warp, 21; add.u32 %lane, %lane, %base;
tcgen05.ld.sync.aligned.32x32b.x32.b32 {REGISTERS}, [%lane];
tcgen05.wait::ld.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
ld.param.u64 %out, [out]; mul.wide.u32 %d0, %r0, {columns * 4}; add.u64 %out, %out, %d0;
{"".join(f"st.global.f32 [%out+{4 * n}], %f{n};" for n in range(columns))}
setp.ne.u32 %p, %warp, 0;
@%p bra END;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 64;
END: ret;
}}
"""
        )
        row = lambda r, n: r + 1 if n < 8 and r + 1 < ROWS else r
        expected = [32.0 * 2 ** (row(r, n) % 5) * 2 ** (n % 5) for r in range(ROWS) for n in range(columns)]
        arguments = [{"array": "f32", "count": len(expected), "data": "none", "expected": expected}]
        self.assertEqual(self.check(text, {"block": 128, "arguments": arguments}, 1), [])

    def test_numbers_are_stored_and_loaded_by_warps(self):
        text = (
            HEAD
            + """.visible .entry k(.param .u64 to) .reqntid 128 {
.reg .b32 %r<4>; .reg .b32 %base, %lane; .reg .b64 %d<2>; .reg .pred %p;
.shared .align 4 .b32 base;
mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; setp.ne.u32 %p, %r1, 0;
@%p bra ALLOCATED;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
ALLOCATED: bar.sync 0;
ld.shared.b32 %base, [base]; shl.b32 %lane, %r1, 21; add.u32 %lane, %lane, %base;
mul.lo.u32 %r2, %r0, 3;
tcgen05.st.sync.aligned.32x32b.x1.b32 [%lane], {%r2};
tcgen05.wait::st.sync.aligned;
tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%lane];
tcgen05.wait::ld.sync.aligned;
ld.param.u64 %d0, [to]; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r3;
bar.sync 0;
@%p bra END;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 32;
END: ret;
}
"""
        )
        expected = [3 * i for i in range(128)]
        launch = {
            "block": 128,
            "arguments": [{"array": "i32", "count": 128, "data": "none", "expected": expected}],
        }
        self.assertEqual(self.check(text, launch), [])

    def test_fragments_of_matrices(self):
        def registers(letter):
            return "{" + ", ".join(f"%{letter}{i}" for i in range(8)) + "}"

        text = (
            HEAD
            + f""".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 to) .reqntid 32 {{
.reg .b32 %a<8>; .reg .b32 %b<8>; .reg .f32 %f<8>; .reg .b32 %n; .reg .b64 %d<3>;
ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y]; ld.param.u64 %d2, [to]; mov.u32 %n, 16;
wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {registers("a")}, [%d0], %n;
wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {registers("b")}, [%d1], %n;
{" ".join(f"mov.f32 %f{i}, 0f00000000;" for i in range(8))}
wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {registers("f")}, {registers("a")}, {registers("b")}, {registers("f")};
wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d2], {registers("f")}, %n;
ret;
}}
"""
        )
        launch = {
            "block": 32,
            "arguments": [
                {"array": "f16", "count": 256, "data": "random", "seed": 1},
                {"array": "f16", "count": 256, "data": "random", "seed": 2},
                {"array": "f32", "count": 256, "data": "none", "output": "out"},
            ],
        }
        self.assertEqual(self.check(text, launch), [])
        got = [x for (x,) in struct.iter_unpack("f", (self.folder / "out").read_bytes())]
        a, b = numbers(256, 1), numbers(256, 2)
        self.assertEqual(
            got, [sum(a[r * 16 + k] * b[c * 16 + k] for k in range(16)) for r in range(16) for c in range(16)]
        )

    def test_a_loop_over_tiles_ends_when_no_launch_can_be_canceled(self):  # like tilelang#2410
        body = """.visible .entry k(.param .u64 to) {
.reg .b32 %r<9>; .reg .b64 %d<3>; .reg .b128 %q; .reg .pred %p<3>;
.shared .align 16 .b8 answer[16]; .shared .align 8 .b64 full;
mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0;
@%p0 bra BEGIN;
mbarrier.init.shared.b64 [full], 1; fence.mbarrier_init.release.cluster;
BEGIN: bar.sync 0; mov.u32 %r1, 0;
TILE: @%p0 bra WAIT;
EXPECT
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [full];
WAIT: { .reg .pred done;
W: mbarrier.try_wait.parity.shared.b64 done, [full], 0;
@!done bra W; }
ld.shared.b128 %q, [answer];
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q;
add.u32 %r1, %r1, 1;
@%p1 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r2, %r3, %r4, %r5}, %q;
@%p1 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r2, %q;
@%p1 clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r3, %q;
@%p1 clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r4, %q;
@%p1 bra TILE;
ld.param.u64 %d0, [to]; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r1;
ret;
}
"""
        launch = {
            "block": 64,
            "arguments": [{"array": "i32", "count": 64, "data": "none", "expected": [1] * 64}],
        }
        right = body.replace("EXPECT", "mbarrier.arrive.expect_tx.shared.b64 _, [full], 16;")
        self.assertEqual(self.check(HEAD + right, launch), [])
        # Bytes that no arrival expects: the phase does not end, and all wait.
        found = self.check(HEAD + body.replace("EXPECT", ""), launch, schedules=2)
        self.assertIn("deadlock", {f["kind"] for f in found})


unittest.main(argv=sys.argv[:1])
