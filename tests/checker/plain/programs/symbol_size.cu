// SPDX-License-Identifier: Apache-2.0
// Weights in constant memory, and a queue of shared atomics that starts with a store; broken: one weight too
// many is copied.
#include <cuda/atomic>
__constant__ int weight[4];

__global__ void weigh(int* to) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> next;
  if (threadIdx.x == 0) next.store(0);
  __syncthreads();
  const int i = next.fetch_add(1, cuda::memory_order_relaxed);
  to[i] = weight[i % 4];
}

int main() {
  const int h[5] = {1, 2, 3, 4, 5};
  int *to, got[32];
  cudaMalloc(&to, 128);
#ifdef BROKEN
  cudaMemcpyToSymbol(weight, h, sizeof h);  // FOUND: bad copy
#else
  cudaMemcpyToSymbol(weight, h, sizeof weight);
#endif
  weigh<<<1, 32>>>(to);
  cudaMemcpy(got, to, 128, cudaMemcpyDeviceToHost);
  cudaFree(to);
#ifndef BROKEN
  return got[5] == 2 ? 0 : 1;
#endif
}
