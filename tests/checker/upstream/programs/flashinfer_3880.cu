// SPDX-License-Identifier: Apache-2.0
// A block of 180 threads takes the largest of its values, first by warps. The last warp has 20 lanes, and
// shuffles from all 32.
#include "buffer.h"

constexpr int threads = 180;

__device__ int largest_of_warp(int v, int lanes) {
  for (int by = 16; by > 0; by /= 2) {
#ifdef BROKEN
    v = max(v, __shfl_xor_sync(0xffffffffu, v, by));  // FOUND: barrier misuse
#else
    const int other = __shfl_xor_sync(lanes == 32 ? 0xffffffffu : (1u << lanes) - 1, v, by);
    if ((threadIdx.x % 32 ^ by) < lanes) v = max(v, other);
#endif
  }
  return v;
}

__global__ void largest(const int* x, int* to) {
  __shared__ int of_warp[32];
  const int t = threadIdx.x, warps = (threads + 31) / 32;
  int v = largest_of_warp(x[blockIdx.x * threads + t], min(32, threads - t / 32 * 32));
  if (t % 32 == 0) of_warp[t / 32] = v;
  __syncthreads();
  if (t >= 32) return;
  v = largest_of_warp(t < warps ? of_warp[t] : -1000, 32);
  if (t == 0) to[blockIdx.x] = v;
}

int main() {
  const buffer<int> x(3 * threads, [](int i) { return -1 - i * 7 % threads; }), to(3);
  largest<<<3, threads>>>(x, to);
  return to.differs([](int) { return -1; });
}
