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

    def test_pictures_say_what_they_are(self):
        shown = self.tool("trace", "product.cu", "--output", "t.svg").stdout
        self.assertIn(
            "Modelled on the CPU executor, for NVIDIA H200:\na tick is a cycle of the model, nothing was measured",
            shown,
        )
        self.assertIn("modelled on the CPU executor, for NVIDIA H200", (self.folder / "t.svg").read_text())
        self.tool("trace", "product.cu", "--as", "A100", "--output", "t.json")
        events = json.loads((self.folder / "t.json").read_text())
        self.assertIn("A100", events["otherData"]["timelines"][0]["device"])
        self.assertTrue(any("product.cu:" in e["args"].get("line", "") for e in events["traceEvents"]))
        self.tool("trace", "product.cu", "--output", "t.html")
        page = (self.folder / "t.html").read_text()
        self.assertIn('"__syncthreads();"', page)
        self.assertIn('"product.cu:', page)
        self.tool("trace", "product.cu", "--output", "again.html")
        self.assertEqual((self.folder / "again.html").read_text(), page)

    def test_roles_and_kernels_without_buffers(self):
        (ring,) = self.traced(PROGRAMS / "ptx_bulk_ring.cu")
        self.assertEqual((ring["buffers"]["form"], ring["buffers"]["filled"]), ("roles", "bulk copies"))
        self.assertEqual((ring["stages"], ring["steps"], ring["waiting_for"].keys()), (2, 5, {"data"}))
        # Tensor Cores read what bulk copies bring; an arrival comes before waits of the same warp
        (hopper,) = self.traced(PROGRAMS / "ptx_gemm_hopper.cu")
        self.assertEqual((hopper["buffers"]["bytes"], hopper["buffers"]["form"]), (16384, "roles"))
        (alone,) = self.traced(PROGRAMS / "ptx_wgmma_handed_back.cu")
        self.assertEqual((alone["stages"], alone["steps"]), (1, 5))
        self.assertGreater(alone["step_time"], 400)  # a whole latency: nothing is loaded meanwhile
        (tiled,) = self.traced(PROGRAMS / "matmul_tiled.cu")
        self.assertLess(tiled["step_time"], 700)  # both tiles are loaded together
        (scan,) = self.traced(PROGRAMS / "scan_kogge_stone.cu")
        self.assertEqual((scan["stages"], scan["buffers"]["filled"]), (1, "results"))
        (copy,) = self.traced(PROGRAMS / "pipeline_copies.cu")
        self.assertEqual((copy["steps"], copy["buffers"]["bytes"]), (1, 512))
        (add,) = self.traced(PROGRAMS / "vector_add.cu")
        self.assertIsNone(add["buffers"])
        self.assertIn("loads to registers", add["notes"][0])

    def test_errors_are_one_sentence(self):
        (self.folder / "idle.cu").write_text("__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n")
        (self.folder / "bad.cu").write_text("int main() { return x; }\n")
        for arguments, code, said in (
            (["idle.cu"], 4, "idle.cu has nothing to draw"),
            (["bad.cu"], 3, "does not compile"),
            (["none.cu"], 2, "there is no file 'none.cu'"),
            (["product.cu", "--stages", "2"], 2, "beside a program"),
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
            r"^smem=2048,regs=\d+,threads=256,blocks=1,load=2048,load=\d+clk,compute=\d+clk,copy=async,form=pipeline$",
        )
        stages = kernel["advice"]["pipelined"]["stages"]
        self.assertGreater(stages[1]["gain"], 0.1)
        by_hand = json.loads(
            self.tool("advise", "--kernel", kernel["members"], "--json", "--device", "H200").stdout
        )
        self.assertEqual(by_hand["pick"]["policy"], kernel["advice"]["pick"]["policy"])
        self.assertIn(
            "no kernel to advise on", self.tool("advise", PROGRAMS / "vector_add.cu", code=4).stderr
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
