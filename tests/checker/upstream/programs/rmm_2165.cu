// SPDX-License-Identifier: Apache-2.0
// An allocation is guaranteed to be there for every stream. It is made in the order of the default stream,
// and a stream that does not wait for that one uses it.
#include "buffer.h"

constexpr int n = 64;

int* allocate_for_all_streams() {
  int* p;
  cudaMallocAsync(&p, n * sizeof(int), nullptr);
#ifndef BROKEN
  cudaStreamSynchronize(nullptr);
#endif
  return p;
}

__global__ void fill(int* x) { x[threadIdx.x] = threadIdx.x; }  // FOUND: race
__global__ void doubled(const int* x, int* to) { to[threadIdx.x] = 2 * x[threadIdx.x]; }

int main() {
  const buffer<int> to(n);
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaDeviceSynchronize();
  int* const x = allocate_for_all_streams();
  fill<<<1, n, 0, other>>>(x);
  doubled<<<1, n, 0, other>>>(x, to);
  cudaStreamSynchronize(other);
  cudaFreeAsync(x, nullptr);
  cudaStreamDestroy(other);
  return to.differs([](int i) { return 2 * i; });
}
