// SPDX-License-Identifier: Apache-2.0
// Memory of the device; broken: some of it is never given back.
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
