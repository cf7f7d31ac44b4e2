#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks programs whose kernels the toolkit's nvcc compiles (--nvcc). Skipped where there is no toolkit.

    test_nvcc.py TOOL
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[3]
NVCC = shutil.which("nvcc") or next(
    (
        n
        for r in (os.environ.get("CUDA_HOME"), "/usr/local/cuda")
        if r and os.path.exists(n := f"{r}/bin/nvcc")
    ),
    None,
)

# Each launch needs another way to find its kernel; x[0] is 1 if all have been right.
LAUNCHES = """
#include <cstdio>
namespace n { __constant__ int limit[2]; __device__ int count = 5; }
static __device__ int own;
namespace { __device__ float hidden; __global__ void of_file(float* x) { x[threadIdx.x] = hidden; } }
static __global__ void sums(int* x) { x[0] = n::limit[1] + n::count + own; }
template <class T, int N> __global__ void reversed(T* x) {
  __shared__ T s[N];
  s[threadIdx.x] = threadIdx.x;
#ifndef BROKEN
  __syncthreads();
#endif
  x[threadIdx.x] = s[N - 1 - threadIdx.x];
}
struct pair { float a, b; };
struct large { int a[5]; int* to; };
__global__ void by_value(pair p, large l, const float* = nullptr) { l.to[0] = l.a[3] + int(p.a * p.b); }
template <class F> __global__ void apply(F f, int* x) { x[threadIdx.x] = f(threadIdx.x); }
template <class T> void fill(int* x, T v) { apply<<<1, 64>>>([=] __device__(int i) { return i + int(v); }, x); }
// Addresses of functions in variables and tables are those of the kernels' functions.
using function = int (*)(int);
__device__ int twice(int i) { return 2 * i; }
__device__ int after(int i) { return i + 1; }
__device__ function functions[2] = {after, twice};
struct shape { __device__ virtual int size() const { return 0; } };
struct square : shape { __device__ int size() const override { return functions[1](8); } };
__global__ void construct(shape** to) { to[0] = new square; }
__global__ void call(function f, shape** s, int* x) { x[0] = f(s[0]->size()), delete s[0]; }

int main() {
  int *x, limits[2] = {1, 2}, three = 3, got[64];
  float two = 2, real[32];
  cudaMalloc(&x, sizeof got);
  cudaMemcpyToSymbol(n::limit, limits, sizeof limits), cudaMemcpyToSymbol(hidden, &two, sizeof two);
  cudaMemcpyToSymbol(own, &three, sizeof three);
  bool right = true;
  const auto fetch = [&] { cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost); };
  sums<<<1, 1>>>(x), fetch(), right &= got[0] == 10;
  by_value<<<1, 1>>>(pair{1.5f, 4}, large{{1, 2, 3, 4, 5}, x}), fetch(), right &= got[0] == 10;
  reversed<int, 64><<<1, 64>>>(x), fetch(), right &= got[1] == 62;
  fill(x, 2.5), fetch(), right &= got[63] == 65;
  apply<<<1, 64>>>([=] __device__(int i) { return three * i; }, x), fetch(), right &= got[63] == 189;
  apply<<<1, 64>>>([=] __device__(int i) { return three - i; }, x), fetch(), right &= got[63] == -60;
  of_file<<<1, 32>>>(reinterpret_cast<float*>(x));
  cudaMemcpy(real, x, sizeof real, cudaMemcpyDeviceToHost), right &= real[31] == 2;
  function f;
  shape** s = reinterpret_cast<shape**>(x + 2);
  construct<<<1, 1>>>(s), cudaMemcpyFromSymbol(&f, functions, sizeof f);
  call<<<1, 1>>>(f, s, x), fetch(), right &= got[0] == 17;
  cudaFree(x);
  if (!right) std::printf("wrong\\n");
  return right ? 0 : 1;
}
"""
# CUB's run length decoding has no stand-in.
DECODE = """
#include <cub/block/block_run_length_decode.cuh>
__global__ void decode(const int* in, int* out) {
  using runs = cub::BlockRunLengthDecode<int, 32, 1, 2>;
  __shared__ typename runs::TempStorage storage;
  int item[1] = {in[threadIdx.x]}, length[1] = {2}, total, got[2];
  runs all(storage, item, length, total);
  all.RunLengthDecode(got, 0);
  out[2 * threadIdx.x] = got[0], out[2 * threadIdx.x + 1] = got[1];
}
int main() {
  int *in, *out, host[64];
  for (int i = 0; i < 32; ++i) host[i] = 3 * i;
  cudaMalloc(&in, 128), cudaMalloc(&out, 256);
  cudaMemcpy(in, host, 128, cudaMemcpyHostToDevice);
  decode<<<1, 32>>>(in, out);
  cudaMemcpy(host, out, 256, cudaMemcpyDeviceToHost);
  cudaFree(in), cudaFree(out);
  return host[63] == 93 ? 0 : 1;
}
"""

# The merge of WarpMergeSort loads an element after the last one and drops it. Broken: a used element is unwritten.
SORT = """
#include <cub/thread/thread_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
struct less_than {
  __device__ bool operator()(int a, int b) const { return a < b; }
};
constexpr int items = 3, most = 32 * items;
__global__ void sort(const int* in, int* out, int n) {
  using warp_sort = cub::WarpMergeSort<int, items, 32>;
  __shared__ typename warp_sort::TempStorage storage;
  __shared__ int first[64];
  int keys[items];
  for (int i = 0; i < items; ++i) keys[i] = threadIdx.x * items + i < n ? in[threadIdx.x * items + i] : 1 << 30;
  if (n == most)
    warp_sort(storage).Sort(keys, less_than());
  else
    warp_sort(storage).Sort(keys, less_than(), n, 1 << 30);
  first[threadIdx.x] = 0;
  __syncwarp();
#ifdef BROKEN
  if (threadIdx.x == 0) keys[0] = cub::ThreadLoad<cub::LOAD_DEFAULT>(first + 32);
#endif
  for (int i = 0; i < items; ++i)
    if (threadIdx.x * items + i < n) out[threadIdx.x * items + i] = keys[i] + first[31 - threadIdx.x];
}
int main() {
  for (const int n : {80, most}) {
    int host[most], *in, *out;
    for (int i = 0; i < n; ++i) host[i] = n - 1 - i;
    cudaMalloc(&in, sizeof host), cudaMalloc(&out, sizeof host);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    sort<<<1, 32>>>(in, out, n);
    cudaMemcpy(host, out, n * sizeof *host, cudaMemcpyDeviceToHost);
    cudaFree(in), cudaFree(out);
    for (int i = 1; i < n; ++i)
      if (host[i] != i) return 1;
  }
}
"""

# A kernel in a library's namespace: the host code is what nvcc makes of it, and calls the runtime in C. Like a
# merge sort, the kernel loads an element that no thread has written, and drops it.
LIBRARY = """
#include <cstdlib>
#include <cuda.h>
#include <dlfcn.h>
__constant__ int limit;
__managed__ int total = 4;
static __device__ int own[2] = {3, 5};
namespace cub {
template <class T> __global__ void next_of(T* x, const int* masks, int n) {
  __shared__ T s[65];
  if (threadIdx.x < n) s[threadIdx.x] = x[threadIdx.x];
#ifndef BROKEN
  __syncthreads();
#endif
  x[threadIdx.x] = (s[threadIdx.x + 1] & masks[threadIdx.x]) + limit + own[1];
  if (threadIdx.x == 0) total += own[0];
}
}
int main() {
  using get = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  const auto found = (get)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
  void* attribute = nullptr;
  int major = 0;
  if (found("cuDeviceGetAttribute", &attribute, 12000, 0, nullptr) != CUDA_SUCCESS) return 1;
  ((CUresult(*)(int*, CUdevice_attribute, CUdevice))attribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || device.major != major || device.warpSize != 32) return 2;
  int *x, *masks, host[64], own_now[2], n = 64, ten = 10;
  cudaMalloc(&x, sizeof host), cudaMalloc(&masks, sizeof host);
  for (int i = 0; i < 64; ++i) host[i] = i;
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
#ifdef USED
  for (int& one : host) one = -1;
#else
  for (int& one : host) one = &one - host < 63 ? -1 : 0;
#endif
  cudaMemcpyAsync(masks, host, sizeof host, cudaMemcpyDefault, cudaStreamLegacy);
  cudaMemcpyToSymbol(limit, &ten, sizeof ten);
  cudaLaunchConfig_t how{};
  how.gridDim = how.blockDim = dim3(1), how.blockDim.x = 64;
  cudaLaunchKernelEx(&how, cub::next_of<int>, x, (const int*)masks, n);
  if (cudaDeviceSynchronize() != cudaSuccess || total != 7) return 3;
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(own_now, own, sizeof own_now);
  cudaFree(x), cudaFree(masks);
#if !defined(BROKEN) && !defined(USED)
  if (host[62] != 78 || host[63] != 15 || own_now[1] != 5) return 4;
#endif
  std::exit(0);
}
"""
# In such host code, calls of libraries that have no source. The last kernel is on another stream than the scaling.
CALLS = """
#include <cublas_v2.h>
#include <curand.h>
namespace cub {
template <class T> __global__ void negate(T* x) { x[threadIdx.x] = -x[threadIdx.x]; }
}
int main() {
  constexpr int n = 64;
  float *x, host[n], two = 2, sum = 0;
  cublasHandle_t blas;
  curandGenerator_t random;
  cudaStream_t other;
  cudaMalloc(&x, sizeof host);
  cublasCreate(&blas), curandCreateGenerator(&random, CURAND_RNG_PSEUDO_DEFAULT);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  for (float& one : host) one = 1;
  cublasSetVector(n, sizeof *host, host, 1, x, 1);
  cublasSscal(blas, n, &two, x, 1);
  cub::negate<<<1, n>>>(x);
  if (cublasSasum(blas, n, x, 1, &sum) != CUBLAS_STATUS_SUCCESS || sum != 2 * n) return 1;
  curandGenerateUniform(random, x, n);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  if (!(host[5] > 0 && host[5] <= 1) || host[5] == host[6]) return 2;
  cublasSetStream(blas, other), cublasSscal(blas, n, &two, x, 1);
  cub::negate<<<1, n>>>(x);
  cudaDeviceSynchronize();
  cublasDestroy(blas), curandDestroyGenerator(random), cudaStreamDestroy(other), cudaFree(x);
}
"""
# A kernel in clusters with what a kernel does before its body: a bound of threads, a parameter with __restrict__.
CLUSTER = """
struct many { int x[40]; };
template <int N> __global__ void __cluster_dims__(N, 1, 1) __launch_bounds__(64, 1)
    turned(const int* __restrict__ from, int* __restrict__ to, const many add) {
  extern __shared__ int mine[];
  int rank;
  unsigned at;
  mine[threadIdx.x] = from[blockIdx.x * 64 + threadIdx.x];
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  const unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(mine + 63 - threadIdx.x));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(own), "r"((rank + 1) % N));
  int v;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
#ifndef BROKEN
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
#endif
  to[blockIdx.x * 64 + threadIdx.x] = v + add.x[threadIdx.x % 40];
}
int main() {
  int host[256], *from, *to;
  many add;
  for (int i = 0; i < 40; ++i) add.x[i] = 3 * i;
  for (int i = 0; i < 256; ++i) host[i] = 7 * i;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof host);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  turned<2><<<4, 64, 256>>>(from, to, add);
  cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < 256; ++i)
    if (host[i] != 7 * ((i / 64 ^ 1) * 64 + 63 - i % 64) + 3 * (i % 64 % 40)) return 1;
}
"""


@unittest.skipIf(NVCC is None, "no CUDA toolkit: nvcc is neither in PATH nor in /usr/local/cuda/bin")
class Nvcc(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_tool(self, *words):
        return subprocess.run([TOOL, *words], cwd=self.folder, capture_output=True, text=True, timeout=240)

    def findings(self, *words):
        done = self.run_tool("check", *words, "--schedules", "2", "--json")
        self.assertIn(done.returncode, (0, 5), done.stderr + done.stdout)
        found = json.loads(done.stdout)["programs"][0]["findings"]
        return {(f["kind"], f["access"]["at"]["line"]) for f in found}

    def test_findings_are_those_of_the_source(self):
        source = ROOT / "examples/plain_cuda/sum.cu"
        self.assertEqual(self.findings(source, "--nvcc"), self.findings(source))

    def test_each_form_of_a_launch_finds_its_kernel(self):
        (self.folder / "a.cu").write_text(LAUNCHES)
        self.assertEqual(self.findings("a.cu", "--nvcc"), set())
        line = LAUNCHES.splitlines().index("  x[threadIdx.x] = s[N - 1 - threadIdx.x];") + 1
        self.assertIn(("race", line), self.findings("a.cu", "--nvcc", "-D", "BROKEN"))

    def test_kernels_in_clusters_with_bounds(self):
        (self.folder / "c.cu").write_text(CLUSTER)
        line = next(k for k, text in enumerate(CLUSTER.splitlines(), 1) if "ld.shared::cluster" in text)
        for way in ((), ("--nvcc",)):
            with self.subTest(way):
                self.assertEqual(self.findings("c.cu", *way), set())
                self.assertIn(("access outside memory", line), self.findings("c.cu", *way, "-DBROKEN"))

    def test_headers_of_the_toolkit_are_its_own(self):
        (self.folder / "d.cu").write_text(DECODE)
        refused = self.run_tool("check", "d.cu")
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertIn("--nvcc", refused.stderr)
        self.assertEqual(self.findings("d.cu", "--nvcc"), set())

    def test_kernels_of_libraries_are_launched_by_the_host_code_of_nvcc(self):
        (self.folder / "l.cu").write_text(LIBRARY)
        lines = LIBRARY.splitlines()
        line = next(k for k, text in enumerate(lines, 1) if "s[threadIdx.x + 1]" in text)
        stored = next(k for k, text in enumerate(lines, 1) if "s[threadIdx.x] = x" in text)
        self.assertEqual(self.findings("l.cu", "--nvcc"), set())
        self.assertIn(("overwritten in use", stored), self.findings("l.cu", "--nvcc", "-DBROKEN"))
        self.assertEqual(self.findings("l.cu", "--nvcc", "-DUSED"), {("uninitialised memory read", line)})

    @unittest.skipUnless(
        NVCC and (pathlib.Path(NVCC).resolve().parents[1] / "include/cublas_v2.h").exists(), "no cuBLAS"
    )
    def test_host_code_of_nvcc_calls_libraries_that_stand_ins_compute(self):
        (self.folder / "c.cu").write_text(CALLS)
        lines = CALLS.splitlines()
        kernel, call = (
            next(k for k, text in enumerate(lines, 1) if part in text)
            for part in ("void negate", "SetStream")
        )
        done = self.run_tool("check", "c.cu", "--nvcc", "--schedules", "2", "--json")
        found = json.loads(done.stdout)["programs"][0]["findings"]
        places = {(f["kind"], f["access"]["at"]["line"], f["earlier"]["at"]["line"]) for f in found}
        self.assertIn(("race", kernel, call), places)
        self.assertEqual({kind for kind, _, _ in places} - {"overwritten in use"}, {"race"})

    def test_a_library_in_a_kernel_of_the_program_may_load_an_element_too_many(self):
        (self.folder / "s.cu").write_text(SORT)
        self.assertEqual(self.findings("s.cu", "--nvcc"), set())
        line = next(k for k, text in enumerate(SORT.splitlines(), 1) if "ThreadLoad" in text)
        self.assertEqual(self.findings("s.cu", "--nvcc", "-DBROKEN"), {("uninitialised memory read", line)})

    def test_a_fix_is_compiled_by_nvcc_too(self):
        text = (ROOT / "examples/plain_cuda/sum.cu").read_text()
        (self.folder / "sum.cu").write_text(text)
        fixed = self.run_tool("check", "sum.cu", "--nvcc", "--fix", "--schedules", "4").stdout
        self.assertRegex(fixed, r"(?m)^\+ *__syncthreads\(\);$")
        doubled = text.replace("    __syncthreads();", "    __syncthreads(); __syncthreads();").replace(
            "part[t] += part[t + half];", "part[t] += part[t + half];\n    __syncthreads();"
        )
        (self.folder / "sum.cu").write_text(doubled)
        needless = self.run_tool("check", "sum.cu", "--nvcc", "--needless", "--schedules", "4").stdout
        self.assertIn("needless: __syncthreads();", needless)

    def test_errors_of_nvcc_are_given_as_they_are(self):
        (self.folder / "e.cu").write_text(
            "__global__ void k() { nothing(); }\nint main() { k<<<1, 1>>>(); }\n"
        )
        done = self.run_tool("check", "e.cu", "--nvcc")
        self.assertEqual(done.returncode, 3)
        self.assertIn("nvcc does not compile e.cu", done.stderr)
        self.assertIn('identifier "nothing" is undefined', done.stderr)

    def test_constants_are_those_of_the_toolkit(self):
        theirs = pathlib.Path(NVCC).resolve().parents[1] / "include/math_constants.h"
        names = re.findall(r"#define (CUDART_\w+)", theirs.read_text())
        self.assertGreater(len(names), 90)
        source = (  # prints the bits of each
            "#include <cstdio>\n#include <cstring>\n"
            "template <class F, class U> F of(U x) { F f; std::memcpy(&f, &x, sizeof f); return f; }\n"
            "#define __int_as_float(x) of<float>(unsigned(x))\n"
            "#define __longlong_as_double(x) of<double>((unsigned long long)(x))\n"
            '#include "constants.h"\nint main() {\n'
            + "".join(
                f'{{ auto x = {n}; for (unsigned char* b = (unsigned char*)&x; b < (unsigned char*)(&x + 1); ++b) std::printf("%02x", *b); std::puts(" {n}"); }}\n'
                for n in names
            )
            + "}\n"
        )
        printed = []
        for header in (theirs, ROOT / "include/antiphase/plain/math_constants.h"):
            (self.folder / "one.cpp").write_text(source)
            text = re.sub(r'#include "cuda_runtime.h"', "", header.read_text())
            (self.folder / "constants.h").write_text(text)
            subprocess.run(["g++", "one.cpp", "-o", "one"], cwd=self.folder, check=True, timeout=60)
            printed.append(subprocess.run(["./one"], cwd=self.folder, capture_output=True, text=True).stdout)
        self.assertEqual(len(printed[0].splitlines()), len(names))
        self.assertEqual(printed[1], printed[0])


unittest.main(argv=sys.argv[:1])
