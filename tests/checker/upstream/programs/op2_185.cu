// SPDX-License-Identifier: Apache-2.0
// The last warp of a sum, by volatile shared memory: each step reads what the step before has stored in other
// lanes, without a __syncwarp().
#include "buffer.h"

__global__ void sum(const int* from, int* to) {
  __shared__ volatile int part[128];
  const int t = threadIdx.x;
  int v = from[blockIdx.x * 128 + t];
  part[t] = v;
  int by = 64;
  for (; by > 16; by /= 2) {
    __syncthreads();
    if (t < by) part[t] = v = v + part[t + by];
  }
  __syncthreads();
  if (t < 32)
    for (; by > 0; by /= 2) {
#ifndef BROKEN
      __syncwarp();
#endif
      if (t < by) part[t] = v = v + part[t + by];  // FOUND: race
    }
  if (t == 0) to[blockIdx.x] = v;
}

int main() {
  const buffer<int> from(256, [](int i) { return i % 128; }), to(2);
  sum<<<2, 128>>>(from, to);
  return to.differs([](int) { return 128 * 127 / 2; });
}
