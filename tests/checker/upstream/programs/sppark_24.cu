// SPDX-License-Identifier: Apache-2.0
// Warps sum up their counters, and the last lane stores its warp's sum over a counter. It was a counter of
// the first warp, which that one may still read.
#include "buffer.h"

constexpr int warps = 4, sums = 2, count = warps * 32 * sums;

__device__ int upto(int v) {
  for (int by = 1; by < 32; by *= 2) {
    const int other = __shfl_up_sync(~0u, v, by);
    if (threadIdx.x % 32 >= by) v += other;
  }
  return v;
}

__global__ void offsets(const int* from, int* to) {
  __shared__ int counter[count];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32, first = warp * 32 * sums + lane;
  for (int i = t; i < count; i += warps * 32) counter[i] = from[i];
  __syncthreads();
  int sum[sums];
  for (int i = 0; i < sums; ++i) {
    sum[i] = upto(counter[first + 32 * i]);
    if (i > 0) sum[i] += __shfl_sync(~0u, sum[i - 1], 31);
  }
#ifdef BROKEN
  const int step = 1;
#else
  const int step = 32 * sums + 1;
#ifndef AS_MERGED
  __syncwarp();
#endif
#endif
  if (lane == 31) counter[warp * step] = sum[sums - 1];  // FOUND: overwritten in use
  __syncthreads();
  int carry = lane > 0 && lane <= warps ? counter[(lane - 1) * step] : 0;
  __syncthreads();
  carry = __shfl_sync(~0u, upto(carry), warp);
  for (int i = 0; i < sums; ++i) to[first + 32 * i] = carry + sum[i];
}

int main() {
  const buffer<int> from(count, [](int) { return 1; }), to(count);
  offsets<<<1, warps * 32>>>(from, to);
  return to.differs([](int i) { return i + 1; });
}
