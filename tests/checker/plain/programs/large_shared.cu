// SPDX-License-Identifier: Apache-2.0
// More than 48 KiB of dynamic shared memory; broken: without opting in.
#include <cstdio>

__global__ void fill(int* x) {
  extern __shared__ int s[];
  for (int i = threadIdx.x; i < 14000; i += blockDim.x) s[i] = i;
  __syncthreads();
  x[threadIdx.x] = s[13999 - threadIdx.x];
}

int main() {
  int *d, h[32];
  cudaMalloc(&d, sizeof h);
#ifndef BROKEN
  cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 56000);
#endif
  fill<<<1, 32, 56000>>>(d);  // FOUND: bad launch
  cudaDeviceSynchronize();
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
}
