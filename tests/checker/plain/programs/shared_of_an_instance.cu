// SPDX-License-Identifier: Apache-2.0
// More than 48 KiB of dynamic shared memory, allowed for the instance of the template that is launched;
// broken: for another one.
#include <cuda_runtime.h>
#ifdef BROKEN
using allowed = double;
#else
using allowed = float;
#endif

template <class T> __global__ void turn(T* to) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* const s = reinterpret_cast<T*>(raw);
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  to[threadIdx.x] = s[31 - threadIdx.x];
}

int main() {
  float* x;
  cudaMalloc(&x, 128);
  cudaFuncSetAttribute(turn<allowed>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  turn<float><<<1, 32, 65536>>>(x);  // FOUND: bad launch
  turn<<<1, 32, 65536>>>(x);         // FOUND: bad launch
  cudaFree(x);
}
