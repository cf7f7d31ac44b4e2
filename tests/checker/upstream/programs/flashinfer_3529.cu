// SPDX-License-Identifier: Apache-2.0
// The pivot of a top-k, a digit a round. The next round clears the histogram of which others still read how
// many keys remain.
#include "buffer.h"

constexpr int bins = 64, threads = 96;  // digits of six bits

__global__ void pivot_of(const unsigned* keys, int n, int k, unsigned* pivot) {
  __shared__ int histogram[bins + 1], chosen;
  const int t = threadIdx.x;
  unsigned prefix = 0;
  for (int shift = 6; shift >= 0; shift -= 6) {
    if (t <= bins) histogram[t] = 0;  // FOUND: overwritten in use
    __syncthreads();
    for (int i = t; i < n; i += threads)
      if (shift == 6 || keys[i] >> 6 == prefix) atomicAdd(&histogram[keys[i] >> shift & 63], 1);
    __syncthreads();
    for (int step = 1; step < bins; step *= 2) {
      const int more = t + step < bins ? histogram[t + step] : 0;
      __syncthreads();
      if (t < bins) histogram[t] += more;
      __syncthreads();
    }
    if (t < bins && histogram[t] > k && histogram[t + 1] <= k) chosen = t;
    __syncthreads();
    prefix = prefix << 6 | chosen;
    k -= histogram[chosen + 1];
#ifndef BROKEN
    __syncthreads();
#endif
    if (k == 0) break;
  }
  if (t == 0) *pivot = prefix;
}

int main() {
  const int n = 200;
  const buffer<unsigned> keys(n, [](int i) { return i * 37 % n * 8; }), pivot(1);
  pivot_of<<<1, threads>>>(keys, n, 10, pivot);
  return pivot.differs([](int) { return (n - 11) * 8; });
}
