# SPDX-License-Identifier: Apache-2.0
"""What antiphase check says: the cause that a finding names, and refusals that name what the program wrote."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(sys.argv.pop(1)).resolve()
QUICK = ("--schedules", "3", "--workers", "1")
KERNEL = "__global__ void k(int* p) { p[threadIdx.x] = 1; }\n"
MAIN = "int main() { int* p; cudaMalloc(&p, 128); k<<<1, 32>>>(p); cudaDeviceSynchronize(); cudaFree(p); }\n"


class Messages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, text, *options, code, **others):
        """Checks my.cu with this text; `others`: further sources by their names, which have a _ for the dot."""
        (self.folder / "my.cu").write_text(text)
        for name, content in others.items():
            (self.folder / name.replace("_", ".")).write_text(content)
        command = [TOOL, "check", "my.cu", *options, *QUICK]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 5 else done.stderr

    def findings(self, text, *options):
        return json.loads(self.check(text, *options, "--json", code=5))["programs"][0]["findings"]

    # causes

    def test_several_threads_write_in_one_line(self):
        for line in ("acc = acc + x[threadIdx.x];", "*x += threadIdx.x;", "acc = threadIdx.x;"):
            text = (
                "__global__ void k(int* x) {\n  __shared__ int acc;\n  if (threadIdx.x == 0) acc = 0;\n"
                f"  __syncthreads();\n  {line}\n  __syncthreads();\n  if (threadIdx.x == 0) x[0] = acc;\n}}\n"
                "int main() { int* x; cudaMalloc(&x, 256); cudaMemset(x, 1, 256); k<<<1, 64>>>(x); cudaDeviceSynchronize(); cudaFree(x); }\n"
            )
            with self.subTest(line):
                found = next(f for f in self.findings(text) if f["access"]["at"]["line"] == 5)
                self.assertTrue(found["missing"]["text"].startswith("an atomic operation,"), found["missing"])

    def test_a_reduction_without_a_barrier_needs_one(self):
        text = (
            "__global__ void k(int* x) {\n  __shared__ int s[64];\n  s[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
            "  for (int h = 32; h > 0; h /= 2)\n    if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];\n"
            "  if (threadIdx.x == 0) x[0] = s[0];\n}\n"
            "int main() { int* x; cudaMalloc(&x, 256); cudaMemset(x, 1, 256); k<<<1, 64>>>(x); cudaDeviceSynchronize(); cudaFree(x); }\n"
        )
        for found in self.findings(text):
            self.assertIn("__sync", found["missing"]["text"])

    def test_a_hung_mbarrier_tells_what_it_waits_for(self):
        solutions = pathlib.Path(__file__).resolve().parents[3] / "docs/course/solutions"
        roles, bulk = ((solutions / name).read_text() for name in ("07-roles.cu", "08-bulk-copies.cu"))
        arrive = "full[s].arrive_with_copies();"
        for text, change, told in (
            (  # one lane of 32 arrives
                roles.replace(arrive, "if (threadIdx.x == 0) " + arrive),
                arrive,
                [
                    "threads 32-95 polling full[0]: 1 of 32 arrivals; waits for parity 0, 0 phases have ended in"
                ],
            ),
            (  # no thread releases slots
                roles.replace("empty[s].arrive();", ""),
                "empty[s].arrive();",
                [
                    "threads 0-31 polling empty[0]: 0 of 64 arrivals; waits for parity 0, 0 phases have ended in",
                    "threads 32-95 polling full[0]: 0 of 32 arrivals; waits for parity 1, 1 phase has ended in",
                ],
            ),
            (  # a full tile's bytes are announced for a short one, the 16th: 40 of 64 numbers
                bulk.replace("full[s].expect(bytes(i));", "full[s].expect(tile * 4);"),
                "full[s].expect(bytes(i));",
                [
                    "polling full[3]: 1 of 1 arrivals, 96 bytes missing; waits for parity 1, 3 phases have ended in"
                ],
            ),
        ):
            with self.subTest(change):
                happened = next(f for f in self.findings(text) if f["kind"] == "deadlock")
                for sentence in told:
                    self.assertIn(sentence, json.dumps(happened))

    def test_what_nobody_has_written_is_read_too_early(self):
        text = (
            "__global__ void k(const int* sizes, int* owner) {\n  __shared__ int before[65];\n  const int t = threadIdx.x;\n"
            "  if (t == 0) for (int i = before[0] = 0; i < 64; ++i) before[i + 1] = before[i] + sizes[i];\n"
            "  int low = 0, high = 64;\n"
            "  while (high - low > 1) (before[(low + high) / 2] <= t ? low : high) = (low + high) / 2;\n  owner[t] = low;\n}\n"
            "int main() { int *s, *o; cudaMalloc(&s, 256); cudaMalloc(&o, 256); cudaMemset(s, 0, 256); k<<<1, 64>>>(s, o);\n"
            "  cudaDeviceSynchronize(); cudaFree(s); cudaFree(o); }\n"
        )
        found = self.findings(text)
        kinds = [f["kind"] for f in found if f["group"] == found[0]["group"]]
        self.assertEqual((kinds[0], kinds[-1]), ("race", "overwritten in use"))

    def test_a_block_of_the_cluster_has_ended(self):
        text = (
            "#include <cooperative_groups.h>\n__global__ void __cluster_dims__(4, 1, 1) k(int* y) {\n"
            "  __shared__ int mine[32];\n  auto c = cooperative_groups::this_cluster();\n  mine[threadIdx.x] = 1;\n  c.sync();\n"
            "  if (c.block_rank() == 3) return;\n  for (int i = 0; i < 40; ++i) __nanosleep(100);\n"
            "  y[threadIdx.x] = c.map_shared_rank(mine, 3)[threadIdx.x];  // here\n}\n"
            "int main() { int* y; cudaMalloc(&y, 128); k<<<4, 32>>>(y); cudaDeviceSynchronize(); cudaFree(y); }\n"
        )
        found = next(f for f in self.findings(text) if f["kind"] == "access outside memory")
        self.assertIn("block (3, 0, 0) has ended", found["missing"]["text"])
        self.assertIn("shared memory of block (3, 0, 0)", found["memory"])

    def test_an_event_that_was_not_recorded(self):
        def text(record):
            return (
                "__global__ void w(int* p) { p[threadIdx.x] = 1; }\nint main() {\n  int *p;\n  cudaMalloc(&p, 128);\n"
                "  cudaStream_t a, b; cudaStreamCreate(&a); cudaStreamCreate(&b);\n  cudaEvent_t done; cudaEventCreate(&done);\n"
                f"  {record}w<<<1, 32, 0, a>>>(p);\n  cudaStreamWaitEvent(b, done, 0);\n  w<<<1, 32, 0, b>>>(p);\n"
                "  cudaDeviceSynchronize(); cudaFree(p);\n}\n"
            )

        (found,) = self.findings(text(""))
        self.assertIn("the event waited for at my.cu:8 had not been recorded", found["missing"]["text"])
        (found,) = self.findings(text("cudaEventRecord(done, a); "))  # too early, but recorded
        self.assertNotIn("recorded", found["missing"]["text"])

    def test_a_word_that_is_polled_has_lost_its_value(self):
        """Two blocks hand on a number in one word; the second takes it back, as if it had been read."""
        text = (
            '__device__ int load(int* p) { int v; asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(v) : "l"(p)); return v; }\n'
            '__device__ void store(int* p, int v) { asm volatile("st.release.gpu.s32 [%0], %1;" ::"l"(p), "r"(v)); }\n'
            "__global__ void k(int* box, int* to) {\n  if (blockIdx.x == 0) {\n    store(box, 7);\n    store(box + 1, 1);\n"
            "    while (load(box + 2) != 1) {}\n  } else {\n    while (load(box + 1) != 1) {}\n    store(box, -2);\n"
            "    while (load(box) != 7) {}\n    store(box + 2, 1);\n  }\n}\n"
            "int main() { int* p; cudaMalloc(&p, 128); cudaMemset(p, 0, 128); int* q = p + 8; void* a[] = {&p, &q};\n"
            "  cudaLaunchCooperativeKernel((void*)k, 2, 1, a, 0, 0); cudaDeviceSynchronize(); cudaFree(p); }\n"
        )
        found = next(f for f in self.findings(text) if f["kind"] == "deadlock")
        self.assertIn(
            "a polled word holds -2, written by block (1, 0, 0), thread 0 in my.cu:2, "
            "before it 7, written by block (0, 0, 0), thread 0 in my.cu:2, before it 0",
            found["access"]["action"],
        )

    def test_kernels_of_two_streams_that_wait_for_each_other(self):
        """The first launch waits for what a later one in another stream sets: no error of the program."""
        text = (
            '__device__ void tell(int* p) { asm volatile("red.release.sys.global.add.s32 [%0], 1;" ::"l"(p)); }\n'
            '__device__ void see(int* p) { int v; do asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(v) : "l"(p)); while (v == 0); }\n'
            "__global__ void meet(int* own, int* other) { tell(own); see(other); }\n"
            "__global__ void alone(int* x) { x[0] = 1; }\n"
            "int main() {\n  int *p, *x; cudaMalloc(&p, 64), cudaMemset(p, 0, 64), cudaMalloc(&x, 4);\n"
            "  cudaStream_t s[2]; for (auto& one : s) cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);\n"
            "  cudaDeviceSynchronize(); meet<<<1, 1, 0, s[0]>>>(p, p + 8);\n  alone<<<1, 1, 0, s[SAME]>>>(x);\n"
            "#ifndef NONE\n  meet<<<1, 1, 0, s[SAME]>>>(p + 8, p);\n#endif\n"
            "  cudaDeviceSynchronize(); int h; cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost);\n"
            "  for (auto one : s) cudaStreamDestroy(one);\n  cudaFree(p), cudaFree(x); }\n"
        )
        said = self.check(text, "-DSAME=1", code=4)
        self.assertIn(
            "the launch of kernel meet in my.cu:8 waits for what the launch of kernel meet in my.cu:11 sets in another "
            "stream: launches run one after the other here, and that one had not begun, so the program cannot be "
            "checked as it is",
            said,
        )
        for other in (("-DSAME=0",), ("-DSAME=1", "-DNONE")):  # ordered after the first; sets nothing
            with self.subTest(other):
                found = self.findings(text, *other)
                self.assertEqual([f["kind"] for f in found], ["deadlock"])
                self.assertEqual(found[0]["access"]["at"]["line"], 2)

    def test_the_last_line_has_one_comma(self):
        text = (
            "__global__ void k(int* x) {\n  __shared__ int s[64];\n  s[threadIdx.x] = threadIdx.x;\n  x[threadIdx.x] = s[63 - threadIdx.x];\n"
            "  s[63 - threadIdx.x] = 5;\n  x[64] = 7;\n}\n"
            "int main() { int* x; cudaMalloc(&x, 512); k<<<1, 64>>>(x); cudaDeviceSynchronize(); cudaFree(x); }\n"
        )
        said = self.check(text, code=5)
        self.assertRegex(said, r"\n\d findings, 1 of them pedantic, seen in \d ways, in 3 schedules")
        self.assertNotIn(",,", said)

    # refusals

    def test_an_unknown_instruction_is_refused_where_it_runs(self):
        text = (
            "template <class T, class F> __device__ T to(F v) { return T(v); }\n"
            "template <> __device__ double to(float v) { double r;\n"
            '  asm("ctv.rn.f64.f32 %0, %1;" : "=d"(r) : "f"(v)); return r; }\n'
            "__device__ float to(int v, int) { return v; }\n"
            '__device__ float to(float v, int) { asm("frob.f32 %0, %0;" : "+f"(v)); return v; }\n'
            "template <int Arch> __device__ void fence() {\n"
            '  if constexpr (Arch >= 100) asm volatile("tcgen05.mma.sp;");\n}\n'
            '__global__ void unused() { asm volatile("frob;"); }\n'
            "__global__ void k(float* p) {\n  p[0] = to<float>(1.0) + to(2, 0);\n  fence<90>();\n"
            '  if (p[0] != 3) asm volatile("frob \\"%0\\";" :: "f"(p[0]));\n'
            "#ifdef REACHED\n  p[0] = to<double>(1.0f);\n#endif\n}\n"
            "int main() { float* p; cudaMalloc(&p, 4); k<<<1, 1>>>(p); cudaDeviceSynchronize(); cudaFree(p); }\n"
        )
        self.check(text, code=0)
        said = self.check(text, "-D", "REACHED", code=3)
        self.assertEqual(
            said.splitlines()[0].partition(": use ")[0],
            "antiphase: my.cu:3: inline PTX 'ctv.rn.f64.f32' is not supported here",
        )

    def test_ptx_that_nvcc_refuses(self):
        for statement, names in (
            ('asm volatile("mov.u32 %[to], 3;" : [to] "=r"(x));', "'%[to]' is not supported here: use %0"),
            (
                'asm volatile("ld.global.ca.L1::no_allocate.u32 %0, [%1];" : "=r"(x) : "l"(p));',
                "ld.global.ca.L1",
            ),
            (
                'asm volatile("st.global.wt.L1::evict_first.u32 [%0], %1;" :: "l"(p), "r"(x));',
                "st.global.wt.L1",
            ),
            (
                'asm volatile("ld.volatile.global.ca.u32 %0, [%1];" : "=r"(x) : "l"(p));',
                "ld.volatile.global.ca",
            ),
            ('asm volatile("ld.acquire.global.u32 %0, [%1];" : "=r"(x) : "l"(p));', "ld.acquire.global.u32"),
            ('asm volatile("atom.global.exch.u32 %0, [%1], 1;" : "=r"(x) : "l"(p));', "atom.global.exch.u32"),
            ('asm volatile("red.global.add.f16x2 [%0], %1;" :: "l"(p), "r"(x));', "red.global.add.f16x2"),
            (
                'asm volatile("cp.async.shared.global [%0], [%1], 4;" :: "r"(x), "l"(p));',
                "cp.async.shared.global",
            ),
            ('asm volatile("add.b32 %0, %0, 1;" : "+r"(x));', "add.b32"),
            ('asm volatile("mul.u32 %0, %0, 3;" : "+r"(x));', "mul.u32"),
            ('asm volatile("ex2.f32 %0, %0;" : "+f"(f));', "ex2.f32"),
            ('asm volatile("fence.acq_rel;" ::: "memory");', "fence.acq_rel"),
        ):
            with self.subTest(statement):
                kernel = f"__global__ void k(int* p) {{ int x = 0; float f = 0;\n  {statement}\n  p[0] = x + f; }}\n"
                said = self.check(kernel + MAIN, code=3)
                self.assertTrue(said.startswith("antiphase: my.cu:2: inline PTX "), said)
                self.assertIn(names, said)

    def test_functions_of_the_program_with_names_of_a_library(self):
        for name in ("cublasMatmul", "cudaMatmul", "cudnnForward", "ncclMine", "curandFill"):
            with self.subTest(name):
                declared = f"extern void {name}(int* p);\n"
                main = f"int main() {{ int* p; cudaMalloc(&p, 128); {name}(p); cudaDeviceSynchronize(); cudaFree(p); }}\n"
                body = KERNEL + f"void {name}(int* p) {{ k<<<1, 32>>>(p); }}\n"
                self.check(declared + main, "b.cu", code=0, b_cu=body)
                self.check(declared + body + main, code=0)
        self.assertIn(
            "my.cu:3: cublasSsyr2k is not supported",
            self.check("#include <cublas_v2.h>\nint main() {\n  cublasSsyr2k(0, 1);\n}\n", code=3),
        )

    def test_calls_that_the_toolkit_has(self):
        said = self.check(KERNEL + "int main() {\n  cudaMemcpyBatchAsync(0);\n}\n", code=3)
        self.assertEqual(
            said,
            "antiphase: my.cu:3: cudaMemcpyBatchAsync is not supported here: use a call for each "
            "of them, such as cudaMemcpyAsync()\n",
        )
        said = self.check(KERNEL + "int main() {\n  cudaFuncGetName(0, 0);\n  cudaMaloc(0);\n}\n", code=3)
        self.assertIn(
            "my.cu:3: cudaFuncGetName is not known here: use what antiphase check --dialect lists\n", said
        )
        self.assertRegex(said, "did you mean .cudaMalloc")
        said = self.check("#include <cub/cub.cuh>\nusing cub::NoSuch;\nint main() {}\n", code=3)
        self.assertIn("my.cu:2: cub::NoSuch is not known here", said)
        said = self.check("#include <cuda_fp8.h>\n__nv_fp8x4_e8m0 scale;\nint main() {}\n", code=3)
        self.assertIn("my.cu:2: __nv_fp8x4_e8m0 is not supported here: use two of __nv_fp8x2_e8m0", said)

    def test_a_function_that_a_driver_lacks(self):
        extension = (
            "#include <torch/extension.h>\n__global__ void scale(float* x) { x[threadIdx.x] *= 2; }\n"
            "torch::Tensor forward(torch::Tensor x) { scale<<<1, 32>>>(x.data_ptr<float>()); return x; }\n"
            "torch::Tensor scale(torch::Tensor x) { return forward(x); }\n"
        )
        head = "#include <antiphase/plain/driver.h>\n"
        said = self.check(
            extension,
            "--kernels",
            "d.cpp",
            code=3,
            d_cpp=head
            + "#include <torch/extension.h>\nint main() {\n  auto y = forward(torch::ones({32}));\n}\n",
        )
        self.assertRegex(said, r"d\.cpp:4: forward is left out next to a driver, as it names PyTorch\. ")
        said = self.check(
            extension,
            "--kernels",
            "d.cpp",
            code=5,
            d_cpp=head
            + (
                "int main() { using namespace antiphase::driver;\n  array<float> x(std::vector<float>(32, 2));\n  scale<<<1, 32>>>(x);\n"
                '  return holds("x", x, [](int i) { return i == 2 ? 3 : 4; }) ? 0 : 1;\n}\n'
            ),
        )
        self.assertIn("the program ended with 1: x[2] is 4: expected 3", said)

    def test_errors_name_the_words_of_the_source(self):
        said = self.check(
            "__global__ void k(int* p) {\n  if (p) { *p = 2 return; }\n  *p = 1 }\n" + MAIN, code=3
        )
        self.assertRegex(said, r"my\.cu:2:\d+: error: expected .;. before .return")
        self.assertRegex(said, r"my\.cu:3:\d+: error: expected .;. before .\}")
        said = self.check(
            "int a\n" + KERNEL,
            "--kernels",
            "d.cpp",
            code=3,
            d_cpp="#include <antiphase/plain/driver.h>\nint main() {}\n",
        )
        self.assertLess(said.count("error:"), 3, said)

    def test_a_program_without_main_is_not_compiled(self):
        self.assertIn("the sources have no main()", self.check(KERNEL + "int x = nothing;\n", code=3))


if __name__ == "__main__":
    unittest.main()
