// SPDX-License-Identifier: Apache-2.0
// Pinned memory is given back while copies are queued: a pedantic race, as no document says that this
// waits. Broken: the host reads it before it has waited.
#include <cstdlib>

__global__ void number(int* x) { x[threadIdx.x] = threadIdx.x; }

int main() {
  constexpr int bytes = 64 * sizeof(int);
  int *x, *pinned, *registered = static_cast<int*>(std::malloc(bytes));
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaMalloc(&x, bytes), cudaMallocHost(&pinned, bytes);
  cudaHostRegister(registered, bytes, cudaHostRegisterDefault);
  for (int i = 0; i < 64; ++i) pinned[i] = 0;
  number<<<1, 64, 0, s>>>(x);
  cudaMemcpyAsync(registered, x, bytes, cudaMemcpyDeviceToHost, s);
  cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, s);
#ifdef BROKEN
  const int last = registered[63];  // FOUND: race
  cudaStreamSynchronize(s);
#endif
  cudaFreeHost(pinned);            // LETTER: overwritten in use
  cudaHostUnregister(registered);  // here nothing is in progress
#ifndef BROKEN
  cudaHostRegister(registered, bytes, cudaHostRegisterDefault);
  cudaMemcpyAsync(x, registered, bytes, cudaMemcpyHostToDevice, s);
  cudaHostUnregister(registered);  // LETTER: overwritten in use
  cudaStreamSynchronize(s);
  const int last = registered[63];
#endif
  std::free(registered);
  cudaFree(x), cudaStreamDestroy(s);
  return last != 63;
}
