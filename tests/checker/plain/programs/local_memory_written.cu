// SPDX-License-Identifier: Apache-2.0
// A recursion of 300 calls, which needs more local memory than a thread has by default, and a function that
// fills an array of its caller. Broken: without the larger limit, and with numbers past the array.
#include <vector>

constexpr int threads = 32, levels = 300, count = 8;

__device__ __noinline__ int deep(int n, const int* before) {
  int own[16];
  for (int i = 0; i < 16; ++i) own[i] = n + before[i];
  return n == 0 ? own[3] : deep(n - 1, own) + 1;  // FOUND: access outside memory
}
__global__ void descend(int* to, int n) {
  const int zeros[16] = {};
  to[threadIdx.x] = deep(n, zeros);
}
// as deep as any list is long, but compiled to a loop by nvcc
__device__ __noinline__ int sum_to(int n, int so_far) { return n == 0 ? so_far : sum_to(n - 1, so_far + n); }
__global__ void add_up(int* to, int n) { to[threadIdx.x] = sum_to(n, 0); }

__device__ __noinline__ void fill(int* p, int n) {
  for (int i = 0; i < n; ++i) p[i] = i;
}
__global__ void fill_own(int* to, int n) {
  int own[count], kept = 7;
  fill(own, n);
  to[threadIdx.x] = own[count - 1] + kept;
}  // FOUND: access outside memory

int main() {
  int* to = nullptr;
  cudaMalloc(&to, threads * sizeof(int));
  std::vector<int> got(threads);
  const auto all_are = [&](int expected) {
    cudaMemcpy(got.data(), to, threads * sizeof(int), cudaMemcpyDeviceToHost);
    for (int x : got)
      if (x != expected) return false;
    return true;
  };
  add_up<<<1, threads>>>(to, 1000);
  if (!all_are(500500)) return 1;
#ifdef BROKEN
  constexpr int more = 4;
#else
  constexpr int more = 0;
  cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10);
#endif
  descend<<<1, threads>>>(to, levels);
  if (!all_are(levels * (levels + 1) / 2 + levels)) return 2;
  fill_own<<<1, threads>>>(to, count + more);
  if (!all_are(count - 1 + 7)) return 3;
  cudaFree(to);
  return 0;
}
