// SPDX-License-Identifier: Apache-2.0
// Each thread counts in bytes of its own in shared memory: places for 32 bins, but six bits of the data
// choose the bin.
#include "buffer.h"

constexpr int threads = 64, each = 8;
#ifdef BROKEN
constexpr int bins = 32;
#else
constexpr int bins = 64;
#endif

__global__ void histogram(const int* x, int* to) {
  __shared__ unsigned char count[bins * threads];
  const int t = threadIdx.x;
  for (int i = 0; i < bins; ++i) count[i * threads + t] = 0;
  for (int i = 0; i < each; ++i)
    ++count[(x[i * threads + t] >> 2 & 63) * threads + t];  // FOUND: access outside memory
  __syncthreads();
  if (t >= bins) return;
  int sum = 0;
  for (int i = 0; i < threads; ++i) sum += count[t * threads + i];
  to[t] = sum;
}

int main() {
  const buffer<int> x(each * threads, [](int i) { return 4 * i; }), to(64);
  histogram<<<1, threads>>>(x, to);
  return to.differs([](int) { return each; });
}
