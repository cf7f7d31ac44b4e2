# SPDX-License-Identifier: Apache-2.0
"""The bound of antiphase trace on one more stage holds: for the course's rings and the template of `new`.

ANTIPHASE_ALL_BOUNDS=1 adds other machines, data from memory, and the library's own rings.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[3]
STAGES = range(1, 7)
ALL = bool(os.environ.get("ANTIPHASE_ALL_BOUNDS"))
MACHINES = ("H200", "H100", "A100", "RTX 4090", "RTX 3090") if ALL else ("H200",)
PLACES = ("cache", "memory") if ALL else ("cache",)
# A textbook's product by cp.async: the next copies start before the wait, and two barriers a tile.
TEXTBOOK = """#include <cuda_pipeline.h>
constexpr int T = 16, n = 512;
template <int stages> __global__ void product(const float* a, const float* b, float* c) {
  __shared__ float x[stages][T][T], y[stages][T][T];
  const int i = threadIdx.y, j = threadIdx.x;
  float sum = 0;
  const auto load = [&](int t) {
    if (t < n / T) {
      __pipeline_memcpy_async(&x[t % stages][i][j], &a[i * n + T * t + j], 4);
      __pipeline_memcpy_async(&y[t % stages][i][j], &b[(T * t + i) * T + j], 4);
    }
    __pipeline_commit();
  };
  for (int t = 0; t < stages - 1; ++t) load(t);
  for (int t = 0; t < n / T; ++t) {
    load(t + stages - 1);
    __pipeline_wait_prior(stages - 1);
    __syncthreads();
    for (int k = 0; k < T; ++k) sum += x[t % stages][i][k] * y[t % stages][k][j];
    __syncthreads();
  }
  c[i * T + j] = sum;
}
int main() {
  float *a, *b, *c;
  cudaMalloc(&a, n * T * 4), cudaMalloc(&b, n * T * 4), cudaMalloc(&c, T * T * 4);
  cudaMemset(a, 0, n * T * 4), cudaMemset(b, 0, n * T * 4);
  product<1><<<1, dim3(T, T)>>>(a, b, c);
  cudaFree(a), cudaFree(b), cudaFree(c);
}
"""
NEARLY = 0.99  # of a step's time: the last step of a run has no other after it


def for_all_stages(source: str, kernel: str, stages: range) -> str:
    """The program with its kernel as a function's template: one kernel for each number of stages."""
    if "template <int stages>" not in source:
        source = re.sub(r"\bstages = \d+\b", "unused = 0", source, count=1)
        source = source.replace("__global__", "template <int stages> __global__")
    head = re.search(rf"__global__[^{{]*?\b{kernel}\((.*?)\) {{", source, re.S)
    names = ", ".join(re.findall(r"(\w+)(?:,|$)", head.group(1)))
    kernels = "".join(
        f"__global__ void {kernel}_{s}({head.group(1)}) {{ {kernel}<{s}>({names}); }}\n" for s in stages
    )
    launch = re.search(rf"^ *{kernel}(<\d+>)?(<<<.*?;)$", source, re.M | re.S)
    launches = "".join(f"  {kernel}_{s}{launch.group(2)}\n" for s in stages)
    source = source.replace(launch.group(0), launches)
    source = source.replace(head.group(0), f"__device__ void {kernel}({head.group(1)}) {{")
    return source.replace("int main(", kernels + "int main(")


class Bound(unittest.TestCase):
    def check(self, source: str, kernel: str, stages: range = STAGES) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "ring.cu"
            program.write_text(for_all_stages(source, kernel, stages))
            for machine in MACHINES:
                for place in PLACES:
                    how = ("--record", "256", "--as", machine, "--data", place)
                    self.assertGreaterEqual(self.compare(kernel, stages, program, *how), 1)

    def compare(self, name: str, stages, *arguments) -> int:
        """Returns how often a stage more gains."""
        run = subprocess.run(
            [str(TOOL), "trace", *arguments, "--json"], text=True, capture_output=True, check=False
        )
        self.assertEqual(0, run.returncode, run.stderr)
        all_of_them = json.loads(run.stdout)["timelines"]
        self.assertEqual(list(stages), [t["stages"] for t in all_of_them])
        gains = 0
        for now, more in zip(all_of_them, all_of_them[1:]):
            if more["stages"] != now["stages"] + 1:
                continue
            bound = 1 - now["step_time_with_one_more_stage"] / now["step_time"]
            gain = 1 - more["step_time"] / now["step_time"]
            gains += gain > 0.05
            if ALL:
                print(name, *arguments[1:], now["stages"], f"{bound:.2f} {gain:.2f}")
            with self.subTest(kernel=name, stages=now["stages"], how=arguments[1:]):
                self.assertGreaterEqual(
                    more["step_time"],
                    NEARLY * now["step_time_with_one_more_stage"],
                    f'bound {bound:.2f}, gain {gain:.2f}, {now["limited_by"]}',
                )
                self.assertGreaterEqual(now["step_time"], NEARLY * more["step_time"], "a slot less is faster")
        return gains

    def solution(self, name: str) -> str:
        return (ROOT / "docs/course/solutions" / name).read_text()

    def template(self, *form: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([str(TOOL), "new", "k", *form], cwd=folder, check=True, capture_output=True)
            made = pathlib.Path(folder) / "k"
            source = (made / "k.cu").read_text().replace('#include "k.cuh"', (made / "k.cuh").read_text())
            source = source.replace("#pragma once\n", "").replace(
                "height = count > 2 ? std::atoi(words[1]) : 100", "height = 640"
            )
            return source.replace(
                '#include "ring.cuh"', (made / "ring.cuh").read_text().replace("#pragma once\n", "")
            )

    def test_template_of_new(self):
        self.check(self.template(), "k_kernel")

    def test_template_of_new_by_roles(self):
        self.check(self.template("--form", "roles"), "k_kernel")

    def test_textbook_product(self):
        self.check(TEXTBOOK, "product")

    @unittest.skipUnless(ALL, "takes minutes")
    def test_rings_of_the_library(self):
        rings = [("gemm", "async", (1, 2, 3, 4)), ("gemm", "tensor-core", (2, 3, 4))]
        rings += [("scan", "single-pass", (1, 2, 3))]
        for family, policy, stages in rings:
            how = ["--policy", policy, "--compare", "stages=" + ",".join(map(str, stages))]
            for machine in MACHINES if family == "gemm" else ("H200", "H100"):
                self.compare(policy, stages, family, "--on", "cpu", *how, "--as", machine)

    @unittest.skipUnless(ALL, "takes minutes")
    def test_recordings(self):
        self.compare("recorded", (1, 2, 3), "--read", "h200")
        self.compare("recorded", (1, 2, 3, 8), "--read", "h200-scan")

    def test_lab_6(self):
        self.check(self.solution("06-stages.cu").replace("K = 27", "K = 320"), "product")

    def test_lab_7(self):
        self.check(self.solution("07-roles.cu").replace("n = 1000", "n = 2560"), "sums")

    def test_lab_8(self):
        self.check(self.solution("08-bulk-copies.cu").replace("n = 1000", "n = 2560"), "twice", range(2, 7))

    def test_lab_9(self):
        self.check(self.solution("09-ring-of-a-scan.cu").replace("n = 1000", "n = 2560"), "scan")

    def test_lab_10(self):
        self.check(self.solution("10-antiphase.cu").replace("n = 50", "n = 192"), "attention", range(2, 7))


if __name__ == "__main__":
    unittest.main()
