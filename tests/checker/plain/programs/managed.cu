// SPDX-License-Identifier: Apache-2.0
// Managed memory, read by the host; broken: before the kernel, or an asynchronous memset, has ended.
#ifdef BROKEN
#define set cudaMemsetAsync
#else
#define set cudaMemset
#endif
__global__ void square(int* x) { x[threadIdx.x] *= x[threadIdx.x]; }

int main() {
  int* x;
  cudaMallocManaged(&x, 40 * sizeof(int));
  set(x, 0, 40 * sizeof(int));
  const int zero = x[7];  // FOUND: race
  for (int i = 0; i < 40; ++i) x[i] = i;
  square<<<1, 40>>>(x);
#ifndef BROKEN
  cudaDeviceSynchronize();
#endif
  const int got = x[39];  // FOUND: race
  cudaDeviceSynchronize();
  cudaFree(x);
  return zero == 0 && got == 39 * 39 ? 0 : 1;
}
