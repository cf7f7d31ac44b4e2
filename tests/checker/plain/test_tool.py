# SPDX-License-Identifier: Apache-2.0
"""antiphase check my.cu as a process: its output, its exit codes, replays."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = sys.argv.pop(1)
PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[3]
QUICK = ("--schedules", "2", "--workers", "1")
KERNEL = "__global__ void k(int* x, int n) { if (n > 0) x[threadIdx.x] = n; }\n"

RACE_OF_ONE = (
    "int main() { int* x; cudaMalloc(&x, 8); k<<<1, 64>>>(x); cudaDeviceSynchronize(); cudaFree(x); }\n"
)


class Plain(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, *arguments, **others):
        return subprocess.run(
            [TOOL, "check", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            **others,
        )

    def source(self, text, name="my.cu"):
        (self.folder / name).write_text(text)
        return name

    def test_arguments_and_output(self):
        name = self.source(
            "#include <cstdio>\n"
            + KERNEL
            + 'int main(int argc, char** argv) { k<<<1, 1>>>(nullptr, 0); std::printf("%d %s\\n", argc, argc > 2 ? argv[2] : "-"); return argc == 3 ? 0 : 7; }\n'
        )
        done = self.check(name, *QUICK, "--", "one", "--two")
        self.assertEqual((done.returncode, done.stderr), (0, "3 --two\n"))
        self.assertRegex(done.stdout, r"^my\.cu +no finding in 2 schedules")
        done = self.check(name, *QUICK, "--quiet")
        self.assertEqual(done.returncode, 5)
        self.assertIn("wrong result", done.stdout)

    def test_json_and_replay(self):
        done = self.check(str(PROGRAMS / "reduction.cu"), "-DBROKEN", "--json", "--schedules", "5")
        self.assertEqual(done.returncode, 5)
        program = json.loads(done.stdout)["programs"][0]
        finding = next(f for f in program["findings"] if f["kind"] == "race")
        self.assertEqual((finding["kernel"], program["schedules"]), ("sum", 5))
        self.assertRegex(
            finding["memory"], r"^the launch's dynamic memory, byte \d+ of 512 in shared memory$"
        )
        words = shlex.split(finding["replay"])
        self.assertEqual(words[:3], ["antiphase", "check", str(PROGRAMS / "reduction.cu")])
        again = json.loads(self.check(*words[2:], "--json").stdout)["programs"][0]
        self.assertEqual(again["schedules"], 1)
        self.assertIn(
            (finding["kind"], finding["access"]["at"]),
            [(f["kind"], f["access"]["at"]) for f in again["findings"]],
        )

    def test_a_run_without_its_waits(self):
        right = str(PROGRAMS / "gemm_asynchronous.cu")
        for without, kind in (("data", "read before landing"), ("barrier", "uninitialised memory read")):
            done = self.check(right, "--without", without, "--schedules", "1", "--json")
            finding = json.loads(done.stdout)["programs"][0]["findings"][0]
            self.assertEqual(
                (done.returncode, finding["kind"], finding["run"]["without"]), (5, kind, without)
            )
            self.assertIn(f" --without {without}", finding["replay"])
        self.assertEqual(self.check(right, "--without", "slot", "--schedules", "1").returncode, 0)

    def drawn(self, *arguments):
        self.assertEqual(self.check(*arguments, "--workers", "1", "--trace", "t.json").returncode, 5)
        trace, names, lanes = json.loads((self.folder / "t.json").read_text())["traceEvents"], {}, []
        for event in trace:
            if event["name"] == "process_name":
                lanes.append({})
            elif event["name"] == "thread_name":
                # What overlaps has more than one lane: "the memory", "the memory, 2".
                names[event["tid"]] = re.sub(r", \d+$", "", event["args"]["name"])
            else:
                lanes[event["pid"] - 1].setdefault(names[event["tid"]], []).append(event)
        return lanes  # of each finding

    def test_a_leak_and_a_wrong_result_are_drawn(self):
        kernels = """__global__ void fill(int* x) { x[threadIdx.x] = 1; }
__global__ void other(int* x) { x[threadIdx.x] = 2; }
int main() {
  int *x, *y, result;
  cudaMalloc(&x, 128);
  cudaMalloc(&y, 256);
  fill<<<1, 32>>>(x);
  other<<<1, 64>>>(y);
  cudaMemcpy(&result, y, 4, cudaMemcpyDeviceToHost);
  cudaFree(y);
"""
        (leak,) = self.drawn(self.source(kernels + "}"), "--leaks")
        (life,) = leak.pop("the allocation")
        self.assertEqual(
            (life["name"], life["args"]["finding"], life["ts"]), ("128 bytes, never freed", "now", 0)
        )
        self.assertRegex(life["args"]["at"], r"my\.cu:5$")
        self.assertEqual(len(leak.pop("the memory")), 4)
        self.assertEqual(
            {(e["name"], e["args"]["at"].rpartition(":")[2]) for lane in leak.values() for e in lane},
            {("writes 4 bytes", "1")},
        )
        self.assertTrue(all(e["ts"] + e["dur"] <= life["dur"] for lane in leak.values() for e in lane))
        (wrong,) = self.drawn(self.source(kernels + "  cudaFree(x);\n  return 1;\n}"))
        # one per warp, from the last kernel alone
        self.assertEqual(sorted(wrong), ["block 0, thread 0", "block 0, thread 32"])
        self.assertEqual(
            {
                (e["name"], e["args"]["at"].rpartition(":")[2], e["args"]["finding"])
                for lane in wrong.values()
                for e in lane
            },
            {("writes 4 bytes", "2", "")},
        )

    def test_memory_that_is_never_freed_is_pedantic(self):
        name = self.source(
            "__global__ void k() {}\nint main() { int* x; cudaMalloc(&x, 128); k<<<1, 1>>>(); }\n"
        )
        for options, status, line in (
            ((), 0, "my.cu:2:1: warning: memory leak"),
            (("--strict",), 5, "my.cu:2:1: warning: memory leak"),
            (("--leaks",), 5, "my.cu:2:1: error: memory leak"),
        ):
            done = self.check(name, *options, *QUICK, "--lines", "--sarif", "s")
            self.assertEqual((done.returncode, done.stdout[: len(line)]), (status, line), done.stderr)
            (result,) = json.loads((self.folder / "s").read_text())["runs"][0]["results"]
            self.assertEqual(result["level"], "error" if "--leaks" in options else "note")

    def test_a_launch_that_is_refused_is_not_drawn(self):
        source = self.source("__global__ void k() {} int main() { k<<<1, 2000>>>(); }")
        done = self.check(source, "--schedules", "2", "--trace", "none.json")
        self.assertIn("1 of 1 findings are not drawn: no thread of a kernel took part", done.stderr)
        self.assertFalse((self.folder / "none.json").exists())

    def test_copies_in_flight_are_drawn(self):
        smooth = self.source(
            """#include <cuda_pipeline.h>
__global__ void smooth(const float* from, float* to) {
  __shared__ float v[2][64];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&v[0][t], from + t, 4);
  __pipeline_commit();
  __pipeline_memcpy_async(&v[1][t], from + 64 + t, 4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  to[t] = v[1][63 - t] + v[0][t];
}
int main() {
  float *a, *b;
  cudaMalloc(&a, 512), cudaMalloc(&b, 256), cudaMemset(a, 0, 512);
  smooth<<<1, 64>>>(a, b);
  cudaDeviceSynchronize(), cudaFree(a), cudaFree(b);
}
"""
        )
        finding, never_waited_for = self.drawn(
            smooth, "--order", "forward", "--landing", "late", "--schedules", "2"
        )
        reader, writer = "block 0, thread 0", "block 0, thread 63"
        marked = {
            e["args"]["finding"]: lane
            for lane in (reader, writer)
            for e in finding[lane]
            if e["args"]["finding"]
        }
        self.assertEqual(marked, {"now": reader, "earlier": writer})
        now = next(e for e in finding[reader] if e["args"]["finding"] == "now")
        self.assertEqual((now["name"], now["args"]["at"]), ("reads 4 bytes", "my.cu:11"))
        # Both threads reach the barrier, which ends for both at once.
        barriers = {
            lane: [e["ts"] + e["dur"] for e in finding[lane] if e["name"] == "block barrier"]
            for lane in (reader, writer)
        }
        self.assertEqual(barriers[reader], barriers[writer])
        self.assertEqual(len(barriers[reader]), 1)
        # The first group was waited for before the barrier; the second is in flight where it is read.
        flights = sorted(
            (e["ts"], e["ts"] + e["dur"], e["args"]["at"], e["args"]["finding"])
            for e in finding["copies of thread 63"]
        )
        self.assertEqual([f[2:] for f in flights], [("my.cu:5", ""), ("my.cu:7", "earlier")])
        self.assertLess(flights[0][1], barriers[reader][0] + 1)
        self.assertGreater(flights[1][1], now["ts"])
        self.assertIn("now", [e["args"]["finding"] for e in finding["the memory"]])
        self.assertEqual(
            {e["args"]["finding"] for lane in never_waited_for.values() for e in lane}, {"", "now"}
        )

    def test_a_deadlock_is_drawn(self):
        stuck = self.source(
            '__global__ void stuck() { if (threadIdx.x < 32) __syncthreads(); else asm volatile("bar.sync 1, 64;"); }\n'
            "int main() { stuck<<<1, 64>>>(); cudaDeviceSynchronize(); }\n"
        )
        (finding,) = self.drawn(stuck, "--schedules", "1")
        self.assertEqual([lane[-1]["name"] for lane in finding.values()], ["waits for ever"] * len(finding))
        self.assertEqual(sorted(finding), ["block 0, thread 0", "block 0, thread 32"])

    def test_options_of_the_compiler_and_several_sources(self):
        (self.folder / "inc").mkdir()
        self.source("#pragma once\nvoid run(int);\n", "inc/run.h")
        one = self.source(
            '#include "run.h"\n'
            + KERNEL
            + "void run(int n) { int* x; cudaMalloc(&x, 128); k<<<1, 32>>>(x, n); cudaDeviceSynchronize(); cudaFree(x); }\n"
        )
        two = self.source("#include <run.h>\nint main() { run(N); }\n", "main.cpp")
        done = self.check(one, two, "-I", "inc", "-I", ".", "-DN=M", "-D", "M=4", "-lm", "-lpthread", *QUICK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_sources_share_what_is_inline(self):
        self.source(
            """#pragma once
inline int& calls() { static int n = 0; return n; }
inline int of_all = 5;
template <class T> struct holder { static T value; };
template <class T> T holder<T>::value = 1;
inline __device__ int shared_counter = 0;
struct shape { virtual ~shape() {} };
__device__ inline int counted() { return atomicAdd(&shared_counter, 1); }
void launch();
""",
            "common.cuh",
        )
        one = self.source(
            """#include "common.cuh"
#include <typeinfo>
#include <cstdio>
static __global__ void k(int* x) { x[threadIdx.x] = counted(); }
const std::type_info& known();
int main() {
  int *x, n = 0;
  cudaMalloc(&x, 128);
  k<<<1, 32>>>(x);
  launch();
  cudaMemcpyFromSymbol(&n, shared_counter, sizeof n);
  cudaFree(x);
  std::fprintf(stderr, "%d %d %d %d %d", ++calls(), ++of_all, ++holder<int>::value, n, typeid(shape) == known());
}
""",
            "one.cu",
        )
        two = self.source(
            """#include "common.cuh"
#include <typeinfo>
static __global__ void k() { counted(); }
const std::type_info& known() { return typeid(shape); }
void launch() { k<<<1, 32>>>(); ++calls(); ++of_all; ++holder<int>::value; }
""",
            "two.cu",
        )
        done = self.check(one, two, "--schedules", "1")
        self.assertEqual((done.returncode, done.stderr), (0, "2 7 3 64 1"), done.stdout)

    def test_sources_in_c_headers_with_kernels_and_objects(self):
        main = (
            KERNEL
            + 'extern "C" int twice(int);\nint main() { k<<<1, 1>>>(nullptr, 0); return twice(2) - 4; }\n'
        )
        name = self.source(main)
        self.source(
            "#include <stdlib.h>\nint twice(int class) { if (class == 0) exit(1); return 2 * class; }\n",
            "c.c",
        )
        done = self.check(name, "c.c", *QUICK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.check(name, self.source("int twice(int) { return 4\n", "bad.c"), *QUICK)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("bad.c:1:", done.stderr)
        subprocess.run(["g++", "-x", "c", "-fPIC", "-c", "c.c", "-o", "c.o"], cwd=self.folder, check=True)
        done = self.check(name, "c.o", *QUICK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for header in ("kernels.h", "kernels.hpp", "kernels.inl"):
            done = self.check(self.source(main, header), "c.c", *QUICK, "--json")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_files_that_options_name(self):
        name = self.source(
            "#if FIRST != 1 || SECOND != 2 || defined(CONCEPTS) != (__cplusplus > 201703L)\n#error\n#endif\n"
            + KERNEL
            + "int main() { k<<<1, 1>>>(nullptr, 0); }\n"
        )
        self.source("#define FIRST 1\n", "first.h")
        self.source("--pre-include second.h\n-O2\n", "options.txt")
        self.source("#define SECOND 2\n", "second.h")
        for options in (
            ("-include", "first.h", "--options-file", "options.txt", "-DCONCEPTS"),
            ("-optf=options.txt", "-include=first.h", "-std=c++17"),
            ("--pre-include=first.h", "-include", "second.h", "--std", "c++14"),
        ):
            done = self.check(name, *options, *QUICK)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.check(name, "-optf", "none.txt", *QUICK)
        self.assertEqual(
            (done.returncode, done.stderr), (2, "antiphase: there is no file 'none.txt' of options\n")
        )
        racy = self.source("__global__ void k(int* x) { x[FIRST] = threadIdx.x; }\n" + RACE_OF_ONE, "racy.cu")
        done = self.check(racy, "-include", "first.h", "-std=c++17", *QUICK, "--json")
        self.assertEqual(done.returncode, 5, done.stderr)
        words = shlex.split(json.loads(done.stdout)["programs"][0]["findings"][0]["replay"])
        self.assertEqual(self.check(*words[2:]).returncode, 5)

    def test_what_the_host_and_the_device_cannot_both_have_is_refused(self):
        begin = """__constant__ int on_device[1] = {3};
static int on_host[1] = {4};
#ifdef __CUDA_ARCH__
#define VALUE on_device
#else
#define VALUE on_host
#endif
"""
        done = self.check(
            self.source(
                begin
                + "struct two { int v, w; __host__ __device__ two(int a, int b) : v(a), w(b) {} };"
                + "struct s : two { __host__ __device__ s() : two(VALUE[0], 1) {} };\n"
                + KERNEL
                + "int main() { s own; k<<<1, 1>>>(nullptr, 0); return own.v; }\n"
            ),
            *QUICK,
        )
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("my.cu:8: initialisers of a constructor that depend on __CUDA_ARCH__", done.stderr)
        # the two texts do not fit together: what only the device runs is checked as before
        of_two_types = (
            begin
            + """__host__ __device__ auto pick(int i) {
#ifdef __CUDA_ARCH__
  return i;
#else
  return "host"[i];
#endif
}
__global__ void k(int* x) { x[threadIdx.x] = pick(1); }
"""
        )
        main = "int main() { int* x; cudaMalloc(&x, 128); k<<<1, 32>>>(x); cudaDeviceSynchronize(); cudaFree(x); "
        done = self.check(self.source(of_two_types + main + "}\n"), *QUICK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.check(self.source(of_two_types + main + "return pick(0) != 'h'; }\n"), *QUICK)
        self.assertNotIn(done.returncode, (0, 5), done.stdout)
        self.assertIn(
            "my.cu:8: host code that differs from the device's by __CUDA_ARCH__", done.stdout + done.stderr
        )

    def test_a_specialisation_that_is_called_and_not_supported(self):
        name = self.source(
            "template <class T> __device__ T to(float v) { return T(v); }\n"
            'template <> __device__ double to(float v) { double d; asm("no.such %0, %1;" : "=d"(d) : "f"(v)); return d; }\n'
            "__global__ void k(double* x) { x[0] = to<double>(1.f); }\n"
            "int main() { double* x; cudaMalloc(&x, 8); k<<<1, 1>>>(x); cudaDeviceSynchronize(); cudaFree(x); }\n"
        )
        done = self.check(name, *QUICK)
        self.assertNotIn(done.returncode, (0, 5), done.stdout)
        self.assertIn("my.cu:2: inline PTX 'no.such' is not supported here", done.stdout + done.stderr)

    def test_functions_of_other_sources_may_have_a_library_s_prefix(self):
        one = self.source("extern void cublasMine(int* p);\nint main() { cublasMine(nullptr); }\n")
        two = self.source(KERNEL + "void cublasMine(int* p) { k<<<1, 1>>>(p, 0); }\n", "two.cu")
        done = self.check(one, two, *QUICK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_missing_main_is_told_before_anything_is_compiled(self):
        done = self.check(self.source(KERNEL + "void f() { k<<<1, 1>>>(); }\n"))  # too few arguments
        self.assertEqual(done.returncode, 3)
        self.assertIn("no main()", done.stderr)

    def test_a_program_may_leave_by_quick_exit_and_exit_of_its_children(self):
        for body, status in (
            ("std::quick_exit(0);", 0),
            ("_exit(0);", 0),
            ("_exit(3);", 5),
            (
                "if (const int child = fork(); child == 0) _exit(7); else { int s; waitpid(child, &s, 0); "
                "return WEXITSTATUS(s) != 7; }",
                0,
            ),
        ):
            with self.subTest(body):
                name = self.source(
                    "#include <cstdlib>\n#include <sys/wait.h>\n#include <unistd.h>\n"
                    + KERNEL
                    + "int main() { k<<<1, 32>>>(nullptr, 0); "
                    + body
                    + " }\n"
                )
                done = self.check(name, *QUICK, "--quiet")
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)

    def test_macros_may_have_names_of_the_stand_ins(self):
        name = self.source(
            "#include <cassert>\n"
            + KERNEL
            + "static_assert(blocks(2) == 3 && A == 1 && sizeof *SAID == 1);\nint main() { assert(A == 2); T* x;\n"
            "cudaMalloc(&x, 128); k<<<1, threads>>>(x, 4); cudaDeviceSynchronize(); cudaFree(x); }\n"
        )
        macros = ["-DT=int", "-D", "threads=32", "-Dblocks(n)=(n + 1)", "-DA", '-DSAID="a b"', "-Dx=y", "-Ux"]
        done = self.check(name, *macros, "-DNDEBUG", *QUICK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_options_of_nvcc(self):
        toolkit = self.folder / "cuda/include/crt"
        toolkit.mkdir(parents=True)
        (toolkit / "host_config.h").write_text("")
        (toolkit.parent / "cuda_runtime.h").write_text("#error of the toolkit\n")
        (self.folder / "inc").mkdir()
        self.source("#define N 3\n", "inc/n.h")
        name = self.source(
            "#include <cuda_runtime.h>\n#include <n.h>\n#if N + ONE + TWO + THREE != 9\n#error\n#endif\n"
            + KERNEL
            + "int main() { k<<<1, 1>>>(nullptr, 0); }\n"
        )
        flags = (
            "-arch=sm_90 -arch sm_80 -gencode arch=compute_80,code=sm_80 --generate-code=arch=compute_90,code=sm_90 -std=c++17 -O3 -O 2 -g -G -lineinfo --use_fast_math "
            "-Xcompiler -Wall,-DONE=1 -Xcompiler=-fopenmp -Xptxas -v --ptxas-options=-v -rdc=true --relocatable-device-code true -maxrregcount 64 --maxrregcount=64 "
            "--expt-relaxed-constexpr --extended-lambda -ccbin g++ -cudart static -m64 -diag-suppress 177 -Wno-deprecated-gpu-targets -fPIC -isystem inc -D TWO=2 "
            "--define-macro THREE=3 -Icuda/include -lcudart -lcublas -lcudadevrt -lm -t 0 --threads=4 -default-stream legacy -o my -c"
        ).split()
        done = self.check(*flags, name, *QUICK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(
            done.stderr,
            "antiphase: fast mathematics is as exact as the other here: -use_fast_math changes nothing\n"
            "antiphase: nothing is written to my: the program is run, and what it does is checked\n",
        )
        self.assertEqual(self.check(name, *flags, *QUICK, "--quiet").stderr, "")
        for options, said in (
            (("--default-stream", "per-thread"), "per-thread is not followed: expected legacy"),
            (("-arch",), "-arch needs a value"),
            (("--scheduls=2",), "--schedules"),
        ):
            done = self.check(name, *options)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, done.stderr)
        self.assertIn("there is no option '-arch=sm_90'", self.check("gemm", "-arch=sm_90").stderr)

    def test_what_is_read_is_not_overwritten(self):
        name = self.source(KERNEL + "int main() {}\n")
        driver = self.source("int main() {}\n", "driver.cpp")
        for options, said in (
            (("--sarif", name), "same file as the input"),
            (("--trace", name, "--kernels", driver), "same file as the input"),
            (("--kernels", driver, "--sarif", driver), "same file as the input"),
            (("--trace", "a.json", "--sarif", "./a.json"), "expected a file for each"),
        ):
            with self.subTest(options):
                done = self.check(name, *options, *QUICK)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(said, done.stderr)
        self.assertIn("__global__", (self.folder / name).read_text())
        self.assertFalse((self.folder / "a.json").exists())

    def test_memory_between_allocations(self):
        start = "__global__ void k(float* a, const float* b, int at) { a[0] = b[at]; }\nint main() {\n  float *a, *b;\n"
        for at, said in (
            (-1, "global memory, 4 bytes before the 128 allocated"),
            (32, "global memory, 0 bytes past the end of 128 allocated"),
        ):
            done = self.check(
                self.source(
                    f"{start}  cudaMalloc(&a, 4), cudaMalloc(&b, 128), cudaMemset(b, 0, 128);\n  k<<<1, 1>>>(a, b, {at});\n"
                    "  cudaDeviceSynchronize(), cudaFree(a), cudaFree(b);\n}\n"
                ),
                *QUICK,
            )
            self.assertEqual(done.returncode, 5)
            self.assertIn(said, done.stdout)

    def test_an_index_that_leaves_its_array_is_no_race_with_the_next(self):
        apart = """__device__ float at(const float* p, int i) { return p[i]; }
__global__ void k(const float* a, float* b) {
  __shared__ float s[64], r[64], large[2048], second[2048];
  const int i = threadIdx.x;
  r[i] = s[i] = i;
  second[i] = large[i] = i;
  __syncthreads();
  r[i] = second[i] = 1;
  b[i] = WRONG;
}
int main() {
  float *a, *b;
  cudaMalloc(&a, 5120), cudaMalloc(&b, 20480), cudaMemset(a, 0, 5120);
  k<<<1, 64>>>(a, b);
  cudaDeviceSynchronize(), cudaFree(a), cudaFree(b);
}
"""
        for wrong, memory in (
            ("a[i + 2176]", "global memory, 3584 bytes past the end of 5120 allocated"),
            ("at(s, 64 + i)", "0 bytes past the end of s, 256 bytes of shared memory"),
            ("at(large, 2048 + 256 + i)", "1024 bytes past the end of large, 8192 bytes of shared memory"),
            ("at(second, i - 1000)", "4000 bytes before second in shared memory"),
        ):
            with self.subTest(wrong):
                done = self.check(self.source(apart.replace("WRONG", wrong)), *QUICK, "--json")
                findings = json.loads(done.stdout)["programs"][0]["findings"]
                self.assertEqual(
                    [(f["kind"], f["memory"]) for f in findings], [("access outside memory", memory)]
                )

    def test_gaps_leave_arrays_as_aligned_as_they_lie_without(self):
        name = self.source(
            """__global__ void k(float* to) {
  __shared__ float a[64], b[1088], c[64];
  const int i = threadIdx.x;
  a[i] = b[i] = c[i] = i;
  __syncthreads();
  to[i] = a[63 - i] + b[63 - i] + reinterpret_cast<const float4*>(c)[i / 4].y;
}
int main() {
  float* to;
  cudaMalloc(&to, 256), k<<<1, 64, 256>>>(to), cudaDeviceSynchronize(), cudaFree(to);
}
"""
        )
        self.assertEqual(self.check(name, *QUICK).returncode, 0)

    def test_what_follows_from_an_index_out_of_bounds_stands_under_it(self):
        name = self.source(
            """__global__ void k(int* to) {
  __shared__ int t[8][8];
  const int i = threadIdx.x;
  t[0][i] = i;
  to[i] = t[1][0];
}
int main() {
  int* to;
  cudaMalloc(&to, 256), k<<<1, 64>>>(to), cudaDeviceSynchronize(), cudaFree(to);
}
"""
        )
        done = self.check(name, *QUICK)
        self.assertIn(" 1 finding, seen in ", done.stdout)
        self.assertRegex(
            done.stdout,
            r"1\. access outside memory: kernel k\n  now      index 8 of 'int \[8\]'[^1]*[\s\S]*also seen as race",
        )

    def test_slots_are_named_only_where_there_are_some(self):
        text = """__global__ void k(int* x, int step) {
  __shared__ int s[128];
  BARRIER
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const int v = s[threadIdx.x ^ step];
  s[threadIdx.x] = v;
  x[threadIdx.x] = v;
}
int main() { int* x; cudaMalloc(&x, 512); k<<<1, 128>>>(x, STEP); cudaFree(x); }
"""
        ring = '__shared__ unsigned long long full; if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"((unsigned)__cvta_generic_to_shared(&full)));'
        read = " between the two: this write may overtake other threads' reads"
        for step, barrier, said in (
            ("64", "", "__syncthreads()" + read),
            ("1", "", "__syncwarp() or __syncthreads()" + read),
            ("64", ring, "a barrier between the reads and this write: the slot has not been released"),
        ):
            with self.subTest(step + barrier):
                done = self.check(
                    self.source(text.replace("STEP", step).replace("BARRIER", barrier)), *QUICK, "--json"
                )
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertEqual(
                    {
                        f["missing"]["text"]
                        for f in json.loads(done.stdout)["programs"][0]["findings"]
                        if f["kind"] == "overwritten in use"
                    },
                    {said},
                )

    def test_pedantic_findings_count_if_strict(self):
        program = str(PROGRAMS / "by_the_letter.cu")
        done = self.check(program, *QUICK, "--sarif", "found.sarif")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("pedantic: race: kernel any_negative", done.stdout)
        self.assertRegex(done.stdout, "on GPUs  both store the same bytes; PTX leaves .* open, GPUs ")
        run = json.loads((self.folder / "found.sarif").read_text())["runs"][0]
        self.assertEqual({r["level"] for r in run["results"]}, {"note"})
        done = self.check(program, *QUICK, "--strict", "--lines")
        self.assertEqual(done.returncode, 5)
        self.assertIn(":1: warning: race: kernel any_negative", done.stdout)
        self.assertNotIn("error:", done.stdout)

    def test_findings_of_one_cause_are_one(self):
        done = self.check(str(PROGRAMS / "matmul_double_buffered.cu"), "-DBROKEN", *QUICK)
        self.assertEqual(done.returncode, 5)
        self.assertIn(" 1 finding, seen in ", done.stdout)
        self.assertIn("  also seen as ", done.stdout)
        done = self.check(str(PROGRAMS / "matmul_double_buffered.cu"), "-DBROKEN", *QUICK, "--json")
        findings = json.loads(done.stdout)["programs"][0]["findings"]
        self.assertGreater(len(findings), 2)
        self.assertEqual({f["group"] for f in findings}, {1})

    RACES = """__global__ void k(int* x) {
  __shared__ int a[64], b[64];
  a[threadIdx.x] = x[threadIdx.x];
  MIDDLE
  x[threadIdx.x] = a[63 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = x[threadIdx.x];
  END
  x[threadIdx.x] += b[63 - threadIdx.x];
}
int main() {
  int* x;
  cudaMalloc(&x, 256), cudaMemset(x, 0, 256);
  k<<<1, 64>>>(x);
  cudaFree(x);
}
"""

    def test_suppressed_and_known_findings(self):
        racy = self.source(self.RACES.replace("MIDDLE", "").replace("END", "__syncthreads();"))
        (self.folder / "reviewed.txt").write_text(
            "# ours\n* my.cu:3-5 the order is drawn\nrace kernel:none never\n"
        )
        done = self.check(racy, *QUICK, "--suppress", "reviewed.txt")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"note: \d findings? suppressed by reviewed.txt:2: the order is drawn")
        self.assertIn("reviewed.txt:3 suppresses nothing: race kernel:none never", done.stderr)
        (self.folder / "reviewed.txt").write_text("race my.cu:3\n")
        done = self.check(racy, *QUICK, "--suppress", "reviewed.txt")
        self.assertEqual(done.returncode, 2)
        self.assertIn("reviewed.txt:1: expected a kind, a place", done.stderr)

        done = self.check(racy, *QUICK, "--write-baseline", "known.json")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"\d findings? written to known.json, none besides in 2 schedules")
        moved = self.source("\n\n" + self.RACES.replace("MIDDLE", "").replace("END", "__syncthreads();"))
        done = self.check(moved, *QUICK, "--baseline", "known.json")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"note: \d findings? known from known.json")
        self.assertNotIn("known.json", done.stderr)
        mended = self.source(
            self.RACES.replace("MIDDLE", "__syncthreads();").replace("END", "__syncthreads();")
        )
        done = self.check(mended, *QUICK, "--baseline", "known.json")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(
            done.stderr, r"known\.json: not found: (race|overwritten-in-use), kernel k in my\.cu, \w+ of 4"
        )
        for tool, told in (("memcheck", False), ("racecheck", True)):
            done = self.check(mended, *QUICK, "--baseline", "known.json", "--tool", tool)
            self.assertEqual("known.json: not found" in done.stderr, told, tool)
        worse = self.source(self.RACES.replace("MIDDLE", "").replace("END", ""))
        self.assertEqual(self.check(worse, *QUICK, "--baseline", "known.json").returncode, 5)

        self.assertEqual(self.check(racy, *QUICK, "--tool", "memcheck").returncode, 0)
        self.assertEqual(self.check(racy, *QUICK, "--tool", "memcheck,racecheck").returncode, 5)
        done = self.check(racy, *QUICK, "--tool", "racechek")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean racecheck?", done.stderr)

    def test_fix(self):
        text = self.RACES.replace("MIDDLE", "").replace("END", "__syncthreads();")
        done = self.check(self.source(text), *QUICK, "--fix")
        self.assertEqual(done.returncode, 5)
        self.assertRegex(done.stdout, r"fix of 1: __syncthreads\(\); after line [34]: ")
        self.assertIn("\n+  __syncthreads();\n", done.stdout)
        self.assertEqual((self.folder / "my.cu").read_text(), text)
        done = self.check(str(PROGRAMS / "misaligned.cu"), "-DBROKEN", *QUICK, "--fix")
        self.assertIn("fix of 1: no added barrier, wait or fence helps", done.stdout)

    def test_fix_at_the_beginning_of_a_device_function(self):
        text = """__shared__ float s[64];
__device__ float other(float v) {
  s[threadIdx.x] = v;
  __syncthreads();
  return s[63 - threadIdx.x];
}
__global__ void k(float* x) { x[threadIdx.x] = other(x[threadIdx.x]) + other(1); }
int main() { float* x; cudaMalloc(&x, 256), cudaMemset(x, 0, 256), k<<<1, 64>>>(x), cudaFree(x); }
"""
        done = self.check(self.source(text), *QUICK, "--fix")
        self.assertIn("fix of 1: __syncthreads(); after line 2: ", done.stdout)

    def test_fix_of_a_dependent_launch(self):
        kernels = """__global__ void first(int* x) {
  x[threadIdx.x] = 1;
  cudaTriggerProgrammaticLaunchCompletion();
}
__global__ void second(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x];
}
int main() {
  int* x;
  cudaMalloc(&x, 256);
  first<<<1, 32>>>(x);
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how = {};
  how.gridDim = 1, how.blockDim = 32, how.attrs = &attribute, how.numAttrs = 1;
  cudaLaunchKernelEx(&how, second, (const int*)x, x + 32);
  cudaDeviceSynchronize();
  cudaFree(x);
}
"""
        done = self.check(self.source(kernels), *QUICK, "--fix")
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertIn("fix of 1: cudaGridDependencySynchronize(); after line 5: ", done.stdout)

    def test_needless(self):
        text = self.RACES.replace("MIDDLE", "__syncthreads();").replace("END", "__syncthreads();")
        done = self.check(self.source(text), "--schedules", "6", "--needless")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("my.cu:6: needless: __syncthreads();", done.stdout)
        self.assertIn("1 of 3 barriers, waits and fences can go, each alone\n", done.stdout)
        alone = "__global__ void k() {}\nint main() { k<<<1, 32>>>(), cudaDeviceSynchronize(); }\n"
        done = self.check(self.source(alone), "--schedules", "1", "--needless")
        self.assertIn("no barrier, wait or fence stands in these sources", done.stdout)

    def test_a_division_by_zero(self):
        start = "__global__ void k(int* x, int by) {\n  x[threadIdx.x] = 100 / (by + (threadIdx.x != 3));\n}\nint main() {\n  int* x;\n"
        done = self.check(
            self.source(start + "  cudaMalloc(&x, 128), k<<<1, 32>>>(x, 0), cudaFree(x);\n}\n"), *QUICK
        )
        self.assertEqual(done.returncode, 5)
        for said in (
            "wrong result: kernel k",
            "an integer division without a result",
            "block 0, thread 3",
            "at my.cu:2",
        ):
            self.assertIn(said, done.stdout)
        done = self.check(
            self.source(
                start
                + "  cudaMalloc(&x, 128), k<<<1, 32>>>(x, 1), cudaFree(x);\n  volatile int zero = 0;\n  return 7 / zero;\n}\n"
            ),
            *QUICK,
        )
        self.assertIn("the program's host code ended it (Floating point exception)", done.stdout)

    def test_a_kernel_that_is_launched_by_its_address(self):
        source = self.source(
            "template <class T> __global__ void named(T* x) { *x = threadIdx.x; }\nint main() {\n  int* x;\n  cudaMalloc(&x, 4);\n"
            "  void* all[] = {&x};\n  cudaLaunchKernel(named<int>, dim3(1), dim3(32), all);\n  cudaDeviceSynchronize(), cudaFree(x);\n}\n"
        )
        self.assertIn("race: kernel named<int>,", self.check(source, *QUICK).stdout)

    def test_a_faulty_source(self):
        done = self.check(self.source("int main() {\n  return nothing;\n}\n"))
        self.assertEqual(done.returncode, 3)
        self.assertIn("my.cu:2:10: error:", done.stderr)
        self.assertIn("return nothing;", done.stderr)
        done = self.check("none.cu")
        self.assertEqual((done.returncode, done.stderr), (3, "antiphase: there is no file 'none.cu'\n"))
        (self.folder / "folder.cu").mkdir()
        done = self.check("folder.cu")
        self.assertEqual(
            (done.returncode, done.stderr), (3, "antiphase: 'folder.cu' is a directory: expected a file\n")
        )
        done = self.check(self.source("int f();\n"))
        self.assertEqual(done.returncode, 3)
        self.assertIn("no main()", done.stderr)

    def test_a_header_in_a_folder_nearby_is_named(self):
        for name in ("app/src/kernels", "app/common/util", "app/more/util", "app/.hidden/util"):
            (self.folder / name).mkdir(parents=True)
        for name in ("app/common/util/one.h", "app/.hidden/util/one.h", "app/src/kernels/near/two.h"):
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text("int one();\n")

        def said(include, *options):
            text = f"// a kernel\n#include {include}\nint main() {{}}\n"
            (self.folder / "app/src/kernels/my.cu").write_text(text)
            done = self.check("app/src/kernels/my.cu", *options)
            return done.returncode, done.stderr

        for include, folders in (
            ('"one.h"', "-I app/common/util"),
            ('"util/one.h"', "-I app/common"),
            ("<two.h>", "-I app/src/kernels/near"),
        ):
            header = include.strip('<>"')
            code, text = said(include)
            self.assertEqual(code, 3)
            self.assertRegex(
                text,
                rf"app/src/kernels/my\.cu:2:\d+: fatal error: {header}: No such file or directory: "
                rf"expected {folders}, where it is\n",
            )
            self.assertEqual(said(include, *folders.split())[0], 2)  # it launches nothing
        (self.folder / "app/more/util/one.h").write_text("")
        self.assertIn("expected -I app/common/util or -I app/more/util, where", said('"one.h"')[1])
        self.assertIn("none.h: No such file or directory\n", said('"none.h"')[1])
        (refused,) = json.loads(self.check("app/src/kernels/my.cu", "--json").stdout)["programs"][0][
            "refused"
        ]
        self.assertEqual(refused["text"], "none.h: No such file or directory")

    def test_a_function_that_no_source_has(self):
        name = self.source(
            "struct image { int w; };\nvoid save(const image&, float*);\n"
            + KERNEL
            + "int main() { k<<<1, 1>>>(nullptr, 0); save({1}, nullptr); }\n"
        )
        done = self.check(name, *QUICK)
        self.assertEqual(
            (done.returncode, done.stderr),
            (
                3,
                "antiphase: nothing defines save(image const&, float*): expected the source that does among the others, or its library as -l\n",
            ),
        )

    def test_what_is_not_supported(self):
        done = self.check(
            self.source(
                '__global__ void k() {\n  asm volatile("tcgen05.mma.sp;");\n}\ntexture<float> t;\nint main() { k<<<1, 1>>>(); }\n'
            )
        )
        self.assertEqual(done.returncode, 3)
        self.assertIn("my.cu:2: inline PTX 'tcgen05.mma.sp' is not supported here: use ", done.stderr)
        self.assertIn("my.cu:4: texture is not supported here: use cudaCreateTextureObject()", done.stderr)
        for defined, of in (
            ("struct { short a; } t", "t.a"),
            ("struct T { short a; } t", "t.a"),
            ("union { short a; int b; } t[32]", "t[0].b"),
        ):
            used = f"__global__ void k() {{\n  __shared__ {defined};\n  {of} = 1;\n}}\nint main() {{ k<<<1, 1>>>(); }}\n"
            self.assertEqual(self.check(self.source(used), *QUICK).returncode, 0)
        named = "struct T { short a; };\n__global__ void k() { __shared__ struct T t[2]; t[0].a = 1; }\nint main() { k<<<1, 1>>>(); cudaDeviceSynchronize(); }\n"
        self.assertEqual(self.check(self.source(named), *QUICK).returncode, 0)
        for header, use, name, instead in (
            ("cublas_v2.h", "cublasSsyr2k(0, 1)", "cublasSsyr2k", "cublasSgemm"),
            ("cublasLt.h", "cublasLtMatmul(0, 1)", "cublasLtMatmul", "cublasSgemm"),
            ("curand.h", "curandGenerator_t g; curandSetSeed(g, 1)", "curandSetSeed", "curandState"),
            ("curand_kernel.h", "curandStateSobol32 s", "curandStateSobol32", "curandState"),
            ("cub/cub.cuh", "using cub::BlockRadixRank", "BlockRadixRank", "a kernel of the program"),
            ("cub/cub.cuh", "using cub::DeviceTransform", "DeviceTransform", "another of CUB's algorithms"),
            ("cufft.h", "cufftHandle plan", "cufftHandle", "a kernel of the program"),
            ("cudnn.h", "cudnnHandle_t h", "cudnnHandle_t", "a kernel of the program"),
            ("mma.h", "using namespace nvcuda; wmma::bmma_sync(0)", "bmma_sync", "mma_sync of numbers"),
        ):
            done = self.check(
                self.source(
                    f"#include <{header}>\nvoid f();\nint main() {{ f(); }}\nvoid f() {{\n  {use};\n}}\n"
                )
            )
            self.assertEqual(done.returncode, 3)
            self.assertEqual(
                done.stderr[: len(name) + 60].partition(" here")[0],
                f"antiphase: my.cu:5: {name} is not supported",
            )
            self.assertIn(f"use {instead}", done.stderr)

    def test_pragmas_of_openmp_are_named_in_a_note(self):
        program = (
            "__global__ void k() {}\nint main() {\n  int n = 0;\n#pragma omp parallel for\n"
            "  for (int i = 0; i < 4; ++i) ++n;\n  k<<<1, 1>>>();\n  return n - 4;\n}\n"
        )
        done = self.check(self.source(program), *QUICK)
        self.assertEqual(done.returncode, 0)
        self.assertIn("my.cu:4: OpenMP's pragmas have no effect", done.stdout + done.stderr)
        without = self.check(self.source(program.replace("#pragma omp parallel for", "")), *QUICK)
        self.assertNotIn("OpenMP", without.stdout + without.stderr)

    def test_what_a_header_refuses_is_one_sentence_with_the_program_s_line(self):
        text = """#include <cooperative_groups.h>
#include <mma.h>
namespace cg = cooperative_groups;
__global__ void k(int* x) {
  __shared__ MEMORY memory;
  const auto tile = TILES(memory));
  tile.sync();
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 8, double> c;
}
int main() { k<<<1, 128>>>(nullptr); }
"""
        for memory, tiles in (
            ("cg::block_tile_memory<128>", "cg::tiled_partition<64>(cg::this_thread_block"),
            (
                "cg::experimental::block_tile_memory<4, 128>",
                "cg::experimental::tiled_partition<128>(cg::experimental::this_thread_block",
            ),
        ):
            done = self.check(self.source(text.replace("MEMORY", memory).replace("TILES", tiles)), "--quiet")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(
                [re.sub("^antiphase: ", "", line)[:50] for line in done.stderr.splitlines()],
                [
                    "my.cu:6: tiles of more than 32 threads are not sup",
                    "my.cu:8: fragments of half, bfloat16, signed and u",
                ],
            )

    def test_a_second_thread_of_the_host_is_refused_by_name(self):
        for call, what in (
            ("k<<<1, 1>>>(nullptr, 0);", "a kernel is launched"),
            ("cudaStream_t s;\ncudaStreamCreate(&s);", "a stream is created"),
            ("int* p;\ncudaMalloc(&p, 4);", "memory is allocated"),
            ("cudaDeviceSynchronize();", "a stream is waited for"),
        ):
            name = self.source(
                f"#include <thread>\n{KERNEL}int main() {{\n  std::thread t([] {{\n{call}\n}});\n  t.join();\n"
                "  k<<<1, 1>>>(nullptr, 0);\n}\n"
            )
            done = self.check(name, *QUICK)
            line = 5 + call.count("\n")
            self.assertEqual((done.returncode, done.stdout), (4, ""))
            self.assertIn(f"my.cu:{line}: {what} by a second thread of the host", done.stderr)
        name = self.source(
            f"#include <thread>\n{KERNEL}int main() {{ int n = 1; std::thread t([&] {{ n = 0; }}); t.join();\n"
            "  k<<<1, 1>>>(nullptr, n);\n  return n; }\n"
        )
        self.assertEqual(self.check(name, *QUICK).returncode, 0)

    def test_volatile_accesses_are_called_so(self):
        name = self.source(
            "__global__ void k(int* x) { *(volatile int*)x = threadIdx.x; if (threadIdx.x == 40) *x = 1; }\n"
            "int main() { int* x; cudaMalloc(&x, 4); k<<<1, 64>>>(x); cudaFree(x); }\n"
        )
        told = self.check(name, *QUICK).stdout
        self.assertIn("volatile write", told)
        self.assertNotIn("atomic", told)

    def test_a_mask_of_activemask_is_named(self):
        done = self.check(str(PROGRAMS / "activemask.cu"), "-DBROKEN", "--schedules", "3")
        self.assertEqual(done.returncode, 5)
        self.assertRegex(
            done.stdout, r"missing .* the mask is that of __activemask\(\) in .*activemask\.cu:\d+"
        )
        self.assertRegex(done.stdout, r"note: kernel eighths takes a mask from __activemask\(\) in ")

    def test_a_spin_that_nobody_ends_is_given_up_soon(self):
        lock = (
            "__device__ int lock;\n__global__ void k() {\n  while (atomicCAS(&lock, 0, 1) != 0) {\n  }\n"
            "  __syncwarp();\n  atomicExch(&lock, 0);\n}\nint main() { k<<<1, 32>>>(); }\n"
        )
        done = self.check(self.source(lock), "--schedules", "3", "--workers", "1", "--json")
        program = json.loads(done.stdout)["programs"][0]
        self.assertEqual({f["kind"] for f in program["findings"]}, {"deadlock"})
        self.assertLess(program["accesses"], 3 * 300_000)  # 15 million, if each lane looked 16 times a turn

    def test_what_programs_have_in_common_is_compiled_once(self):
        log, cache = self.folder / "log", self.folder / "cache"
        compiler = self.folder / "logging"
        compiler.write_text(f'#!/bin/sh\necho "$@" >>{log}\nexec g++ "$@"\n')
        compiler.chmod(0o755)

        def check(where, name=str(PROGRAMS / "reduction.cu"), *more):
            log.write_text("")
            environment = {**os.environ, "CXX": str(compiler), "ANTIPHASE_CACHE": str(where)}
            done = self.check(name, *more, "-DBROKEN", "--json", *QUICK, env=environment)
            self.assertEqual((done.returncode, done.stderr[:11]), (5, "antiphase: "))
            lines = log.read_text().splitlines()
            used = any(f"-include {cache}/check/" in line for line in lines)
            return re.sub(r'"(seconds|date)": [^,\n]*', "", done.stdout), len(lines), used

        alone = check("off")
        self.assertEqual(alone[1:], (4, False))
        self.assertEqual(check(cache), (alone[0], 6, False))
        self.assertEqual(check(cache), (alone[0], 3, True))
        (parts,) = (cache / "check").iterdir()
        os.utime(parts, (1, 1))
        self.assertEqual(check(cache, str(PROGRAMS / "reduction.cu"), "-DNAME=1")[1:], (3, True))
        self.assertGreater(parts.stat().st_mtime, 1)  # those used last are kept
        for name in ("header.hpp.gch", "own_part.o"):  # of another compiler, say
            with self.subTest(name):
                kept = (parts / name).read_bytes()
                (parts / name).write_bytes(b"?")
                self.assertEqual(check(cache)[0], alone[0])
                (parts / name).write_bytes(kept)
        os.utime(compiler, (1, 1))
        self.assertEqual(check(cache), (alone[0], 6, False))
        self.assertEqual(len(list((cache / "check").iterdir())), 2)
        self.assertEqual(check(log), (alone[0], 4, False))  # no folder can be made there

    def test_no_compiler(self):
        done = self.check(self.source("int main() {}\n"), env={**os.environ, "CXX": "no-such-compiler"})
        self.assertEqual(done.returncode, 4)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("'no-such-compiler' does not start", done.stderr)

    def test_other_compilers(self):
        name = self.source("__global__ void k() {}\nint main() { k<<<1, 1>>>(); cudaDeviceSynchronize(); }\n")
        for clang in ("clang++", "/usr/bin/clang++-14 -O1"):
            done = self.check(name, env={**os.environ, "CXX": clang})
            self.assertEqual((done.returncode, done.stderr.count("\n")), (4, 1), done.stderr)
            self.assertIn("expected one in CXX, which names " + clang.split()[0], done.stderr)
        done = self.check(name, *QUICK, env={**os.environ, "CXX": "env g++ -DN=1"})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_run_begins_anew(self):
        name = self.source(
            "static int runs;\n__device__ int count;\n__global__ void k() { atomicAdd(&count, 1); }\n"
            "int main() { int n; k<<<1, 32>>>(); cudaMemcpyFromSymbol(&n, count, 4); return ++runs == 1 && n == 32 ? 0 : 1; }\n"
        )
        done = self.check(name, "--schedules", "4")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_ends_of_programs(self):
        for body, said in (
            ("exit(3);", "the program ended with 3"),
            ("abort();", "abort()"),
            ("int* p = nullptr; *(volatile int*)p = 1;", "Segmentation fault"),
        ):
            with self.subTest(body):
                text = (
                    "#include <cstdlib>\n"
                    + KERNEL
                    + "int main() { k<<<1, 32>>>(nullptr, 0); "
                    + body
                    + " }\n"
                )
                done = self.check(self.source(text), "--schedules", "1", "--seconds", "5", "--quiet")
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertIn(said, done.stdout)

    def test_a_program_that_ends_before_its_first_launch_is_not_judged(self):
        start = (
            "#include <cassert>\n#include <cstdio>\n#include <cstdlib>\n#include <stdexcept>\n#include <sys/syscall.h>\n#include <unistd.h>\n"
            + KERNEL
            + "int main(int argc, char** argv) {\n"
        )
        for body, said in (
            ("return argc > 1 ? 0 : 3;", "the program ended with 3"),
            ("_exit(4);", "the program ended with 4"),
            ("syscall(SYS_exit_group, 4);", "ended it (_exit)"),
            ("", "the program ended"),
            ("return atoi(argv[1]) - 1;", "ended it (Segmentation fault)"),
            ("assert(argc > 1);", "my.cu:9: assertion failed: argc > 1"),
            ('throw std::runtime_error("no input");', "exception: no input"),
            ('fopen("my.cu", "r"); abort();', "the program called abort()"),
        ):
            with self.subTest(body):
                done = self.check(self.source(start + body + "\n}\n"), *QUICK, "--quiet")
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertRegex(done.stderr, r"^antiphase: [^\n]*\n$")
                self.assertIn(
                    said + " before it launched a kernel, so it was not checked. Its arguments come after --",
                    done.stderr,
                )

    def test_what_initialises_variables_may_call_cuda_and_may_end_the_program(self):
        text = (
            "#include <cstdlib>\n__constant__ int n;\n__global__ void k(int* x) { x[threadIdx.x] = n; }\nint* load() {\n  int* x; int v = 3; BODY\n"
            "  cudaMalloc(&x, 128), cudaMemcpyToSymbol(n, &v, 4);\n  return x;\n}\nint* const x = load();\n"
            "int main() { k<<<1, 32>>>(x); int y; cudaMemcpy(&y, x, 4, cudaMemcpyDeviceToHost), cudaFree(x); return y - 3; }\n"
        )
        self.assertEqual(self.check(self.source(text.replace("BODY", "")), *QUICK).returncode, 0)
        for body, said in (
            ("exit(3);", "the program ended with 3"),
            ("abort();", "called abort()"),
            ("*(volatile int*)nullptr = 1;", "Segmentation fault"),
            ("throw 1;", "Aborted"),
        ):
            with self.subTest(body):
                done = self.check(self.source(text.replace("BODY", body)), *QUICK)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(said, done.stderr)
                self.assertIn("before it launched a kernel", done.stderr)

    def test_what_is_found_without_a_launch_is_told(self):
        for body, said in (
            ("k<<<1, 2000>>>(nullptr, 0); if (cudaGetLastError() != cudaSuccess) return 1;", "bad launch"),
            ("int* x; cudaMalloc(&x, 4);", "memory leak"),
            ("int* x; cudaMalloc(&x, 4), *x = 1;", "access outside memory"),
        ):
            with self.subTest(body):
                done = self.check(self.source(KERNEL + "int main() { " + body + " }\n"), "--leaks", *QUICK)
                self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
                self.assertIn(said, done.stdout)

    def test_what_comes_before_the_first_launch_runs_once(self):
        log = self.folder / "log"
        text = (
            "#include <cstdio>\n"
            + KERNEL
            + """void say(char c) { FILE* f = fopen("LOG", "a"); fputc(c, f); fclose(f); }
int main() {
  say('b');
  HOLD int* x;
  cudaMalloc(&x, 128), k<<<1, 32>>>(x, 1), cudaFree(x);
  say('e');
}
""".replace(
                "LOG", str(log)
            )
        )
        for hold, before in (
            ("", "b"),
            ('FILE* mine = fopen("LOG2", "w");'.replace("LOG2", str(log) + "2"), "bbbb"),
        ):
            with self.subTest(hold):  # all runs would share a file that is open at the launch
                log.write_text("")
                done = self.check(
                    self.source(text.replace("HOLD", hold)), "--schedules", "4", "--workers", "1"
                )
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(sorted(log.read_text()), sorted(before + "eeee"))

    def test_what_blocks_that_did_not_run_would_have_written(self):
        text = """#include <cassert>
__global__ void fill(int* x) { x[blockIdx.x * 32 + threadIdx.x] = 1; }
__global__ void use(const int* x, int* to) {
  int mine = x[blockIdx.x * 32 + threadIdx.x];
  CHECK
  to[mine - 1] = 5 + threadIdx.x % 1;
}
int main() {
  int *x, *to, n = 300;
  cudaMalloc(&x, 128 * n), cudaMalloc(&to, 4);
  fill<<<n, 32>>>(x);
  use<<<1, 1>>>(x + 32 * 150, to);
  cudaFree(x), cudaFree(to);
}
"""
        for line in ("", "assert(mine == 1);"):
            with self.subTest(line):
                name = self.source(text.replace("CHECK", line))
                done = self.check(name, *QUICK, "--blocks", "64")
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertIn("are not checked", done.stdout)
        broken = text.replace("CHECK", "").replace("to[mine - 1]", "to[mine]")
        done = self.check(self.source(broken), *QUICK, "--blocks", "all")
        self.assertEqual(done.returncode, 5)
        self.assertIn("access outside memory", done.stdout)

    def test_long_launches_end_after_so_many_accesses(self):
        text = """__global__ void k(int* x) {
  __shared__ int s[256];
  for (int i = 0; i < 30000; ++i) s[threadIdx.x] += i;
  x[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}
int main() { int* x; cudaMalloc(&x, 1024 * 64), cudaMemset(x, 0, 1024 * 64), k<<<64, 256>>>(x), cudaFree(x); }
"""
        done = self.check(
            self.source(text.replace("s[threadIdx.x] +=", "s[threadIdx.x] =")), "--schedules", "1"
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(
            "only some of the 64 blocks of kernel k run, after 12 million memory accesses", done.stdout
        )

    def test_a_run_that_does_not_end_is_no_fault_and_not_right(self):
        done = self.check(
            self.source("#include <unistd.h>\nint main() { for (;;) sleep(1); }\n"),
            "--schedules",
            "1",
            "--seconds",
            "1",
            "--quiet",
        )
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("no finding in 1 schedule, 1 of them not ended", done.stdout)
        self.assertIn("had launched no kernel after 10 seconds", done.stdout)
        self.assertIn("is not known to be correct", done.stderr)

    def test_a_loop_that_stores_and_never_ends_is_told_with_its_line(self):
        text = "__global__ void k(int* x) {\n  int i = 0;\n  LOOP\n}\n" + (
            "int main() { int* x; cudaMalloc(&x, 256), cudaMemset(x, 0, 256), k<<<1, 32>>>(x), cudaFree(x); }\n"
        )
        for loop in (
            "while (true) x[threadIdx.x] = i++;",
            "while (*(volatile int*)(x + 40) == 0) x[threadIdx.x] = i++;",
        ):
            done = self.check(self.source(text.replace("LOOP", loop)), "--schedules", "9")
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.assertIn("no finding in 2 schedules, 2 of them not ended", done.stdout)
            self.assertIn("kernel k was stopped at ", done.stdout)
            self.assertIn(
                "was stopped at my.cu:3, 120 million accesses of a few blocks after its start: its loop may never end",
                done.stdout,
            )
            self.assertIn("is not known to be correct", done.stderr)

    def test_two_runs_that_do_not_end_are_enough(self):
        text = KERNEL + "#include <unistd.h>\nint main() { k<<<1, 32>>>(nullptr, 0); for (;;) sleep(1); }\n"
        for workers in "1", "3":
            done = self.check(
                self.source(text), "--schedules", "9", "--seconds", "1", "--workers", workers, "--quiet"
            )
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("no finding in 2 schedules, 2 of them not ended", done.stdout)
            self.assertIn("two runs did not finish, so the other schedules were not tried", done.stdout)

    def test_loops_around_meetings_that_wait_for_ever_end_soon(self):
        looks = (
            "while (flag == 0) __syncwarp();",
            "while (flag == 0) __syncthreads();",
            "while (*(volatile int*)&flag == 0) { __syncwarp(); __syncthreads(); }",
            "for (int f = 0; f == 0; __nanosleep(100)) f = __shfl_sync(~0u, flag, 0);",
            "while (true) { __syncwarp(); const int f = flag; if (__any_sync(~0u, f)) break; }",
            "while (__syncthreads_and(flag == 0)) __syncthreads();",
        )
        for look in looks:
            with self.subTest(look):
                text = (
                    "__global__ void k() { __shared__ int flag; if (threadIdx.x == 0) flag = 0; __syncthreads(); "
                    + look
                    + " }\nint main() { k<<<1, 32>>>(); }\n"
                )
                done = self.check(self.source(text), "--schedules", "2", "--seconds", "30", "--json")
                found = json.loads(done.stdout)["programs"][0]
                self.assertEqual({f["kind"] for f in found["findings"]}, {"deadlock"}, done.stdout)
                self.assertEqual(found["findings"][0]["times"], 2)

    def test_a_deadlock_says_what_has_not_begun_and_a_copy_has_no_block(self):
        done = self.check(
            self.source(
                "__global__ void k(int* x) { if (blockIdx.x == 5) atomicExch(x, 1); "
                "else while (atomicAdd(x, 0) == 0) {} }\n"
                "int main() { int* x; cudaMalloc(&x, 4), cudaMemset(x, 0, 4), k<<<6, 1>>>(x), cudaFree(x); }\n"
            ),
            *("--schedules", "1", "--resident", "3", "--quiet"),
        )
        self.assertIn("3 of 6 blocks have not begun, as this schedule has 3 resident at a time", done.stdout)
        done = self.check(
            self.source(
                KERNEL
                + "int main() { int *x, h[32]; cudaStream_t s; cudaStreamCreate(&s), cudaMalloc(&x, 128);\n"
                "cudaMemcpyAsync(x, h, 128, cudaMemcpyHostToDevice);\n"
                "cudaStream_t t; cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);\n"
                "k<<<1, 32, 0, t>>>(x, 1); cudaDeviceSynchronize(); cudaFree(x); }\n"
            ),
            *("--schedules", "1", "--quiet"),
        )
        self.assertIn("earlier  write, in the order of its stream", done.stdout)

    def test_large_launches_are_sampled(self):
        text = (
            KERNEL.replace("x[threadIdx.x]", "x[blockIdx.x * 32 + threadIdx.x]")
            + """int main() {
  int *x, h, n = 500;
  cudaMalloc(&x, 128 * n), k<<<n, 32>>>(x, 1), cudaMemcpy(&h, x + 32 * 250, 4, cudaMemcpyDeviceToHost), cudaFree(x);
  return h != 1;
}
"""
        )
        name = self.source(text)
        done = self.check(name, *QUICK, "--blocks", "320")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("note: only 10 of the 500 blocks of kernel k run", done.stdout)
        done = self.check(name, *QUICK, "--blocks", "all")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("note", done.stdout)
        self.assertEqual(self.check(name, "--blocks", "few").returncode, 2)

    def test_interrupted(self):
        name = self.source(
            "#include <unistd.h>\n"
            + KERNEL
            + "int main() { int* x; cudaMalloc(&x, 100); k<<<1, 32>>>(x, 1); cudaFree(x); }\n"
        )
        temporary = self.folder / "temporary"
        temporary.mkdir()
        tool = subprocess.Popen(
            [TOOL, "check", name, "--schedules", "100000", "--workers", "1", "--json"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(temporary)},
        )
        time.sleep(4)
        tool.send_signal(signal.SIGINT)
        out, _ = tool.communicate(timeout=30)
        for _ in range(50):  # another process removes it
            if not list(temporary.iterdir()):
                break
            time.sleep(0.1)
        self.assertEqual(list(temporary.iterdir()), [])
        self.assertEqual(tool.returncode, 130)
        result = json.loads(out)
        self.assertTrue(result["partial"])
        self.assertEqual(result["programs"][0]["findings"][0]["kind"], "access outside memory")

    def test_sarif_and_lines(self):
        name = self.source((PROGRAMS / "reduction.cu").read_text())
        done = self.check(name, "-DBROKEN", *QUICK, "--sarif", "out.sarif", "--lines")
        self.assertEqual(done.returncode, 5)
        # the pattern of editors
        gcc = re.compile(r"^(.*?):(\d+):(\d*):?\s+(?:fatal\s+)?(warning|error):\s+(.*)$", re.MULTILINE)
        errors = gcc.findall(done.stdout)
        document = json.loads((self.folder / "out.sarif").read_text())
        self.assertEqual(document["version"], "2.1.0")
        self.assertTrue(document["$schema"].endswith("sarif-2.1.0.json"))
        (run,) = document["runs"]
        rules = run["tool"]["driver"]["rules"]
        self.assertEqual(len({r["id"] for r in rules}), len(rules))
        for rule in rules:
            self.assertTrue(
                rule["shortDescription"]["text"] and rule["fullDescription"]["text"] and rule["help"]["text"]
            )
        self.assertTrue(
            run["originalUriBaseIds"]["SRCROOT"]["uri"].startswith("file:///")
            and run["originalUriBaseIds"]["SRCROOT"]["uri"].endswith("/")
        )
        # those of one cause are notes below its first, and related places of its result
        also = re.findall(r"^(.*?):(\d+):\d*: note: also seen as (.*) \[", done.stdout, re.MULTILINE)
        self.assertEqual((len(run["results"]), len(errors)), (1, 1))
        self.assertTrue(also)
        related = [
            (
                r["physicalLocation"]["artifactLocation"]["uri"],
                str(r["physicalLocation"]["region"]["startLine"]),
                r["message"]["text"].removeprefix("also seen as "),
            )
            for r in run["results"][0]["relatedLocations"]
        ]
        self.assertEqual(related[1:], also)
        for result, (file, line, _, severity, text) in zip(run["results"], errors):
            self.assertEqual(
                (severity, rules[result["ruleIndex"]]["id"], result["level"]),
                ("error", result["ruleId"], "error"),
            )
            self.assertTrue(text.endswith(f"[{result['ruleId']}]"))
            where = result["locations"][0]["physicalLocation"]
            self.assertEqual(
                (where["artifactLocation"], where["region"]),
                ({"uri": file, "uriBaseId": "SRCROOT"}, {"startLine": int(line)}),
            )
            self.assertTrue(result["message"]["text"] and result["partialFingerprints"])
            self.assertIn("--schedules 1", result["properties"]["replay"])
            steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
            self.assertEqual(steps[-1]["location"]["physicalLocation"], where)
        first = run["results"][0]
        self.assertTrue(first["relatedLocations"][0]["message"]["text"].startswith("earlier: "))
        clean = self.check(name, *QUICK, "--sarif", "-", "--quiet", "--lines")
        self.assertEqual(clean.returncode, 0)
        self.assertEqual(json.loads(clean.stdout)["runs"][0]["results"], [])
        self.assertEqual(self.check("scan/items", "--lines").returncode, 2)

    def test_programs_that_are_not_checked_are_told_to_programs_too(self):
        launch = "int main() { k<<<1, 1>>>(nullptr, 0); }\n"
        for text, status, refused in (
            (
                KERNEL + "int main() {\n  return nothing + k<<<1, 1>>>(1);\n}\n",
                3,
                [("does not compile", "my.cu", 3, 10, "not declared")],
            ),
            ('#include "none.h"\n' + launch, 3, [("does not compile", "my.cu", 1, 10, "none.h")]),
            (
                KERNEL + "#include <thrust/async/none.h>\n" + launch,
                3,
                [
                    (
                        "not supported",
                        "my.cu",
                        KERNEL.count("\n") + 1,
                        0,
                        "<thrust/async/none.h> is not supported here",
                    )
                ],
            ),
            (
                "texture<float> t;\nint main() { void f(); f(); }\nvoid f() { texCubemap(); }",
                3,
                [
                    ("not supported", "my.cu", 1, 0, "texture is not supported here"),
                    ("not supported", "my.cu", 3, 0, "texCubemap is not"),
                ],
            ),
            (KERNEL + "int main() {}\n", 2, [("not run", "my.cu", 0, 0, "before it launched a kernel")]),
            (
                KERNEL + "int main() { int* x; cudaMalloc(&x, size_t(1) << 40); " + launch[13:],
                4,
                [("not supported", "my.cu", 0, 0, "")],
            ),
        ):
            with self.subTest(text):
                done = self.check(self.source(text), *QUICK, "--json", "--sarif", "out.sarif")
                self.assertEqual(done.returncode, status, done.stderr)
                (program,) = json.loads(done.stdout)["programs"]
                self.assertEqual(program["findings"], [])
                told = [(r["why"], r["file"], r["line"], r["column"]) for r in program["refused"]]
                self.assertEqual(told[: len(refused)], [r[:4] for r in refused])
                for r, (*_, said) in zip(program["refused"], refused):
                    self.assertIn(said, r["text"])
                    self.assertIn(r["text"], done.stderr)
                (run,) = json.loads((self.folder / "out.sarif").read_text())["runs"]
                self.assertFalse(run["invocations"][0]["executionSuccessful"])
                rules = run["tool"]["driver"]["rules"]
                for result, r in zip(run["results"], program["refused"], strict=True):
                    self.assertEqual(
                        (result["message"]["text"], rules[result["ruleIndex"]]["name"]), (r["text"], r["why"])
                    )
                    self.assertEqual(
                        result["locations"][0]["physicalLocation"]["region"].get("startColumn", 0),
                        r["column"],
                    )
                (self.folder / "out.sarif").unlink()

    def test_kernels_without_a_main(self):
        scale, driver = (str(ROOT / "examples/plain_cuda" / name) for name in ("scale.cu", "check_scale.cpp"))
        done = self.check(scale, "--kernels", driver, *QUICK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.check(scale, "--kernels", driver, "-D", "FORGOTTEN", *QUICK)
        self.assertEqual(done.returncode, 5)
        self.assertIn("scale.cu:20", done.stdout)
        self.assertIn(f"--kernels {driver} ", done.stdout)
        done = self.check(scale, "--kernels", "none.cpp")
        self.assertEqual(
            (done.returncode, done.stderr),
            (3, "antiphase: there is no file 'none.cpp', which --kernels names\n"),
        )

    def test_kernels_of_a_header_beside_what_is_elsewhere(self):
        name = self.source(
            "#include <torch/all.h>\nvoid elsewhere(int);\nnamespace mine {\n"
            "__global__ void k(int* p) { p[threadIdx.x] = 1; }\n"
            "template <int n> __global__ void __cluster_dims__(n, 1, 1) unused(int* p) { p[0] = n; }\n}\n"
            "torch::Tensor bound(torch::Tensor& x) { return x; }\nvoid calls() { elsewhere(1); }\n",
            "kernels.cuh",
        )
        launch = "int* p; cudaMalloc(&p, 128); mine::k<<<1, 32>>>(p); cudaFree(p);"
        done = self.check(
            name, "--kernels", self.source(f"int main() {{ {launch} }}\n", "driver.cpp"), *QUICK
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.check(
            name, "--kernels", self.source(f"int main() {{ {launch} calls(); }}\n", "driver.cpp"), *QUICK
        )
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("nothing defines elsewhere(int): expected the source that does", done.stderr)

    def test_arrays_of_a_driver_are_arguments_of_every_kernel(self):
        name = self.source(
            "template <int N, class T> __global__ void scaled(T* to, const T* from, T by) { to[threadIdx.x] = N * by * from[threadIdx.x FAR]; }\n"
            "__global__ void plain(float* x, int = 0) { x[threadIdx.x] += 1; }\n__global__ void plain(int* x) { x[threadIdx.x] += 2; }\n"
            "template <class T> __global__ void all(T x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }\nint main() { return 1; }\n"
        )
        driver = self.source(
            """#include <antiphase/plain/driver.h>
int main() {
  using namespace antiphase::driver;
  const auto values = numbers<float>(32);
  const array<float> from(values);
  array<float> to(32);
  array<int> other(numbers<int>(32));
  scaled<4><<<1, 32>>>(to, from, 0.5f);
  scaled<1, float><<<1, 32>>>((float*)to, to, 1);
  plain<<<1, 32>>>(to);
  plain<<<1, 32>>>(other);
  all<<<1, 32>>>(to, 32);
  return holds("to", to, [&](int i) { return 2 * values[i] + 2; }) && holds("other", other, [](int i) { return numbers<int>(32)[i] + 2; }) ? 0 : 1;
}
""",
            "driver.cpp",
        )
        done = self.check(name, "--kernels", driver, "-DFAR=", *QUICK)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.check(name, "--kernels", driver, "-DFAR=+1", *QUICK)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("0 bytes past the end of 128 allocated", done.stdout)

    def test_a_launch_in_json_takes_the_types_of_the_kernel(self):
        name = self.source(
            """#include <cuda_fp16.h>
struct pair { int first; float by; };
__global__ void k(const float4* from, __half2* to, const long long* shift, bool* even, pair p, size_t at, float by) {
  const int t = threadIdx.x;
  if (t > 12 MORE) return;
  const float4 v = from[t];
  to[t] = __floats2half2_rn(p.by * (v.x + v.w), by);
  even[t] = (t + shift[t]) % 2 == 0 && at == (size_t)to + 4 && p.first == 3;
}
"""
        )
        arguments = [
            {"array": "f32", "count": 52, "data": "iota"},
            {
                "array": "f16",
                "count": 26,
                "data": "none",
                "expected": [2 * i + 1.5 if i % 2 == 0 else 0.5 for i in range(26)],
            },
            {"array": "i64", "count": 13, "data": "iota"},
            {"array": "u8", "count": 13, "data": "none", "expected": [1] * 13},
            {"bytes": [3, 0, 0, 0, 0, 0, 0, 63]},  # 3, 0.5f
            {"address": 1, "offset": 4},
            0.5,
        ]

        def launch(given, *options):
            text = json.dumps({"kernel": "k", "grid": 1, "block": 32, "arguments": given})
            return self.check(name, "--launch", self.source(text, "l.json"), *options, *QUICK)

        done = launch(arguments, "-DMORE=")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = launch(arguments, "-DMORE=+1")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("0 bytes past the end of 208 allocated", done.stdout)
        wanted = "a pointer to such numbers, or to vectors or structs of them"
        for place, other, what, expected in (
            (1, {"array": "f64", "count": 26}, "an array of f64", wanted),
            (2, {"array": "f32", "count": 13}, "an array of f32", wanted),
            (0, 7, "7", "a type that holds this number"),
            (5, 0.5, "0.5", "a type that holds this number"),
            (6, None, "null", "a pointer"),
            (4, {"bytes": [0] * 12}, "12 bytes", "a type of this size"),
        ):
            with self.subTest(what):
                done = launch([other if i == place else a for i, a in enumerate(arguments)], "-DMORE=")
                self.assertEqual(
                    (done.returncode, done.stderr),
                    (
                        3,
                        f"antiphase: {self.folder}/l.json: argument {place} is {what}, and the parameter of k has "
                        f"another type: expected {expected}\n",
                    ),
                )
        done = launch(arguments[:-1], "-DMORE=")
        self.assertIn(
            "l.json: the launch has more or fewer arguments than the kernel has parameters\n", done.stderr
        )

    def test_a_tool_that_was_moved_finds_its_headers(self):
        to = self.folder / "elsewhere"
        (to / "bin").mkdir(parents=True)
        shutil.copy(TOOL, to / "bin/antiphase")
        shutil.copytree(ROOT / "include", to / "include")
        marked = to / "include/antiphase/plain/math_constants.h"
        marked.write_text(marked.read_text() + "#define OF_THE_COPY 1\n")
        name = self.source(
            "#include <math_constants.h>\n"
            + KERNEL
            + "int main() { k<<<1, 1>>>(nullptr, 0); return OF_THE_COPY - 1; }\n"
        )
        done = subprocess.run(
            [to / "bin/antiphase", "check", name, *QUICK],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_name_that_is_promised_stands_in_a_program(self):
        # names of PyTorch stand in Python programs
        folders = (PROGRAMS, ROOT / "tests/checker/upstream/programs", ROOT / "tests/checker/plain/models")
        programs = "\n".join(
            re.sub(r"//[^\n]*", "", p.read_text())
            for folder in folders
            for p in sorted(folder.iterdir())
            if p.suffix in (".cu", ".py")
        ).replace("cg::", "cooperative_groups::")
        ptx = re.sub(r"\\[nt]", " ", " ".join(re.findall(r'"[^"\n]*"', programs)))
        modules = (ROOT / "tests/checker/plain/test_tensor_memory.py").read_text()

        def is_used(group, name, about):
            if group == "inline PTX":
                text = modules if about.startswith("in modules") else ptx + modules
                return re.search(rf"(?<![\w.]){re.escape(name)}(?=[\s.;])", text)
            return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", programs) or (
                name == "<<<>>>" and "<<<" in programs
            )

        groups = json.loads(self.check("--dialect", "--json").stdout)["dialect"]
        promised = [
            (group["name"], name, entry["about"])
            for group in groups
            for entry in group["entries"]
            if entry["supported"] != "no"
            for name in entry["names"].split()
        ]
        self.assertGreater(len(promised), 200)
        self.assertEqual(
            [name for group, name, about in promised if not is_used(group, name, about)],
            [],
            "--dialect lists what no program uses",
        )

    def test_copies_beyond_a_variable_of_the_host(self):
        name = self.source(
            """#include <cstdlib>
#include <vector>
__global__ void k(int* x) { x[threadIdx.x] = threadIdx.x; }
int of_program[32];
int main(int, char** v) {
  const std::size_t n = std::atoi(v[2]);
  int *x, on_stack[32] = {};
  std::vector<int> h(32, 1);
  cudaMalloc(&x, 256);
  k<<<1, 64>>>(x);
  switch (std::atoi(v[1])) {
    case 0: cudaMemcpy(h.data(), x, n, cudaMemcpyDeviceToHost); break;
    case 1: cudaMemcpy(x, h.data() + 8, n, cudaMemcpyHostToDevice); break;
    case 2: cudaMemcpy(on_stack, x, n, cudaMemcpyDeviceToHost); break;
    case 3: cudaMemcpyAsync(x, on_stack, n, cudaMemcpyHostToDevice); break;
    case 4: cudaMemcpy(of_program + 8, x, n, cudaMemcpyDeviceToHost); break;
  }
  cudaDeviceSynchronize(), cudaFree(x);
}
"""
        )
        for case, fits, left in ((0, 128, 128), (1, 96, 96), (2, 128, None), (3, 128, None), (4, 96, 96)):
            right = self.check(name, *QUICK, "--", str(case), str(fits))
            self.assertEqual(right.returncode, 0, right.stdout + right.stderr)
            done = self.check(name, *QUICK, "--json", "--", str(case), str(fits + 4 if left else 1024))
            self.assertEqual(done.returncode, 5, f"{case}: {done.stderr}")
            (finding,) = json.loads(done.stdout)["programs"][0]["findings"]
            self.assertEqual((finding["kind"], finding["access"]["at"]["line"]), ("bad copy", 12 + case))
            if left:
                self.assertIn(f"at most {left} bytes", finding["memory"])

    def test_words_that_are_not_aligned_to_their_size(self):
        forms = [
            ("atomicAdd((unsigned long long*)p, 1ull);", 8),
            ("atomicCAS((unsigned short*)p, (unsigned short)0, (unsigned short)1);", 2),
            ("atomicAdd((__half2*)p, __half2half2(__float2half(1.f)));", 4),
            ("cuda::atomic_ref<int, cuda::thread_scope_device>(*(int*)p).fetch_add(1);", 4),
            ('asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(p));', 4),
            ('asm volatile("red.global.add.v2.f32 [%0], {%1, %1};" ::"l"(p), "f"(1.f));', 8),
            ('asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(p));', 4),
            ('asm volatile("st.volatile.global.v2.u32 [%0], {%1, %1};" ::"l"(p), "r"(1));', 8),
            ('unsigned long a; asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(a) : "l"(p));', 8),
            (
                'unsigned a, b; asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];"'
                ' : "=r"(a), "=r"(b) : "l"(p));',
                8,
            ),
            (
                'unsigned a, b; asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];"'
                ' : "=r"(a), "=r"(b) : "l"(p));',
                8,
            ),
        ]
        cases = "".join(f"    case {i}: {{ {text} break; }}\n" for i, (text, _) in enumerate(forms))
        name = self.source(
            f"""#include <cuda/atomic>
#include <cuda_fp16.h>
#include <cstdlib>
__global__ void k(char* p, int form) {{
  switch (form) {{
{cases}  }}
}}
int main(int, char** v) {{
  char* p;
  cudaMalloc(&p, 64), cudaMemset(p, 0, 64);
  k<<<1, 1>>>(p + std::atoi(v[2]), std::atoi(v[1]));
  cudaDeviceSynchronize(), cudaFree(p);
}}
"""
        )
        for i, (text, size) in enumerate(forms):
            whole, half = (
                self.check(name, *QUICK, "--json", "--", str(i), str(offset)) for offset in (size, size // 2)
            )
            self.assertEqual(whole.returncode, 0, text + whole.stderr)
            self.assertEqual(half.returncode, 5, text + half.stderr)
            (finding,) = json.loads(half.stdout)["programs"][0]["findings"]
            self.assertEqual(
                (finding["kind"], finding["access"]["at"]["line"]), ("misaligned access", 6 + i), text
            )
            self.assertIn(f"{size // 2} more than a multiple of {size}", finding["memory"])

    def test_dialect(self):
        text = " ".join(self.check("--dialect").stdout.split())
        groups = json.loads(self.check("--dialect", "--json").stdout)["dialect"]
        for group in groups:
            self.assertIn(group["name"], text)
            for entry in group["entries"]:
                self.assertIn(" ".join(entry["names"].split()), text)


unittest.main()
