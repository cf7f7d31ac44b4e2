// SPDX-License-Identifier: Apache-2.0
// One warp adds up segments, then its lanes' sums in the same memory. A lane stores its sum while others
// still read their segments.
#include "buffer.h"

constexpr int threads = 128;

union storage {
  int grid[threads], warp[32];
};

__global__ void sum(const int* x, int* to) {
  __shared__ storage s;
  const int t = threadIdx.x;
  s.grid[t] = x[blockIdx.x * threads + t];
  __syncthreads();
  if (t >= 32) return;
  int partial = 0;
  for (int i = 0; i < threads / 32; ++i) partial += s.grid[t * (threads / 32) + i];
#ifndef BROKEN
  __syncwarp();
#endif
  for (int by = 16; by > 0; by /= 2) {
    s.warp[t] = partial;  // FOUND: overwritten in use
    __syncwarp();
    if (t < by) partial += s.warp[t + by];
    __syncwarp();
  }
  if (t == 0) to[blockIdx.x] = partial;
}

int main() {
  const buffer<int> x(2 * threads, [](int i) { return i % threads; }), to(2);
  sum<<<2, threads>>>(x, to);
  return to.differs([](int) { return threads * (threads - 1) / 2; });
}
