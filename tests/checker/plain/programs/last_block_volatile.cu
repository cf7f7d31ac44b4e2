// SPDX-License-Identifier: Apache-2.0
// The __threadfence() example of the CUDA guide: volatile results, and a counter that the last block resets
// by a plain write, after it has read there what all others have written. Broken: without the fence.
__device__ unsigned count = 0;

__global__ void sum(const int* x, volatile int* result) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    int mine = 0;
    for (int i = 0; i < 32; ++i) mine += x[blockIdx.x * 32 + i];
    result[blockIdx.x] = mine;
#ifndef BROKEN
    __threadfence();
#endif
    last = atomicInc(&count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    int all = threadIdx.x < gridDim.x ? result[threadIdx.x] : 0;  // FOUND: uninitialised memory read
    for (int step = 16; step > 0; step /= 2) all += __shfl_xor_sync(~0u, all, step);
    if (threadIdx.x == 0) {
      result[0] = all;
      count = 0;
    }
  }
}

int main() {
  int h[128], *x, *result, got = 0;
  for (int i = 0; i < 128; ++i) h[i] = i;
  cudaMalloc(&x, sizeof h), cudaMalloc(&result, 16);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  for (int again = 0; again < 2; ++again) {
    sum<<<4, 32>>>(x, result);
    cudaMemcpy(&got, result, 4, cudaMemcpyDeviceToHost);
    if (got != 127 * 64) return 1;
  }
  cudaFree(x), cudaFree(result);
}
