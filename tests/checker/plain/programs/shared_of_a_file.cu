// SPDX-License-Identifier: Apache-2.0
// Shared variables outside of functions, used by two kernels and a device function. Broken: one barrier is
// missing.
#include <cstdio>

__shared__ int part[64], others[64];
static __shared__ float factor;

__device__ int mirrored(int i) { return part[63 - i]; }  // FOUND: race or uninitialised memory read

__global__ void turn(const int* from, int* to) {
  part[threadIdx.x] = from[threadIdx.x];
#ifndef BROKEN
  __syncthreads();
#endif
  to[threadIdx.x] = mirrored(threadIdx.x);
}
__global__ void scale(int* x) {
  if (threadIdx.x == 0) factor = 2;
  others[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = static_cast<int>(factor) * others[threadIdx.x ^ 1];
}

int main() {
  int numbers[64], *from, *to;
  for (int i = 0; i < 64; ++i) numbers[i] = i;
  cudaMalloc(&from, sizeof numbers), cudaMalloc(&to, sizeof numbers);
  cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  turn<<<1, 64>>>(from, to);
  scale<<<1, 64>>>(to);
  cudaMemcpy(numbers, to, sizeof numbers, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
  for (int i = 0; i < 64; ++i)
    if (numbers[i] != 2 * (63 - (i ^ 1))) return std::printf("%d at %d\n", numbers[i], i), 1;
}
