// SPDX-License-Identifier: Apache-2.0
// Warp operations with masks: all lanes that they name and that have not returned take part. Broken: half
// of the lanes that a mask names skip a sum, and run on to the kernel's end.
#include <cstdio>

__device__ int sum(unsigned mask, int v) {
  for (int by = 1; by < 16; by *= 2) v += __shfl_xor_sync(mask, v, by);
  return v;
}

__global__ void halves(int* to) {
  const int lane = threadIdx.x;
#ifdef BROKEN
  const unsigned mask = ~0u;
#else
  const unsigned mask = 0xFFFF;
#endif
  int v = lane;
  if (lane < 16) {
    __syncwarp(mask);  // FOUND: divergent barrier
    v = sum(mask, v);
    if (__any_sync(mask, v != 120)) v = -1;
  }
  to[lane] = v;
}

__global__ void ever_fewer(int* to, int n) {
  const int lane = threadIdx.x;
  const auto votes = [&](int p) {
    return __popc(__ballot_sync(~0u, p));  // the lambda stands above the return, its call below
  };
  if (lane >= n) {
    return;
  }
  to[lane] = votes(1) + __reduce_add_sync(~0u, 1);
  if (lane % 2 == 1) return;
  __syncwarp();
  to[lane] += __popc(__match_any_sync(~0u, 5));
}

int main() {
  int result[32], *to;
  cudaMalloc(&to, sizeof result);
  halves<<<1, 32>>>(to);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; ++i)
    if (result[i] != (i < 16 ? 120 : i)) return std::printf("%d is %d\n", i, result[i]), 1;
  ever_fewer<<<1, 32>>>(to, 20);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(to);
  for (int i = 0; i < 20; ++i)
    if (result[i] != 40 + (i % 2 == 0 ? 10 : 0)) return std::printf("%d is %d\n", i, result[i]), 1;
}
