// SPDX-License-Identifier: Apache-2.0
// Blocks add up a histogram in global memory; the last one reads it and clears it. Each thread has a fence
// after its additions, but thread 0 counts the block as finished while others still add.
#include "buffer.h"

constexpr int bins = 128, blocks = 4;

__global__ void histogram(const int* x, int* all, unsigned* finished, int* to) {
  __shared__ int own[bins];
  const int t = threadIdx.x;
  own[t] = 0;
  __syncthreads();
  atomicAdd(&own[x[blockIdx.x * bins + t]], 1);
  __syncthreads();
  if (own[t] > 0) atomicAdd(&all[t], own[t]);
  __threadfence();
#ifndef BROKEN
  __syncthreads();
#endif
  const bool last = t == 0 && atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
  if (!__syncthreads_or(last)) return;
  to[t] = static_cast<volatile int*>(all)[t];
  __syncthreads();
#ifndef AS_MERGED
  __threadfence();
#endif
  all[t] = 0;  // FOUND: race
}

int main() {
  const buffer<int> x(blocks * bins, [](int i) { return (i % bins & ~1) + i / bins % 2; }), all(bins),
      to(bins);
  const buffer<unsigned> finished(1);
  histogram<<<blocks, bins>>>(x, all, finished, to);
  return to.differs([](int) { return blocks; });
}
