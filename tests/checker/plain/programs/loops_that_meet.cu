// SPDX-License-Identifier: Apache-2.0
// Threads that meet again and again while nothing in memory changes: they count, or multiply, in registers.
// Broken: they wait for a word that is never written, in lanes of one warp, each half by votes of its own.
__device__ volatile int flag;

__global__ void multiply(float* to, int rounds) {
  __shared__ float by[32];
  by[threadIdx.x] = 1 + threadIdx.x * 1e-6f;
  __syncthreads();
  float x = 1;
  for (int i = 0; i < rounds; ++i) x *= __shfl_xor_sync(~0u, by[threadIdx.x], 1);
  to[threadIdx.x] = x;
}
__global__ void halves(float* to) {
  const unsigned mine = threadIdx.x < 16 ? 0xFFFF : 0xFFFF0000;
#ifndef BROKEN
  if (threadIdx.x == 20) flag = 1;
#endif
  if (threadIdx.x < 16)
    while (!__any_sync(mine, flag)) __syncwarp(mine);  // FOUND SOMEWHERE: deadlock
  else
    while (__reduce_max_sync(mine, flag) == 0) __threadfence();
  to[threadIdx.x] += 1;
}

int main() {
  float* to;
  cudaMalloc(&to, 32 * sizeof(float));
  multiply<<<1, 32>>>(to, 20000);
  halves<<<1, 32>>>(to);
  cudaFree(to);
}
