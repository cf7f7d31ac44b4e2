// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies to and from pinned memory, allocated or registered; broken: it is read, or written,
// before the stream has been synchronised.
#include <cstdlib>

__global__ void fill(int* x) { x[threadIdx.x] = threadIdx.x; }
__global__ void add(const int* from, int* to) { to[threadIdx.x] += from[threadIdx.x]; }

int main() {
  int *h, *d;
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaMallocHost(&h, 32 * sizeof(int));
  cudaMalloc(&d, 32 * sizeof(int));
  cudaMemset(h, 0, 32 * sizeof(int));  // of pinned memory: over on return
  const int zero = h[3];
  fill<<<1, 32, 0, s>>>(d);
  cudaMemcpyAsync(h, d, 32 * sizeof(int), cudaMemcpyDeviceToHost, s);
#ifndef BROKEN
  cudaStreamSynchronize(s);
#endif
  const int got = h[31];  // FOUND: race
  cudaStreamSynchronize(s);
  int* own = static_cast<int*>(std::malloc(33 * sizeof(int)));
  cudaHostRegister(own + 1, 32 * sizeof(int), cudaHostRegisterDefault);
  for (int i = 0; i < 33; ++i) own[i] = i;
  cudaMemcpyAsync(d, own + 1, 32 * sizeof(int), cudaMemcpyHostToDevice, s);
  own[0] = 5;  // is not registered
#ifndef BROKEN
  cudaStreamSynchronize(s);
#endif
  own[1] = 7;  // FOUND: overwritten in use
  add<<<1, 32, 0, s>>>(d, own + 1);
#ifndef BROKEN
  cudaStreamSynchronize(s);
#endif
  const int sum = own[32];  // FOUND: race
  cudaStreamSynchronize(s);
  cudaHostUnregister(own + 1);
  std::free(own);
  cudaFree(d);
  cudaFreeHost(h);
  cudaStreamDestroy(s);
  return zero == 0 && got == 31 && sum == 64 ? 0 : 1;
}
