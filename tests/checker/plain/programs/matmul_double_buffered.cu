// SPDX-License-Identifier: Apache-2.0
// A product with two tiles in shared memory; broken: no wait for the tile that has just been stored.
#include <vector>
#define TILE 8

__global__ void multiply(const float* A, const float* B, float* C, int n) {
  __shared__ float a[2][TILE][TILE];
  __shared__ float b[2][TILE][TILE];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x,
            tiles = n / TILE;
  a[0][y][x] = A[row * n + x];
  b[0][y][x] = B[y * n + column];
  __syncthreads();
  float sum = 0;
  for (int t = 0; t < tiles; ++t) {
    const int now = t % 2;
    if (t + 1 < tiles) {
      a[1 - now][y][x] = A[row * n + (t + 1) * TILE + x];
      b[1 - now][y][x] = B[((t + 1) * TILE + y) * n + column];
    }
    for (int i = 0; i < TILE; ++i) sum += a[now][y][i] * b[now][i][x];  // FOUND: race
#ifndef BROKEN
    __syncthreads();
#endif
  }
  C[row * n + column] = sum;
}

int main() {
  const int n = 24;
  std::vector<float> h(n * n, 1.0f);
  float *a, *b, *c;
  cudaMalloc(&a, n * n * 4), cudaMalloc(&b, n * n * 4), cudaMalloc(&c, n * n * 4);
  cudaMemcpy(a, h.data(), n * n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(b, h.data(), n * n * 4, cudaMemcpyHostToDevice);
  dim3 grid(n / TILE, n / TILE), block(TILE, TILE);
  multiply<<<grid, block>>>(a, b, c, n);
  cudaMemcpy(h.data(), c, n * n * 4, cudaMemcpyDeviceToHost);
  cudaFree(a), cudaFree(b), cudaFree(c);
  return 0;
}
