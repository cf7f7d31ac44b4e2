// SPDX-License-Identifier: Apache-2.0
// Every second warp combines the maxima of two. The block's barrier between its reads and its write stands in
// the branch that the other warps do not take.
#include "buffer.h"

constexpr int warps = 4, parts = 2;

__global__ void combine(const int* from, int* to) {
  __shared__ int most[warps];
  const int t = threadIdx.x, warp = t / 32;
  const int v = from[t];
  const int own = __reduce_max_sync(~0u, v);
  if (t % 32 == 0) most[warp] = own;
  __syncthreads();
#ifdef BROKEN
  if (warp % parts == 0) {
    const int both = max(most[warp], most[warp + 1]);
    __syncthreads();
    if (t % 32 < parts) most[warp + t % 32] = both;
  }
#else
  const int both = warp % parts == 0 ? max(most[warp], most[warp + 1]) : 0;
  __syncthreads();
  if (warp % parts == 0 && t % 32 < parts) most[warp + t % 32] = both;
#endif
  __syncthreads();  // FOUND: divergent barrier
  to[t] = most[warp] - v;
}

int main() {
  const buffer<int> from(warps * 32, [](int i) { return i; }), to(warps * 32);
  combine<<<1, warps * 32>>>(from, to);
  return to.differs([](int i) { return i / 64 * 64 + 63 - i; });
}
