// SPDX-License-Identifier: Apache-2.0
// Two warps enter by Peterson's rule. Broken: a fence stands between a warp's two writes, but none between
// these and its reads of the other's.
__device__ int entered;

__global__ void enter(int times) {
  __shared__ volatile int wants[2], turn;
  const int me = threadIdx.x / 32, you = 1 - me;
  if (threadIdx.x < 2) wants[threadIdx.x] = 0;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  if (threadIdx.x % 32 != 0) return;
  for (int i = 0; i < times; ++i) {
    wants[me] = 1;
    __threadfence_block();
    turn = you;
#ifndef BROKEN
    __threadfence_block();
#endif
    while (wants[you] && turn == you) {
    }
    __threadfence_block();
    ++entered;  // FOUND: race or overwritten in use
    __threadfence_block();
    wants[me] = 0;
  }
}

int main() {
  int n = 0;
  enter<<<1, 64>>>(3);
  cudaMemcpyFromSymbol(&n, entered, sizeof n);
  return n > 6;
}
