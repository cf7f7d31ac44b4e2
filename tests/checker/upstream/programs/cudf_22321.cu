// SPDX-License-Identifier: Apache-2.0
// Host vectors take their memory from a pool of pinned memory. One is given back while an asynchronous copy
// still reads it, and the next one gets the same memory.
#include "buffer.h"

constexpr int n = 64;

struct pool {
  int *block = nullptr, *free = nullptr;
  pool() { cudaMallocHost(&block, n * sizeof(int)), free = block; }
  ~pool() { cudaFreeHost(block); }
};
struct host_vector {
  pool& from;
  int* at;
  explicit host_vector(pool& p) : from(p), at(p.free) { p.free = nullptr; }
  ~host_vector() { from.free = at; }
};

__global__ void doubled(const int* x, int* to) { to[threadIdx.x] = 2 * x[threadIdx.x]; }

void upload(pool& memory, int* to, int first, cudaStream_t stream) {
  const host_vector v(memory);
  for (int i = 0; i < n; ++i) v.at[i] = first + i;  // FOUND: overwritten in use
  cudaMemcpyAsync(to, v.at, n * sizeof(int), cudaMemcpyHostToDevice, stream);
#ifndef BROKEN
  cudaStreamSynchronize(stream);
#endif
}

int main() {
  pool memory;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  const buffer<int> x(n), y(n), to(n);
  upload(memory, x, 0, stream);
  upload(memory, y, 100, stream);
  doubled<<<1, n, 0, stream>>>(x, to);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  return to.differs([](int i) { return 2 * i; });
}
