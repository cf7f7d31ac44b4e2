# SPDX-License-Identifier: Apache-2.0
"""The course: every lab refuses its start and each mutant of its solution, and passes the solution."""
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from process import TOOL, ToolTest, main, results

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/pages"))
import course_notebook

WITH_CHECKER = unittest.skipUnless(os.environ.get("ANTIPHASE_BROKEN_TOOL"), "this build has no checker")
COURSE = pathlib.Path(__file__).resolve().parents[2] / "docs/course"
STARTS = {  # what a lab says of its unfilled start; lab 1 is begun as a student would
    0: "moves 16 sectors of 32 bytes: expected 4",
    2: "13 barriers: expected one in each of 6 steps",
    3: "a thread loads 38 elements from global memory: expected two",
    4: "stores a number that was loaded just before",
    5: "fewer than 1 of the next tiles are on their way|overwritten in use",
    6: "fewer than 1 of the next tiles are on their way",
    7: "race|read before landing",
    8: "a thread reads or writes global memory itself",
    9: "a scanning thread reads global memory",
    10: "products are made in 0 turns",
    11: "loads 3 times from global memory: expected 16 bytes",
    12: "16 fit, expected 4",
    13: "takes 32 wavefronts: expected 1",
    14: "reads 256 numbers of A and B from shared memory: expected 8 of each",
}
COUNTED = (0, 12, 13)  # labs whose figures are counts, not ticks

COMPUTE = (COURSE / "solutions/07-roles.cu").read_text()  # from the end of the loading warp's loop on
COMPUTE = COMPUTE[COMPUTE.index("    }\n  } else {") : COMPUTE.index("    }\n    to[t] = sum")].rstrip("\n")
MUTANTS = {  # lab: (text of the solution, what takes its place, what is said)
    0: [
        ("i < n; i += threads", "i < n; i += blockDim.x", "wrong result, n = 100, 2 blocks of 32 threads"),
        (  # the last thread does what is left
            "for (int i = t; i < n; i += threads)",
            "for (int i = t; i < n; i += t < threads - 1 ? n : 1)",
            "writes 37 numbers",
        ),
    ],
    1: [
        (
            "    x[t] += other;",
            "    __syncthreads();\n    x[t] += other;",
            "19 barriers: expected two in each of 6",
        ),
        (
            "  for (int stride = 1; stride < blockDim.x; stride *= 2) {",
            "  if (t == 1) for (int i = 1; i < n; ++i) x[i] += x[i - 1];\n  __syncthreads();\n"
            "  for (int stride = 1; stride < 0; stride *= 2) {",
            "does the work of others",
        ),
    ],
    2: [("to[t] = x[in][t]", "to[t] = x[0][t]", "wrong result, n = 2, threads = 2: element 1 is")],
    3: [
        ("k < K; k += tile", "k < K / tile * tile; k += tile", "wrong result, M x N x K = 1 x 1 x 1"),
        (  # threads of the first block do it right, others read B in global memory
            "sum += a[y][i] * b[i][x];",
            "sum += a[y][i] * (column < 8 ? b[i][x] : k + i < K && column < N ? B[(k + i) * N + column] : 0);",
            "a thread loads 25 elements from global memory",
        ),
    ],
    4: [
        (
            "b[next][y][x] = next_b;",
            "b[next][y][x] = next_b;\n    __syncthreads();",
            "6 barriers: expected one",
        ),
        (
            "next_b = load_b((i + 1) * tile);",
            "next_b = load_b((i + 1) * tile), b[next][y][x] = next_b;",
            "stores a number that was loaded just before",
        ),
        (  # one multiply-add between load and store
            "    for (int k = 0; k < tile; ++k) sum += a[now][y][k] * b[now][k][x];\n"
            "    if (i + 1 < tiles) a[next][y][x] = next_a, b[next][y][x] = next_b;",
            "    sum += a[now][y][0] * b[now][0][x];\n"
            "    if (i + 1 < tiles) a[next][y][x] = next_a, b[next][y][x] = next_b;\n"
            "    for (int k = 1; k < tile; ++k) sum += a[now][y][k] * b[now][k][x];",
            "expected the whole computation with a tile between load and store",
        ),
        (  # waits for the loads before the computation, by arithmetic that changes no finite sum
            "for (int k = 0; k < tile; ++k) sum +=",
            "sum += 0 * (next_a + next_b);\n    for (int k = 0; k < tile; ++k) sum +=",
            "what line 16 loads is computed with before the tile in use has been",
        ),
        (  # the second warp looks at a number at once
            "for (int k = 0; k < tile; ++k) sum +=",
            "if (y >= 4 && next_b == 1e30f) sum = -1;\n    for (int k = 0; k < tile; ++k) sum +=",
            "is computed with before the tile in use has been",
        ),
        (  # stores two numbers of their own, one scaled at once
            "next_a = load_a((i + 1) * tile), next_b",
            "next_a = load_a((i + 1) * tile) * (tile / 8 + 1) / 2, next_b",
            "is computed with before the tile in use has been",
        ),
        *[  # waits for a load without arithmetic: looks at bits, hands them to other lanes, converts or stores them
            (
                "for (int k = 0; k < tile; ++k) sum +=",
                early + "\n    for (int k = 0; k < tile; ++k) sum +=",
                "is computed with before the tile in use has been",
            )
            for early in (
                "if ((__float_as_uint(next_b) & 0xffff) == 0x1234) sum = 0;",
                "switch (__float_as_uint(next_a) >> 24 & 127) { case 1: sum = 5; break; case 9: sum = 4; break;"
                " case 17: sum = 1; break; case 99: sum = 9; break; case 100: sum = 2; }",
                "next_a = __shfl_sync(~0u, next_a, (y * tile + x) % 32);",
                "const unsigned bits = __float_as_uint(next_a);\n"
                "    next_a = __uint_as_float((bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : bits + 0xfff >> 13 << 13);",
                "if (row < M && column < N) C[row * N + column] = next_a;",
                "__shared__ unsigned most;\n    atomicMax(&most, __float_as_uint(next_a));",
            )
        ],
        (  # another barrier
            "b[next][y][x] = next_b;",
            'b[next][y][x] = next_b;\n    asm volatile("bar.sync 1, 64;" ::: "memory");',
            "6 barriers: expected one",
        ),
    ],
    5: [
        (
            "    __pipeline_wait_prior(0);\n    __syncthreads();\n"
            "    if (i + 1 < tiles) load(i + 1, (i + 1) % 2);\n    __pipeline_commit();\n",
            "    if (i + 1 < tiles) load(i + 1, (i + 1) % 2);\n    __pipeline_commit();\n"
            "    __pipeline_wait_prior(1);\n    __syncthreads();\n",
            "overwritten in use",
        ),
        (  # the copy of A is waited for at once
            "    __pipeline_memcpy_async(&b[slot]",
            "    __pipeline_commit();\n    __pipeline_wait_prior(0);\n    __pipeline_memcpy_async(&b[slot]",
            "fewer than 1 of the next tiles are on their way",
        ),
    ],
    6: [
        ("stages == 1 ? 0 : stages - 2", "0", "fewer than 2 of the next tiles are on their way"),
        (  # all but one
            "stages == 1 ? 0 : stages - 2",
            "stages == 1 || x + y > 0 ? 0 : stages - 2",
            "fewer than 2 of the next tiles are on their way",
        ),
    ],
    7: [
        ("empty[s].wait(i / stages % 2 ^ 1)", "empty[s].wait(i / stages % 2)", "deadlock"),
        (
            "      empty[s].wait(i / stages % 2 ^ 1);\n",
            "",
            "an arrival after the reads, and a wait for it before this",
        ),
        (
            "      full[s].arrive_with_copies();",
            "      full[s].arrive_with_copies();\n      full[s].wait(i / stages % 2);",
            "a thread waits too early",
        ),
        (  # waits for the copies of a tile two tiles later, and arrives then
            "full[s].arrive_with_copies();\n    }",
            "__pipeline_commit();\n      __pipeline_wait_prior(2);\n"
            "      if (i >= 2) full[(i - 2) % stages].arrive();\n    }\n    __pipeline_wait_prior(0);\n"
            "    for (int i = max(0, tiles - 2); i < tiles; ++i) full[i % stages].arrive();",
            "a loading thread waits for copies 1 times before it has issued the last",
        ),
        (  # both roles meet after each tile
            f"full[s].arrive_with_copies();\n{COMPUTE}",
            'full[s].arrive_with_copies();\n      asm volatile("bar.sync 1, 96;");\n'
            f'{COMPUTE}\n      asm volatile("bar.sync 1, 96;");',
            "2 barriers of both roles: expected one",
        ),
        (
            "full[s].arrive_with_copies()",
            "full[s].arrive()",
            "read before landing: cp.async.mbarrier.arrive.noinc by the thread that",
        ),
    ],
    8: [
        ("    fence_proxy();\n", "", "missing proxy fence"),
        ("stages - 1", "1", "a thread waits too early"),
        ("wait_until_read<1>();", "wait_until_read<0>();", "waits for the store that it has just started"),
    ],
    9: [
        (
            "      bulk_load(slot[s], from + i * tile, bytes, full[s]);",
            "      bulk_load(slot[s], from + i * tile, bytes, full[s]);\n      full[s].wait(i / stages % 2);",
            "a thread waits too early",
        ),
        (
            "    empty[s].arrive();\n    int all;\n    const int sum = before + scan_tile(value, t, sums[i % 2], all);",
            "    int all;\n    if (t < 32) empty[s].arrive();\n"
            "    const int sum = before + scan_tile(value, t, sums[i % 2], all);\n    if (t >= 32) empty[s].arrive();",
            "a slot is given back after the scan of its tile by warp 1",
        ),
    ],
    10: [
        ("if (group == 0 || i < tiles - 1) pass_turn();", "pass_turn();", "group 1 7 and group 0 6 times"),
        (
            "    if (group == 0 || i < tiles - 1) pass_turn();\n    softmax();",
            "    softmax();\n    if (group == 0 || i < tiles - 1) pass_turn();",
            "a softmax lies within a turn",
        ),
        (  # both groups multiply at once
            "wait_at(1 + group, queries); };\n  const auto pass_turn = [&] { arrive_at(2 - group, queries); };",
            "wait_at(3, queries); };\n  const auto pass_turn = [&] {};",
            "group 0 passes its turn on 0 times and group 1 waits 6 times",
        ),
    ],
    11: [
        ("a[depth][tile], b[depth][tile];", "a[depth][tile + 1], b[depth][tile + 1];", "misaligned access"),
        (
            "sum[r][c] += left[r] * right[c];",
            "sum[r][c] += a[i][y * each + r] * right[c];",
            "reads shared memory 136 times",
        ),
    ],
    12: [
        ("m.shared / (b.shared + m.reserved)", "m.shared / (b.shared + 1)", "4 fit, expected 3"),
        ("m.registers / 4 / of_warp * 4 / warps", "m.registers / of_warp / warps", "17 fit, expected 16"),
        ("  return best;", "  return 2;", "2 buffers have 16384 bytes in flight, 1 buffers 16384"),
        ("stages * slot * 4>>>", "slot>>>", "access outside memory"),
    ],
    13: [
        ("tile + 1]", "tile + 2]", "takes 2 wavefronts: expected 1"),
        (  # in all blocks but the first
            "= part[x][i];",
            "= row > 0 ? from[(row + x) * columns + column + i] : part[x][i];",
            "moves 32 sectors: expected 4",
        ),
    ],
    14: [
        ("    __syncthreads();\n    wmma::load", "    wmma::load", "race"),
        (
            "row_of_b = tile + 16",
            "row_of_b = tile + 1",
            "misaligned access: an address that is a multiple of 16",
        ),
        ("  wmma::fill_fragment(sum, 0.0f);\n", "", "wrong result"),
        (  # threads read numbers of their own, four at a time
            "    wmma::mma_sync(",
            "    unsigned long long own = 1;\n"
            "    for (int i = 0; i < 8; ++i)\n"
            "      own *= *reinterpret_cast<const unsigned long long*>(&a[row + i][0]) | 1;\n"
            "    if (own != 0) wmma::mma_sync(",
            "reads 48 numbers of A and B",
        ),
        (  # by shuffles, right for a pair of tiles: a lane has 8 numbers of A and 8 of B
            """    wmma::load_matrix_sync(of_a, &a[row][0], row_of_a);
    wmma::load_matrix_sync(of_b, &b[0][column], row_of_b);
    wmma::mma_sync(sum, of_a, of_b, sum);
    __syncthreads();
  }
  wmma::store_matrix_sync(&c[row][column], sum, row_of_c, wmma::mem_row_major);
""",
            """    const int lane = t % 32;
    float x[8], y[8];
    for (int i = 0; i < 8; ++i) x[i] = __half2float(a[row + lane / 2][lane % 2 * 8 + i]);
    for (int i = 0; i < 8; ++i) y[i] = __half2float(b[lane / 2][column + lane % 2 * 8 + i]);
    const auto from_b = [](const float* y, int lane, int at) {
      float number = 0;
      for (int j = 0; j < 8; ++j)
        if (const float q = __shfl_sync(~0u, y[j], lane); j == at) number = q;
      return number;
    };
    for (int r = lane / 16; r < 16; r += 2) {
      float all = 0;
      for (int at = 0; at < depth; ++at)
        all += __shfl_sync(~0u, x[at % 8], r * 2 + at / 8) * from_b(y, at * 2 + lane % 16 / 8, lane % 8);
      c[row + r][column + lane % 16] = all;
    }
    __syncthreads();
  }
""",
            "0 multiply-adds on Tensor Cores by all warps: expected at least 1",
        ),
    ],
}


ALSO_RIGHT = {  # lab: (what is replaced in the solution, and by what) ...: other ways that pass
    1: [
        [
            (
                "int other = t >= stride ? x[t - stride] : 0;",
                "int sum = x[t] + (t >= stride ? x[t - stride] : 0);",
            ),
            ("x[t] += other;", "x[t] = sum;"),
        ]
    ],
    3: [[("b[y][x] =", "b[x][y] ="), ("b[i][x]", "b[x][i]")]],
    4: [
        [  # two tiles in registers, the older of which is stored before the computation
            (
                "  if (tiles > 0) a[0][y][x] = load_a(0), b[0][y][x] = load_b(0);",
                "  float held_a[2] = {load_a(0), load_a(tile)}, held_b[2] = {load_b(0), load_b(tile)};\n"
                "  a[0][y][x] = held_a[0], b[0][y][x] = held_b[0];",
            ),
            (
                "    float next_a = 0, next_b = 0;\n"
                "    if (i + 1 < tiles) next_a = load_a((i + 1) * tile), next_b = load_b((i + 1) * tile);\n",
                "    held_a[now] = load_a((i + 2) * tile), held_b[now] = load_b((i + 2) * tile);\n"
                "    a[next][y][x] = held_a[next], b[next][y][x] = held_b[next];\n",
            ),
            ("    if (i + 1 < tiles) a[next][y][x] = next_a, b[next][y][x] = next_b;\n", ""),
        ],
        [  # pairs of numbers
            ("float a[2][tile][tile], b[2][tile][tile];", "float2 s[2][tile][tile];"),
            ("a[0][y][x] = load_a(0), b[0][y][x] = load_b(0)", "s[0][y][x] = {load_a(0), load_b(0)}"),
            ("a[now][y][k] * b[now][k][x]", "s[now][y][k].x * s[now][k][x].y"),
            ("a[next][y][x] = next_a, b[next][y][x] = next_b", "s[next][y][x] = {next_a, next_b}"),
        ],
        [  # bits in integers, looked at once the tile has been used; lanes that compare and hand on its numbers
            ("float next_a = 0, next_b = 0;", "int next_a = 0, next_b = 0;"),
            ("next_a = load_a((i + 1) * tile)", "next_a = __float_as_int(load_a((i + 1) * tile))"),
            ("next_b = load_b((i + 1) * tile)", "next_b = __float_as_int(load_b((i + 1) * tile))"),
            ("b[next][y][x] = next_b", "b[next][y][x] = next_b == 77 ? 0 : __int_as_float(next_b)"),
            (
                "a[next][y][x] = next_a",
                "a[next][y][x] = __shfl_xor_sync(~0u, __shfl_xor_sync(~0u, __int_as_float(next_a), 1), 1)",
            ),
            (
                "sum += a[now][y][k] * b[now][k][x];",
                "{\n      const float l = __shfl_sync(~0u, a[now][y][x], (y * tile + k) % 32);\n"
                "      if (l == a[now][y][k] && b[now][k][x] != 0) sum += l * b[now][k][x];\n    }",
            ),
        ],
    ],
    5: [  # groups of tiles that exist alone
        [
            (
                "load(i + 1, (i + 1) % 2);\n    __pipeline_commit();",
                "load(i + 1, (i + 1) % 2), __pipeline_commit();",
            )
        ]
    ],
    6: [
        [
            ("load(i, i % stages);\n    __pipeline_commit();", "load(i, i % stages), __pipeline_commit();"),
            ("stages == 1 ? 0 : stages - 2", "stages == 1 ? 0 : min(stages - 2, tiles - 1 - i)"),
        ]
    ],
    7: [  # a lane arrives for its warp, which meets when others have ended
        [
            ("empty[s].init(tile)", "empty[s].init(tile / 32)"),
            ("empty[s].arrive();", "__syncwarp();\n      if (t % 32 == 0) empty[s].arrive();"),
            ("empty[s].wait(i / stages % 2 ^ 1)", "if (i >= stages) empty[s].wait((i / stages - 1) % 2)"),
        ]
    ],
    10: [  # the last product with V has a turn, too
        [
            ("if (group == 0 || i < tiles - 1) pass_turn();", "pass_turn();"),
            (
                "  multiply_v(tiles - 1);",
                "  take_turn();\n  multiply_v(tiles - 1);\n  if (group == 0) pass_turn();",
            ),
        ]
    ],
}

LOAD = "if (i + 1 < tiles) load(i + 1, (i + 1) % 2);"
SYMPTOMS = {  # how a row of the table begins: (lab, what is wrong in its solution) ...
    "right only with `printf`": [(1, "    __syncthreads();\n    x[t] += other;", "    x[t] += other;")],
    "right on one GPU": [
        (1, "    x[t] += other;\n    __syncthreads();", "    x[t] += other;"),
        (5, "__pipeline_wait_prior(0);", "__pipeline_wait_prior(1);"),
    ],
    "right for blocks of 32 threads": [(1, "    __syncthreads();\n    x", "    __syncwarp();\n    x")],
    "wrong for every second size": [(2, "to[t] = x[in][t]", "to[t] = x[0][t]")],
    "the last row or column": [
        (3, ": 0;\n    b[y]", ": b[y][x];\n    b[y]"),
        (3, "row < M && k + x < K ?", "k + x < K ?"),
    ],
    "the last tile of K": [(3, "k < K; k +=", "k + tile <= K; k +=")],
    "stripes of wrong rows": [
        (3, "* b[i][x];\n    __syncthreads();", "* b[i][x];"),
        (5, "__pipeline_wait_prior(0);", "__pipeline_wait_prior(1);"),
    ],
    "the first two tiles": [
        (5, "    __pipeline_wait_prior(0);", "    __pipeline_wait_prior(0);\n    " + LOAD)
    ],
    "only the last tiles": [
        (6, ", i % stages);\n    __pipeline_commit();", ", i % stages), __pipeline_commit();")
    ],
    "it hangs at once": [(7, "empty[s].wait(i / stages % 2 ^ 1)", "empty[s].wait(i / stages % 2)")],
    "it hangs only for some sizes": [
        (1, "  x[t] = t < n", "  if (t % 64 >= 36) __syncthreads();\n  x[t] = t < n"),
        (7, "empty[s].arrive();", "if (t >= 32 || i % 2 == 0) empty[s].arrive();"),
    ],
    "it hangs after the first round": [(7, "      empty[s].arrive();\n", "")],
    "values of an older tile": [
        (8, "    fence_proxy();\n    __sync", "    __sync"),
        (8, "      wait_until_read<1>();", "     "),
    ],
    "the end of the array": [(8, "  if (t == 0) wait_until_stored();\n", "")],
    '"misaligned address"': [(8, "from + i * tile, bytes(i)", "from + 2 + i * tile, bytes(i)")],
    '"unspecified launch failure"': [
        (3, "row < M && k + x < K ?", "k + x < K ?"),
        (3, "    a[y][x] = row <", "    if (k + x >= K) __trap();\n    a[y][x] = row <"),
    ],
}


class Course(ToolTest):
    def run_in(self, folder, code=0):
        done = subprocess.run(
            [TOOL, "course", "check", "1"], cwd=self.folder / folder, capture_output=True, timeout=100
        )
        done.message = done.stderr.decode()
        self.assertEqual(done.returncode, code, done.message)
        return done

    def assess(self, lab, text, code):
        (self.folder / "start.cu").write_text(text)
        done = self.run_tool("course", "check", lab, "--json", "--schedules", 2, code=code)
        return json.loads(done.stdout)

    def said(self, report):
        return " | ".join(
            report["missing"] + [f["kind"] + ": " + f["missing"]["text"] for f in report["findings"]]
        )

    def lab(self, number):
        (folder,) = COURSE.glob(f"{number:02}-*")
        solution = (COURSE / "solutions" / f"{folder.name}.cu").read_text()
        start = (folder / "start.cu").read_text()
        self.assertRegex(self.said(self.assess(number, start, 5)), STARTS[number])
        self.assertTrue(self.assess(number, solution, 0)["passed"])
        if number not in COUNTED:
            self.told_ticks(folder, start, solution)
        self.mutants(number, solution)

    def told_ticks(self, folder, *programs):
        """The lab's text says what `trace` shows, of its start and of the solution, or of the latter alone."""
        text = (folder / "README.md").read_text().split("**Check.**")[1].replace("\n", " ")
        told = re.findall(r"(\d+) ticks", text)
        ticks = []
        for text in programs[-len(told) :]:
            (self.folder / "start.cu").write_text(text)
            (drawn,) = json.loads(self.run_tool("trace", "start.cu", "--json").stdout)["timelines"]
            ticks.append(drawn["duration"])
        self.assertGreaterEqual(len(told), 1)
        for shown, words in zip(sorted(ticks), sorted(map(int, told))):  # other compilers, other arithmetic
            self.assertAlmostEqual(shown, words, delta=0.05 * words)

    def mutants(self, number, solution):
        for replaced in ALSO_RIGHT.get(number, []):
            other = solution
            for ours, theirs in replaced:
                self.assertIn(ours, other)
                other = other.replace(ours, theirs)
            self.assertEqual(self.said(self.assess(number, other, 0)), "")
        for right, wrong, words in MUTANTS[number]:
            with self.subTest(lab=number, wrong=wrong):
                self.assertIn(right, solution)
                self.assertRegex(self.said(self.assess(number, solution.replace(right, wrong), 5)), words)

    @WITH_CHECKER
    def test_first_lab_as_a_student(self):
        self.assertIn("10  10-antiphase", self.run_tool("course", "list").stdout.decode())
        self.refused(3, ["no file 'start.cu'", "course start 1"], "course", "check", "1")
        for wrong in ("15", "1.5", "01-two"):
            self.refused(2, [f"no lab {wrong}:", "0 to 14"], "course", "start", wrong)
        for number, folder in (
            ("08", "08-bulk-copies"),
            ("9", "09-ring-of-a-scan"),
            ("10-antiphase", "10-antiphase"),
        ):
            self.run_tool("course", "start", number, "named")
            self.assertTrue((self.folder / "named" / folder / "start.cu").is_file())
        done = self.run_tool("course", "start", "1", "mine").stdout.decode()
        self.assertIn("antiphase course check 1 mine/01-two-barriers/start.cu", done)
        self.refused(2, ["'mine/01-two-barriers' is there already"], "course", "start", "1", "mine")
        folder = self.folder / "mine/01-two-barriers"
        self.assertEqual(
            {file.name for file in folder.iterdir()}, {"README.md", "start.cu", "strides.svg", "predict.txt"}
        )
        self.run_tool("course", "start", "4", "mine")
        self.assertTrue((self.folder / "mine/04-registers/slots.svg").exists())
        self.assertNotIn("<!--", (folder / "README.md").read_text())
        done = self.run_in("mine", 5)
        self.assertIn("missing  __syncthreads()", done.stdout.decode())
        self.assertIn("lab 1 is not done yet", done.message)
        solution = (COURSE / "solutions/01-two-barriers.cu").read_text()
        (folder / "start.cu").write_text(solution)
        done = self.run_in(folder)
        self.assertIn("lab 1 is done", done.stdout.decode())
        (folder / "start.cu").write_text("__global__ void scan(int* x) {}")
        self.assertIn("was not checked: expected a program that compiles", self.run_in(folder, 3).message)
        self.told_ticks(COURSE / folder.name, solution)
        self.mutants(1, solution)

    @WITH_CHECKER
    def test_lab_0(self):
        self.lab(0)

    @WITH_CHECKER
    def test_lab_2(self):
        self.lab(2)

    @WITH_CHECKER
    def test_lab_3(self):
        self.lab(3)

    @WITH_CHECKER
    def test_lab_4(self):
        self.lab(4)

    @WITH_CHECKER
    def test_lab_5(self):
        self.lab(5)

    @WITH_CHECKER
    def test_lab_6(self):
        self.lab(6)

    @WITH_CHECKER
    def test_lab_7(self):
        self.lab(7)

    @WITH_CHECKER
    def test_lab_8(self):
        self.lab(8)

    @WITH_CHECKER
    def test_lab_9(self):
        self.lab(9)

    @WITH_CHECKER
    def test_lab_10(self):
        self.lab(10)
        (folder,) = COURSE.glob("10-*")
        text = (folder / "README.md").read_text().replace("\n", " ")
        told = re.search(
            r"(\d+) multiply-adds a tick with two groups in antiphase, (\d+) with one", text
        ).groups()
        run = ("trace", "attention", "--on", "cpu", "--compare", "policy=antiphase,roles", "--json")
        for t, words in zip(json.loads(self.run_tool(*run).stdout)["timelines"], told):
            self.assertAlmostEqual(t["multiply_adds_per_tick"], int(words), delta=0.02 * int(words))

    @WITH_CHECKER
    def test_lab_11(self):
        self.lab(11)

    @WITH_CHECKER
    def test_lab_12(self):
        self.lab(12)

    @WITH_CHECKER
    def test_lab_13(self):
        self.lab(13)

    @WITH_CHECKER
    def test_lab_14(self):
        self.lab(14)

    def test_report_of_the_profile_is_what_was_counted(self):
        stored = json.loads((results() / "experiments/20261128-count-ncu.json").read_text())
        counted = {(s["kernel"], s["memory"], s["access"]): s["ncu"] for s in stored["series"]}
        with (COURSE / "13-profile/report.csv").open() as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 16)
        of = {"transpose": "transpose", "transpose, changed": "transpose_padded"}
        for row in rows:
            metric = row["Metric Name"]
            key = (
                of[row["Kernel Name"]],
                "shared" if "shared" in metric else "global",
                "read" if metric.endswith("_ld.sum") else "write",
            )
            requests = "requests" in metric or "inst_executed" in metric
            self.assertEqual(int(row["Metric Value"]), counted[key][0 if requests else 1], metric)

    @WITH_CHECKER
    def test_predictions_are_asked_for_and_scored(self):
        self.run_tool("course", "start", "0")
        sheet = self.folder / "00-first-kernel/predict.txt"
        text = sheet.read_text()
        questions = json.loads((COURSE / "predictions.json").read_text())["00-first-kernel"]
        self.assertEqual(text.count("answer:"), len(questions))
        solution = (COURSE / "solutions/00-first-kernel.cu").read_text()
        (sheet.parent / "start.cu").write_text(solution)

        def check(*answers, more=()):
            parts = text.split("answer:")
            filled = "".join(p + f"answer: {a}" for p, a in zip(parts, answers)) + parts[-1]
            sheet.write_text(filled if answers else text)
            return self.run_tool("course", "check", "0", "--schedules", 1, *more).stdout.decode()

        self.assertIn("predictions: none of 3 answered in 00-first-kernel/predict.txt", check())
        self.assertIn("predictions: 3 of 3 right", check(*(q["answer"] for q in questions)))
        said = " ".join(check(" 32. ", 5, "").split())
        self.assertIn(f"predictions: 1 of 3 right - 2. 5: expected 4. {questions[1]['why']}", said)
        self.assertIn("- 3. has no answer in 00-first-kernel/predict.txt", said)
        scored = json.loads(check(32, 4, "", more=["--json"]))["predictions"]
        self.assertEqual([p["right"] for p in scored], [True, True, False])
        self.assertEqual([p["answer"] for p in scored], ["32", "4", None])
        sheet.unlink()
        done = self.run_tool("course", "check", "0", "--schedules", 1).stdout.decode()
        self.assertIn("lab 0 is done", done)
        self.assertNotIn("predict", done)

    def test_every_lab_has_questions(self):
        questions = json.loads((COURSE / "predictions.json").read_text())
        self.assertEqual(sorted(questions), sorted(f.name for f in COURSE.glob("??-*")))
        for lab, asked in questions.items():
            self.assertGreaterEqual(len(asked), 3, lab)
            for q in asked:
                self.assertTrue(q["why"], lab)
                options = re.findall(r"\b([a-z])\) ", q["ask"])
                self.assertTrue(q["answer"] in options if options else q["answer"].isdigit(), q)

    @WITH_CHECKER
    def test_a_class(self):
        solution = (COURSE / "solutions/00-first-kernel.cu").read_text()
        start = (COURSE / "00-first-kernel/start.cu").read_text()
        for place, text in {
            "anna/00-first-kernel.cu": solution,
            "ben, jr/00-first-kernel/start.cu": start,
            "cara/00-first-kernel.cu": "__global__ void other() {}",
            "dora/notes.txt": "ill",
        }.items():
            (self.folder / "class" / place).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / "class" / place).write_text(text)
        (self.folder / "class/ben, jr/00-first-kernel/predict.txt").write_text("answer: 32\nanswer: 4\n")
        asked = ("course", "check", "--all", "class", "--schedules", 1, "-q")
        rows = list(csv.DictReader(io.StringIO(self.run_tool(*asked, "--csv").stdout.decode())))
        self.assertEqual([r["student"] for r in rows], ["anna", "ben, jr", "cara", "dora"])
        self.assertEqual([r["passed"] for r in rows], ["yes", "no", "no", "no"])
        self.assertEqual([r["predictions"] for r in rows], ["0", "2", "0", "0"])
        for row, reason in zip(rows, ("^$", "16 sectors", "does not compile", "nothing handed in")):
            self.assertRegex(row["reason"], reason)
        (self.folder / "late").mkdir()
        (self.folder / "late/eve.cu").write_text(solution)
        asked = ("course", "check", "00", "--all", "late", "--schedules", 1, "-q", "--json")
        (one,) = json.loads(self.run_tool(*asked).stdout)["students"]
        self.assertEqual((one["student"], one["passed"]), ("eve", True))
        self.refused(3, ["'nowhere' cannot be read"], "course", "check", "--all", "nowhere")
        self.refused(2, ["--csv is the table of --all"], "course", "check", "1", "--csv")
        self.refused(2, ["expected a lab, or --all"], "course", "check")

    def compiler(self, lines, status=0):
        """A folder with a stand-in for nvcc, whose programs print these lines. Returns an environment with it."""
        nvcc = self.folder / "bin/nvcc"
        nvcc.parent.mkdir(exist_ok=True)
        (self.folder / "lines").write_text("".join(line + "\n" for line in lines))
        nvcc.write_text(
            f'#!/bin/sh\necho "$@" > {self.folder}/words\n'
            'for w; do case $w in -DSTART=*) f=${w#-DSTART=\\"}; cp ${f%\\"} '
            f"{self.folder}/compiled.cu; esac; done\n"
            f'while [ "$1" != -o ]; do shift; done\n'
            f"printf '#!/bin/sh\\ncat {self.folder}/lines\\nexit {status}\\n' > $2\nchmod +x $2\n"
        )
        nvcc.chmod(0o755)
        return {**os.environ, "PATH": f"{nvcc.parent}:/usr/bin:/bin"}

    def on_gpu(self, env, *words):
        asked = (TOOL, "course", "check", "3", "start.cu", "--schedules", "1", "--on", "cuda", *words)
        done = subprocess.run(asked, cwd=self.folder, env=env, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    @WITH_CHECKER
    def test_on_a_gpu_next_to_the_ladder(self):
        solution = (COURSE / "solutions/03-tiles.cu").read_text()
        (self.folder / "start.cu").write_text(solution)
        of = '{"name": "stages = %d", "us": %f, "amount": 8e9, "unit": "multiply-adds", "right": %s, "reference": %s}'
        copy = '{"name": "a copy", "ladder": "", "us": %f, "alike": %s}'
        lines = [
            of % (1, 4000, "true", copy % (3000, "true")),
            of % (2, 3200, "true", copy % (1500, "false")),
        ]
        code, said, _ = self.on_gpu(self.compiler(lines))
        self.assertEqual(code, 0)
        rows = [re.split(r"  +", line.strip()) for line in said.splitlines() if line.startswith("stages")]
        rates = ["2000 G multiply-adds/s", "2500 G multiply-adds/s"]
        self.assertEqual(rows[0], ["stages = 1", "4000.0 us", rates[0], "a copy", "3000.0 us", "75 %"])
        self.assertEqual(
            rows[1], ["stages = 2", "3200.0 us", rates[1], "+25 %", "a copy", "1500.0 us", "+100 %", "-"]
        )
        self.assertIn("-DLAB=3", (self.folder / "words").read_text())
        self.assertIn("constexpr int tile = 32;", (self.folder / "compiled.cu").read_text())
        wrong = [of % (1, 40, "false", copy % (30, "true")), of % (2, 40, "true", copy % (30, "false"))]
        code, said, errors = self.on_gpu(self.compiler(wrong), "--json")
        self.assertEqual([t["share"] for t in json.loads(said)["on_gpu"]], [0.75, None])
        self.assertEqual(code, 5)
        self.assertIn("wrong results on the GPU", errors)
        code, said, errors = self.on_gpu(self.compiler(["cudaMalloc failed"], 3))
        self.assertIn(code, (3, 4))
        self.assertRegex(errors, "cannot run on a GPU|failed on the GPU: cudaMalloc failed")
        self.assertIn("lab 3 is done", said)
        (self.folder / "bin/nvcc").unlink()
        code, said, errors = self.on_gpu({**os.environ, "PATH": "/usr/bin:/bin"})
        self.assertIn("compiles the lab with nvcc, which was not found", errors)
        self.refused(2, ["--on", "cpu or cuda"], "course", "check", "6", "--on", "tpu")
        self.refused(2, ["no --all next to it"], "course", "check", "--all", ".", "--on", "cuda")

    @WITH_CHECKER
    def test_programs_that_time_labs_are_right(self):
        for lab, by in ((3, 64), (9, 1024), (10, 512)):
            (solution,) = (COURSE / "solutions").glob(f"{lab:02}-*.cu")
            define = f'-DSTART="{solution}"'
            done = self.run_tool(
                "check", COURSE / "gpu.cu", f"-DLAB={lab}", define, "--schedules", 1, "--", by
            )
            said = (done.stdout + done.stderr).decode().splitlines()
            lines = [json.loads(line) for line in said if line.startswith("{")]
            self.assertGreaterEqual(len(lines), 1)
            self.assertTrue(all(line["right"] for line in lines), lab)

    @WITH_CHECKER
    def test_notebook_has_these_labs(self):
        file, some = self.folder / "course.ipynb", (0, 2, 13)
        self.assertEqual(len(list(course_notebook.cells())), 3 + 3 * len(MUTANTS))
        course_notebook.write(TOOL, file, some)
        stored = json.loads(file.read_text())["cells"]
        outputs = [
            "".join(line for o in c["outputs"] for line in o["text"]) for c in stored if c.get("outputs")
        ]
        self.assertEqual(len(outputs), len(some))
        for number, said in zip(some, outputs):
            self.assertRegex(said, STARTS[number])

    @WITH_CHECKER
    def test_warp_instructions_that_copy(self):
        """As claims.md says: for the same tiles through registers and by cp.async; by bulk copies one thread's."""
        requests = {}
        for lab in ("04-registers", "05-asynchronous", "08-bulk-copies"):
            done = self.run_tool("count", COURSE / "solutions" / f"{lab}.cu", "--json")
            (kernel,) = json.loads(done.stdout)["kernels"]
            requests[lab] = kernel["lines"]
        said = (COURSE.parent / "learn/claims.md").read_text()
        registers = sum(
            r["requests"]
            for r in requests["04-registers"]
            if (r["memory"], r["access"]) in (("global", "read"), ("shared", "write"))
        )
        self.assertIn(f"{registers} loads and stores through registers", said)
        copies = sum(
            r["requests"]
            for r in requests["05-asynchronous"]
            if (r["memory"], r["access"]) == ("shared", "async copy")
        )
        self.assertIn(f"{copies} `cp.async`", said)
        self.assertTrue(
            all(r["lanes"] == r["requests"] for r in requests["08-bulk-copies"] if r["access"] == "bulk copy")
        )

    def test_symptoms_lead_to_findings(self):
        kinds = (
            (COURSE.parent / "check/checking.md").read_text().split("## What it finds")[1].split("\n\n")[1]
        )
        kinds = {line.split("|")[1].strip() for line in kinds.splitlines()[2:]}
        table = (COURSE / "symptoms.md").read_text().split("\n\n")
        rows = {}
        for line in next(part for part in table if part.startswith("| ")).splitlines()[2:]:
            _, seen, _, found, lab, _ = line.split("|")
            if not found.strip().startswith("none: "):
                rows[seen.strip()] = (set(found.strip().split(":")[0].split(", ")), lab)
                self.assertLessEqual(rows[seen.strip()][0], kinds, line)
        self.assertEqual(len(rows), len(SYMPTOMS))
        self.rows = rows

    @WITH_CHECKER
    def test_symptoms_are_those_of_their_labs(self):
        """The findings of each row are those of its causes, put into solutions of the labs that it names."""
        self.test_symptoms_lead_to_findings()
        for seen, causes in SYMPTOMS.items():
            ((kinds, labs),) = [row for text, row in self.rows.items() if text.startswith(seen)]
            found = set()
            for lab, right, wrong in causes:
                self.assertIn(str(lab), labs.replace(",", "").split(), seen)
                (file,) = (COURSE / "solutions").glob(f"{lab:02}-*.cu")
                solution = file.read_text()
                self.assertIn(right, solution, seen)
                (self.folder / "bad.cu").write_text(solution.replace(right, wrong))
                done = self.run_tool("check", "bad.cu", "--schedules", 6, "--json", code=5)
                found |= {f["kind"] for f in json.loads(done.stdout)["programs"][0]["findings"]}
            with self.subTest(seen):
                self.assertLessEqual(kinds, found, seen)

    def test_readmes_name_their_labs(self):
        for number, folder in enumerate(sorted(COURSE.glob("??-*"))):
            self.assertTrue((folder / "README.md").read_text().startswith(f"# Lab {number}: "), folder)
            self.assertIn(f"{folder.name}/README.md", (COURSE / "README.md").read_text())


if __name__ == "__main__":
    main()
