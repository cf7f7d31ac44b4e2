// SPDX-License-Identifier: Apache-2.0
// __restrict__ parameters: of arrays apart, of two parts of one array, of one array that is only read, and,
// pedantic, of one array where each thread has a number of its own. Broken: one array for both, in steps
// with barriers between, of which nvcc may have the load come first.
#include <cuda_runtime.h>

__global__ void steps(const int* __restrict__ in, int* __restrict__ out, int n) {
  const int t = threadIdx.x;
  for (int s = 0; s < n; ++s) {
    const int v = in[(t + 1) % 64];
    __syncthreads();
    out[t] = v + 1;
    __syncthreads();
  }
}
// By vectors, a pointer that moves, and a constant pointer.
__global__ void by_vectors(const float* const __restrict__ in, float* out, int n) {
  const float* from = in + 4 * (threadIdx.x ^ 1);
  for (int s = 0; s < n; ++s) {
    const float4 v = *reinterpret_cast<const float4*>(from);
    __syncthreads();
    reinterpret_cast<float4*>(out)[threadIdx.x] = make_float4(v.x + 1, v.y, v.z, v.w);
    __syncthreads();
  }
}
template <class T> __global__ void add(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ to) {
  to[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
__global__ void unrestricted(const int* in, int* out) {
  const int v = in[(threadIdx.x + 1) % 64];
  __syncthreads();
  out[threadIdx.x] = v;
}

int main() {
  int *x, h[256];
  cudaMalloc(&x, sizeof h), cudaMemset(x, 0, sizeof h);
#ifdef BROKEN
  int* const to = x;
#else
  int* const to = x + 64;
#endif
  steps<<<1, 64>>>(x, to, 3);  // FOUND: race
  float* const y = reinterpret_cast<float*>(x + 128);
  by_vectors<<<1, 16>>>(y, y + (to - x), 3);  // FOUND: race
  add<<<1, 64>>>(x, x, x + 64);
  add<<<1, 64>>>(x, x + 64, x + 64);  // LETTER: race
  unrestricted<<<1, 64>>>(x, x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
  return 0;
}
