// SPDX-License-Identifier: Apache-2.0
// The barrier that fixed a race (llama_13438) was put where only some of the warps come: they meet the
// others at different barriers from then on.
#include "buffer.h"

constexpr int warps = 4, parts = 2;

__global__ void combine(const int* from, int* to) {
  __shared__ int value[warps * 32], scaled[warps * 32];
  const int t = threadIdx.x, warp = t / 32;
  value[t] = from[t];
  __syncthreads();
  if (warp % parts == 0) {
    scaled[t] = value[t] + value[t + 32];
#ifdef BROKEN
    __syncthreads();  // FOUND: divergent barrier
#endif
  }
#ifndef BROKEN
  __syncthreads();
#endif
  const int other = scaled[(warp / parts * parts) * 32 + (t + 1) % 32];
  __syncthreads();
  to[t] = other;
}

int main() {
  const buffer<int> from(warps * 32, [](int i) { return i; }), to(warps * 32);
  combine<<<1, warps * 32>>>(from, to);
  return to.differs([](int i) { return 2 * (i / 64 * 64 + (i + 1) % 32) + 32; });
}
