// SPDX-License-Identifier: Apache-2.0
// Two blocks enter a critical section by Peterson's rule, and two others show each other that they are there.
// Broken: nothing orders a thread's write before its read of the other's, so that both may read what was
// there before.
#include <cstdio>

__device__ void fence() {
#ifndef BROKEN
  __threadfence();
#endif
}

__device__ volatile int wants[2], turn, here[2];
__device__ int entered, alone;

__global__ void enter(int times) {
  const int me = blockIdx.x, you = 1 - me;
  for (int i = 0; i < times; ++i) {
    wants[me] = 1;
    turn = you;
    fence();
    while (wants[you] && turn == you) {
    }
    __threadfence();
    ++entered;  // FOUND: race or overwritten in use
    __threadfence();
    wants[me] = 0;
  }
}

__global__ void meet() {
  here[blockIdx.x] = 1;
  fence();
  if (!here[1 - blockIdx.x]) atomicAdd(&alone, 1);
}

int main() {
  int n = 0, both = 0;
  enter<<<2, 1>>>(2);
  meet<<<2, 1>>>();
  cudaMemcpyFromSymbol(&n, entered, sizeof n), cudaMemcpyFromSymbol(&both, alone, sizeof both);
  std::printf("entered %d times, %d alone\n", n, both);
  return both == 2;  // FOUND SOMEWHERE: wrong result
}
