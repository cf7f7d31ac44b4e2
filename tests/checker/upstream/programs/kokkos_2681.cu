// SPDX-License-Identifier: Apache-2.0
// Each block stores its sum and counts itself as done; the last one adds up all. No fence lies between a
// block's sum and the counter.
#include "buffer.h"

constexpr int blocks = 8;

__global__ void total(const int* x, int* sums, unsigned* done, int* to) {
  const int t = threadIdx.x;
  int sum = x[blockIdx.x * 32 + t];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(~0u, sum, by);
  if (t == 0) sums[blockIdx.x] = sum;
#ifndef BROKEN
  __threadfence();
#endif
  const bool more = __syncthreads_or(t == 0 ? 1 + atomicInc(done, blocks - 1) < blocks : 0);
  if (more) return;
  __threadfence();
  sum = t < blocks ? sums[t] : 0;  // FOUND: race
  for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(~0u, sum, by);
  if (t == 0) *to = sum;
}

int main() {
  const buffer<int> x(blocks * 32, [](int i) { return i; }), sums(blocks), to(1);
  const buffer<unsigned> done(1);
  total<<<blocks, 32>>>(x, sums, done, to);
  return to.differs([](int) { return blocks * 32 * (blocks * 32 - 1) / 2; });
}
