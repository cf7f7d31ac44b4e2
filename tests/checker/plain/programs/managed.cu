// SPDX-License-Identifier: Apache-2.0
// Managed memory, read by the host; broken: before the kernel has ended.
__global__ void square(int* x) { x[threadIdx.x] *= x[threadIdx.x]; }

int main() {
  int* x;
  cudaMallocManaged(&x, 40 * sizeof(int));
  for (int i = 0; i < 40; ++i) x[i] = i;
  square<<<1, 40>>>(x);
#ifndef BROKEN
  cudaDeviceSynchronize();
#endif
  const int got = x[39];  // FOUND: race
  cudaDeviceSynchronize();
  cudaFree(x);
  return got == 39 * 39 ? 0 : 1;
}
