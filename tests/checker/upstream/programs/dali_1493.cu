// SPDX-License-Identifier: Apache-2.0
// Each iteration fills a buffer of pinned memory, from which an asynchronous copy feeds a kernel. The next
// iteration fills it again before the copy has been made.
#include "buffer.h"

constexpr int n = 64, iterations = 3;

__global__ void add(const int* x, int* sum) { sum[threadIdx.x] += x[threadIdx.x]; }

int main() {
  const buffer<int> x(n), sum(n);
  int* staging;
  cudaStream_t stream;
  cudaMallocHost(&staging, n * sizeof(int));
  cudaStreamCreate(&stream);
  for (int i = 0; i < iterations; ++i) {
#ifndef BROKEN
    cudaStreamSynchronize(stream);
#endif
    for (int j = 0; j < n; ++j) staging[j] = i + j;  // FOUND: overwritten in use
    cudaMemcpyAsync(x, staging, n * sizeof(int), cudaMemcpyHostToDevice, stream);
    add<<<1, n, 0, stream>>>(x, sum);
  }
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  cudaFreeHost(staging);
  return sum.differs([](int i) { return 3 + iterations * i; });
}
