// SPDX-License-Identifier: Apache-2.0
// A leader stores a threshold that all threads test, and the next round's before all have tested it: some
// leave the loop and some do not.
#include "buffer.h"

__global__ void refine(const int* counts, int* to) {
  __shared__ int threshold;
  const int t = threadIdx.x;
  if (t == 0) threshold = 0;
  __syncthreads();
  int rounds = 0;
  while (threshold < 5) {  // FOUND: race
    ++rounds;
#ifndef BROKEN
    __syncthreads();
#endif
    if (t == 0) threshold += counts[rounds];
    __syncthreads();
  }
  to[t] = rounds;
}

int main() {
  const buffer<int> counts(9, [](int) { return 2; });
  const buffer<int> to(64);
  refine<<<1, 64>>>(counts, to);
  return to.differs([](int) { return 3; });
}
