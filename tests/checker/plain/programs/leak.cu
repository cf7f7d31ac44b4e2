// SPDX-License-Identifier: Apache-2.0
// Device memory; broken: some of it is never freed.
__global__ void fill(int* x) { x[threadIdx.x] = 1; }

int main() {
  int *x, *y;
  cudaMalloc(&x, 128);
  cudaMalloc(&y, 256);  // FOUND: memory leak
  fill<<<1, 32>>>(x);
  fill<<<1, 32>>>(y);
  cudaDeviceSynchronize();
  cudaFree(x);
#ifndef BROKEN
  cudaFree(y);
#endif
}
