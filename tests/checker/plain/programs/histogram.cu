// SPDX-License-Identifier: Apache-2.0
// Histogram of bytes, first in shared memory; broken: counted without atomic operations.
#include <cstring>

constexpr int bins = 16;

__global__ void count(const unsigned char* from, int n, unsigned* to) {
  __shared__ unsigned mine[bins];
  if (threadIdx.x < bins) mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
#ifdef BROKEN
    ++mine[from[i] % bins];  // FOUND: race
#else
    atomicAdd(&mine[from[i] % bins], 1u);
#endif
  }
  __syncthreads();
  if (threadIdx.x < bins) atomicAdd(&to[threadIdx.x], mine[threadIdx.x]);
}

int main() {
  const int n = 777;
  unsigned char h[n];
  unsigned counts[bins];
  for (int i = 0; i < n; ++i) h[i] = i * i % 251;
  unsigned char* from;
  unsigned* to;
  cudaMalloc(&from, n);
  cudaMalloc(&to, sizeof counts);
  cudaMemcpy(from, h, n, cudaMemcpyHostToDevice);
  cudaMemset(to, 0, sizeof counts);
  count<<<3, 64>>>(from, n, to);
  cudaMemcpy(counts, to, sizeof counts, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
#ifndef BROKEN
  unsigned all = 0;
  for (unsigned c : counts) all += c;
  return all == n ? 0 : 1;
#endif
}
