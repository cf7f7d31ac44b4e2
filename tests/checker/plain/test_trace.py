# SPDX-License-Identifier: Apache-2.0
"""antiphase trace and advise of programs in plain CUDA: buffers, what loads do, lines, errors."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "tests/checker/plain/programs"
H200_CLOCK = 1980e6
# A product from two buffers: stored before the computation, after it (STAGED), or by cp.async (ASYNC).
PRODUCT = """#include <cuda_pipeline.h>
constexpr int T = 16, n = 128;
__global__ void product(const float* a, const float* b, float* c) {
  __shared__ float x[2][T][T + 1], y[2][T][T];
  const int i = threadIdx.y, j = threadIdx.x, row = T * blockIdx.y + i, column = T * blockIdx.x + j;
  float sum = 0;
#if defined(ASYNC)
  const auto load = [&](int t) {
    if (t < n / T) {
      __pipeline_memcpy_async(&x[t % 2][i][j], &a[row * n + T * t + j], 4);
      __pipeline_memcpy_async(&y[t % 2][i][j], &b[(T * t + i) * n + column], 4);
    }
    __pipeline_commit();
  };
  load(0);
  for (int t = 0; t < n / T; ++t) {
    load(t + 1);
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int k = 0; k < T; ++k) sum += x[t % 2][i][k] * y[t % 2][k][j];
    __syncthreads();
  }
#else
  x[0][i][j] = a[row * n + j], y[0][i][j] = b[i * n + column];
  __syncthreads();
  for (int t = 0; t < n / T; ++t) {
    const bool more = t + 1 < n / T;
    float next_x = 0, next_y = 0;
    if (more) {
      next_x = a[row * n + T * (t + 1) + j];
      next_y = b[(T * (t + 1) + i) * n + column];
#if !defined(STAGED)
      x[(t + 1) % 2][i][j] = next_x, y[(t + 1) % 2][i][j] = next_y;  // STORED
#endif
    }
    for (int k = 0; k < T; ++k) sum += x[t % 2][i][k] * y[t % 2][k][j];  // COMPUTED
#if defined(STAGED)
    if (more) x[(t + 1) % 2][i][j] = next_x, y[(t + 1) % 2][i][j] = next_y;
#endif
    __syncthreads();
  }
#endif
  c[row * n + column] = sum;
}
int main() {
  float *a, *b, *c;
  cudaMalloc(&a, n * n * 4), cudaMalloc(&b, n * n * 4), cudaMalloc(&c, n * n * 4);
  cudaMemset(a, 0, n * n * 4), cudaMemset(b, 0, n * n * 4);
  product<<<dim3(n / T, 2), dim3(T, T)>>>(a, b, c);
  cudaFree(a), cudaFree(b), cudaFree(c);
}
"""
# Sums of tiles from STAGES slots: asynchronous copies, or REGISTERS that are stored after the computation.
RING = """#include <cuda_pipeline.h>
constexpr int threads = 128, tile = 4 * threads, tiles = 12;
__global__ void sums(const float* from, float* to) {
  __shared__ __align__(16) float slot[STAGES][tile];
  const int t = threadIdx.x;
  float sum = 0;
  const auto use = [&](int i) {
    for (int j = 0; j < 16; ++j) sum = sum * 0.5f + slot[i % STAGES][(4 * t + j) % tile];
  };
#if defined(REGISTERS)
  float next[4];
  const auto load = [&](int i) { for (int j = 0; j < 4; ++j) next[j] = from[i * tile + j * threads + t]; };
  const auto store = [&](int i) { for (int j = 0; j < 4; ++j) slot[i % STAGES][j * threads + t] = next[j]; };
  load(0), store(0);
  __syncthreads();
  for (int i = 0; i < tiles; ++i) {
    if (STAGES > 1 && i + 1 < tiles) load(i + 1);
    use(i);
    if (STAGES == 1) __syncthreads();
    if (STAGES == 1 && i + 1 < tiles) load(i + 1);
    if (i + 1 < tiles) store(i + 1);
    __syncthreads();
  }
#else
  const auto load = [&](int i) {
    if (i < tiles) __pipeline_memcpy_async(&slot[i % STAGES][4 * t], from + i * tile + 4 * t, 16);
    __pipeline_commit();
  };
  for (int i = 0; i < STAGES - 1; ++i) load(i);
  for (int i = 0; i < tiles; ++i) {
    if (STAGES == 1) load(i);
    __pipeline_wait_prior(STAGES == 1 ? 0 : STAGES - 2);
    __syncthreads();
    if (STAGES > 1) load(i + STAGES - 1);
    use(i);
    if (STAGES == 1) __syncthreads();
  }
#endif
  to[t] = sum;
}
int main() {
  float *from, *to;
  cudaMalloc(&from, 4 * tiles * tile), cudaMalloc(&to, 4 * threads), cudaMemset(from, 0, 4 * tiles * tile);
  sums<<<1, threads>>>(from, to);
  cudaFree(from), cudaFree(to);
}
"""
# One slot, whose next data wait in registers while it is computed from.
WAITS = """constexpr int threads = 256, tiles = 24;
__global__ void sums(const float* from, float* to) {
  __shared__ float slot[threads];
  const int t = threadIdx.x;
  float sum = 0, next = from[t];
  for (int i = 1; i <= tiles; ++i) {
    slot[t] = next;
    __syncthreads();
    if (i < tiles) next = from[i * threads + t];
    for (int j = 0; j < 24; ++j) sum = sum * 0.5f + slot[(t + j) % threads];
    __syncthreads();
  }
  to[t] = sum;
}
int main() {
  float *from, *to;
  cudaMalloc(&from, 4 * tiles * threads), cudaMalloc(&to, 4 * threads), cudaMemset(from, 0, 4 * tiles * threads);
  sums<<<1, threads>>>(from, to);
  cudaFree(from), cudaFree(to);
}
"""
# A product from three buffers: a prologue loads two tiles; a loop with a PIPELINE's epilogue, or one with an if.
THREE = """constexpr int T = 8, n = 128;
__global__ void product(const float* a, const float* b, float* c) {
  __shared__ float x[3][T][T], y[3][T][T];
  const int i = threadIdx.y, j = threadIdx.x, row = T * blockIdx.y + i, column = T * blockIdx.x + j;
  float sum = 0;
  const auto load = [&](int t) {
    x[t % 3][i][j] = a[row * n + T * t + j], y[t % 3][i][j] = b[(T * t + i) * n + column];
  };
  const auto compute = [&](int t) { for (int k = 0; k < T; ++k) sum += x[t % 3][i][k] * y[t % 3][k][j]; };
  load(0), load(1);
  __syncthreads();
#if defined(PIPELINE)
  for (int t = 0; t < n / T - 2; ++t) load(t + 2), compute(t), __syncthreads();
  compute(n / T - 2);
  compute(n / T - 1);
#else
  for (int t = 0; t < n / T; ++t) {
    if (t + 2 < n / T) load(t + 2);
    compute(t);
    __syncthreads();
  }
#endif
  c[row * n + column] = sum;
}
int main() {
  float *a, *b, *c;
  cudaMalloc(&a, n * n * 4), cudaMalloc(&b, n * n * 4), cudaMalloc(&c, n * n * 4);
  cudaMemset(a, 0, n * n * 4), cudaMemset(b, 0, n * n * 4);
  product<<<dim3(n / T, 2), dim3(T, T)>>>(a, b, c);
  cudaFree(a), cudaFree(b), cudaFree(c);
}
"""
# One array, of which threads write other parts in each round.
IN_PLACE = """__global__ void reduce(const int* from, int* to) {
  __shared__ int x[256];
  const int t = threadIdx.x;
  x[t] = from[t];
  for (int stride = 1; stride < 256; stride *= 2) {
    __syncthreads();
    if (2 * stride * t < 256) x[2 * stride * t] += x[2 * stride * t + stride];
  }
  if (t == 0) *to = x[0];
}
__global__ void sort(int* all) {
  __shared__ int x[256];
  const int t = threadIdx.x;
  x[t] = all[t], x[t + 128] = all[t + 128];
  for (int size = 2; size <= 256; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const int i = 2 * t - (t & (stride - 1)), a = x[i], b = x[i + stride];
      if ((a > b) == ((t & (size / 2)) == 0)) x[i] = b, x[i + stride] = a;
    }
  __syncthreads();
  all[t] = x[t], all[t + 128] = x[t + 128];
}
int main() {
  int *a, *b, numbers[256];
  for (int i = 0; i < 256; ++i) numbers[i] = 1000 * i % 257;
  cudaMalloc(&a, 1024), cudaMalloc(&b, 4), cudaMemcpy(a, numbers, 1024, cudaMemcpyHostToDevice);
  reduce<<<1, 256>>>(a, b);
  sort<<<1, 128>>>(a);
  cudaFree(a), cudaFree(b);
}
"""


class Trace(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "product.cu").write_text(PRODUCT)

    def tool(self, *arguments, code=0):
        done = subprocess.run(
            [TOOL, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=120
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def traced(self, *arguments, output="t.html"):
        return json.loads(self.tool("trace", *arguments, "--json", "--output", output).stdout)["timelines"]

    def test_what_is_stored_before_the_computation_hides_nothing(self):
        (first,), (staged,), (copied,) = (
            self.traced("product.cu", *more) for more in ([], ["-DSTAGED"], ["-D", "ASYNC"])
        )
        for t in (first, staged, copied):
            self.assertEqual((t["policy"], t["stages"], t["steps"]), ("product", 2, 8))
            self.assertEqual(t["buffers"]["bytes"], 2 * 16 * 16 * 4)
            self.assertEqual(t["origin"], "modelled on the CPU executor, for NVIDIA H200")
        self.assertEqual(
            [t["buffers"]["filled"] for t in (first, staged, copied)],
            ["registers", "registers", "asynchronous copies"],
        )
        lines = PRODUCT.splitlines()
        stored, computed = (
            next(n for n, text in enumerate(lines, 1) if mark in text)
            for mark in ("// STORED", "// COMPUTED")
        )
        self.assertIn(
            f"step t + 1 is loaded and waited for (line {stored}) before the computation of step t (line {computed})",
            first["notes"][0],
        )
        self.assertEqual((first["loads_block"], staged["loads_block"], staged["notes"]), (True, False, []))
        self.assertLess(first["hidden_share"], 0.2)
        self.assertGreater(staged["hidden_share"], 0.3)
        self.assertLess(staged["step_time"], 0.8 * first["step_time"])
        self.assertGreater(copied["hidden_share"], 0.3)

    def test_a_prologue_fills_two_of_three_buffers(self):
        (self.folder / "three.cu").write_text(THREE)
        for more in ([], ["-DPIPELINE"]):
            (t,) = self.traced("three.cu", *more)
            self.assertEqual((t["stages"], t["steps"], t["recorded"]), (3, 16, 16), more)

    def test_one_array_is_one_buffer(self):
        (self.folder / "rounds.cu").write_text(IN_PLACE)
        timelines = self.traced("rounds.cu")
        self.assertEqual([(t["policy"], t["stages"]) for t in timelines], [("reduce", 1), ("sort", 1)])

    def test_advice_is_near_what_further_buffers_bring(self):
        (self.folder / "ring.cu").write_text(RING)
        for more, most in (([], 3), (["-DREGISTERS"], 2)):
            steps = [
                self.traced("ring.cu", f"-DSTAGES={n}", *more)[0]["step_time"] for n in range(1, most + 1)
            ]
            advised = json.loads(
                self.tool("advise", "ring.cu", "-DSTAGES=2", *more, "--json", "--device", "H200").stdout
            )["kernels"][0]
            self.assertIn(",from=cache", advised["members"])
            for n, step in enumerate(steps):
                gain = advised["advice"]["pipelined"]["stages"][n]["gain"]
                self.assertAlmostEqual(gain, steps[0] / step - 1, delta=0.2, msg=(more, n + 1))

    def test_pictures_say_what_they_are(self):
        shown = self.tool("trace", "product.cu", "--output", "t.svg").stdout
        self.assertIn(
            "Modelled on the CPU executor, for NVIDIA H200:\na tick is a cycle of the model, nothing was measured",
            shown,
        )
        self.assertIn("modelled on the CPU executor, for NVIDIA H200", (self.folder / "t.svg").read_text())
        self.tool("trace", "product.cu", "--as", "A100", "--output", "t.json")
        (timeline,) = json.loads((self.folder / "t.json").read_text())
        self.assertIn("A100", timeline["device"])
        self.tool("trace", "product.cu", "--output", "t.html")
        page = (self.folder / "t.html").read_text()
        self.assertIn('"__syncthreads();"', page)
        self.assertIn('"product.cu:', page)
        self.tool("trace", "product.cu", "--output", "again.html")
        self.assertEqual((self.folder / "again.html").read_text(), page)

    def test_roles_and_kernels_without_buffers(self):
        ring, *_ = self.traced(PROGRAMS / "ptx_bulk_ring.cu")
        self.assertEqual((ring["buffers"]["form"], ring["buffers"]["filled"]), ("roles", "bulk copies"))
        self.assertEqual((ring["stages"], ring["steps"], ring["waiting_for"].keys()), (2, 5, {"data"}))
        # Tensor Cores read what bulk copies bring; an arrival comes before waits of the same warp
        (hopper,) = self.traced(PROGRAMS / "ptx_gemm_hopper.cu")
        self.assertEqual((hopper["buffers"]["bytes"], hopper["buffers"]["form"]), (16384, "roles"))
        (alone,) = self.traced(PROGRAMS / "ptx_wgmma_handed_back.cu")
        self.assertEqual((alone["stages"], alone["steps"]), (1, 5))
        self.assertGreater(alone["step_time"], 400)  # a whole latency: nothing is loaded meanwhile
        # what the computing warps store themselves is no part of a loading warp's ring
        (attention,) = self.traced(ROOT / "docs/course/solutions/10-antiphase.cu")
        self.assertEqual((attention["stages"], attention["buffers"]["form"]), (3, "roles"))
        # nor are sums of what was loaded
        (scan,) = self.traced(ROOT / "docs/course/09-ring-of-a-scan/start.cu")
        self.assertEqual((scan["stages"], scan["steps"], scan["buffers"]), (1, 16, None))
        (tiled,) = self.traced(PROGRAMS / "matmul_tiled.cu")
        self.assertLess(tiled["step_time"], 700)  # both tiles are loaded together
        (scan,) = self.traced(PROGRAMS / "scan_kogge_stone.cu")
        self.assertEqual((scan["stages"], scan["buffers"]["filled"]), (1, "results"))
        self.assertEqual(scan["step_time_with_one_more_stage"], scan["step_time"])  # no load is waited for
        (copy,) = self.traced(PROGRAMS / "pipeline_copies.cu")
        self.assertEqual((copy["steps"], copy["buffers"]["bytes"]), (1, 512))
        (add,) = self.traced(PROGRAMS / "vector_add.cu")
        self.assertIsNone(add["buffers"])
        self.assertIn("loads to registers", add["notes"][0])

    def test_errors_are_one_sentence(self):
        (self.folder / "idle.cu").write_text("__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n")
        (self.folder / "bad.cu").write_text("int main() { return x; }\n")
        for arguments, code, said in (
            (["idle.cu"], 3, "idle.cu has nothing to draw"),
            (["bad.cu"], 3, "does not compile"),
            (["none.cu"], 3, "there is no file 'none.cu'"),
            (["product.cu", "--stages", "2"], 2, "next to a program"),
            (["product.cu", "--on", "cuda"], 2, "expected --on cpu"),
            (["gemm", "-D", "N=1"], 2, "expected a .cu file before"),
        ):
            with self.subTest(arguments):
                self.assertIn(said, self.tool("trace", *arguments, "--output", "x.html", code=code).stderr)
                self.assertFalse((self.folder / "x.html").exists())

    def test_advice_is_filled_in(self):
        answer = json.loads(self.tool("advise", "product.cu", "-DASYNC", "--json", "--device", "H200").stdout)
        (kernel,) = answer["kernels"]
        self.assertRegex(
            kernel["members"],
            r"^smem=2048,regs=\d+,threads=256,blocks=1,load=2048,load=\d+clk,compute=\d+clk,issue=\d+clk,copy=async,form=pipeline,next=before,from=cache,slots=2,step=\d+clk$",
        )
        stages = kernel["advice"]["pipelined"]["stages"]
        self.assertGreater(stages[1]["gain"], 0.1)
        (drawn,) = self.traced("product.cu", "-DASYNC", "--as", "H200")
        self.assertAlmostEqual(stages[1]["seconds"] * H200_CLOCK, drawn["steady_step_time"], delta=0.01)
        by_hand = json.loads(
            self.tool("advise", "--kernel", kernel["members"], "--json", "--device", "H200").stdout
        )
        self.assertEqual(by_hand["pick"]["policy"], kernel["advice"]["pick"]["policy"])
        self.assertIn(
            "no kernel to advise on", self.tool("advise", PROGRAMS / "vector_add.cu", code=3).stderr
        )

    def test_advice_is_of_the_kernel_as_written(self):
        """When loads begin, and whether the launch fills the device."""
        (self.folder / "waits.cu").write_text(WAITS)
        kernels = {}
        for name, *more in (("product.cu",), ("product.cu", "-DSTAGED"), ("waits.cu",)):
            asked = ("advise", name, *more, "--device", "H200")
            (kernels[(name, *more)],) = json.loads(self.tool(*asked, "--json").stdout)["kernels"]
            said = self.tool(*asked).stdout
            self.assertLess(said.index("too small to fill the device"), said.index("\nadvice\n"))
        blocks, staged, waits = kernels.values()
        self.assertIn(",next=blocking,", blocks["members"])
        self.assertNotIn("next=", staged["members"])
        self.assertIn(",next=before,", waits["members"])
        self.assertEqual([k["loads_block"] for k in kernels.values()], [True, False, False])
        gains = [[s["gain"] for s in k["advice"]["pipelined"]["stages"]] for k in kernels.values()]
        self.assertLess(gains[0][5], 0.05)  # nothing overlaps, however many buffers
        self.assertGreater(gains[1][1], 0.3)
        self.assertLess(gains[2][5], 0.05)  # a single slot hides its load
        for k in kernels.values():
            launch, (step, *_) = k["launch"], k["advice"]["pipelined"]["stages"]
            self.assertEqual(launch["room"] % 132, 0)
            self.assertLess(launch["blocks"], launch["room"])
            filled = launch["filled"]["pipelined"]["stages"][k["has_stages"] - 1]
            self.assertEqual(132 * filled["blocks_per_multiprocessor"], launch["room"])
            self.assertEqual(step["blocks_per_multiprocessor"], 1)
        (self.folder / "large.cu").write_text(WAITS.replace("<<<1,", "<<<132 * 8,"))
        said = self.tool("advise", "large.cu", "--device", "H200").stdout
        self.assertNotIn("too small", said)

    def test_advice_is_what_trace_shows(self):
        """A block with one and with more buffers, over so many steps that the first load counts little."""
        text = (ROOT / "docs/course/solutions/06-stages.cu").read_text().replace("K = 27", "K = 8 * 64")
        step = {}
        for stages in (1, 2, 3, 4):
            (self.folder / "ring.cu").write_text(text.replace("product<3>", f"product<{stages}>"))
            drawn = json.loads(
                self.tool(
                    "trace", "ring.cu", "--record", "64", "--as", "H200", "--blocks", "1", "--json"
                ).stdout
            )["timelines"][0]
            step[stages] = drawn["ticks"]["step"]
            # without the first load and the last steps
            self.assertLess(drawn["steady_step_time"], (1.01 if stages == 1 else 1) * drawn["step_time"])
            self.assertGreater(drawn["steady_step_time"], 0.8 * drawn["step_time"])
        (self.folder / "ring.cu").write_text(text.replace("product<3>", "product<1>"))
        answer = json.loads(self.tool("advise", "ring.cu", "--json", "--device", "H200").stdout)
        for told in answer["kernels"][0]["advice"]["pipelined"]["stages"][1:4]:
            shown = step[1] / step[told["stages"]] - 1
            self.assertAlmostEqual(
                (1 + told["gain"]) / (1 + shown), 1, delta=0.08, msg=f"{told['stages']} stages"
            )

    def test_marks(self):
        self.tool("check", ROOT / "examples/plain_cuda/marked.cu", "--schedules", "1")
        drawn = json.loads(
            self.tool("trace", "--read", "marked.json", "--output", "m.html", "--json").stdout
        )["timelines"][0]
        self.assertEqual((drawn["stages"], drawn["steps"], drawn["recorded"]), (2, 12, 12))
        self.assertGreater(drawn["mean_wait"], 100)
        said = self.tool("advise", "--from", "marked.json", "--device", "H200").stdout
        self.assertIn("smem=2048,regs=32,threads=128", said)
        (self.folder / "no.json").write_text("{}")
        self.assertIn("no.json", self.tool("advise", "--from", "no.json", code=3).stderr)


if __name__ == "__main__":
    unittest.main()
