// SPDX-License-Identifier: Apache-2.0
// Lab 0: a first kernel, for any grid, whose neighbors access neighbors.
#include <cstdio>
#include <vector>

// y[i] = a x[i] + y[i] for n numbers, by any number of blocks and threads.
__global__ void line(float a, const float* x, float* y, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  for (int i = t; i < n; i += threads) y[i] = a * x[i] + y[i];
}

int main() {
  const int n = 1000;
  std::vector<float> host(n, 2.0f);
  float *x, *y;
  cudaMalloc(&x, n * 4), cudaMalloc(&y, n * 4);
  cudaMemcpy(x, host.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(y, host.data(), n * 4, cudaMemcpyHostToDevice);
  line<<<2, 64>>>(3, x, y, n);
  cudaMemcpy(host.data(), y, n * 4, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
  int wrong = 0;
  for (const float one : host) wrong += one != 8;
  std::printf("%d of %d numbers are wrong\n", wrong, n);
  return wrong != 0;
}
