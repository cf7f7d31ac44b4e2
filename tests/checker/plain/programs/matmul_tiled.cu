// SPDX-License-Identifier: Apache-2.0
// A templated product by tiles in shared memory; broken: the next tile is loaded while others still read
// this one.
#include <vector>

template <int Tile> __global__ void multiply(const float* A, const float* B, float* C, int m, int n, int k) {
  __shared__ float a[Tile][Tile], b[Tile][Tile];
  const int row = blockIdx.y * Tile + threadIdx.y, column = blockIdx.x * Tile + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < (k + Tile - 1) / Tile; ++t) {
    const int ka = t * Tile + threadIdx.x, kb = t * Tile + threadIdx.y;
    a[threadIdx.y][threadIdx.x] = row < m && ka < k ? A[row * k + ka] : 0;  // FOUND: overwritten in use
    b[threadIdx.y][threadIdx.x] = kb < k && column < n ? B[kb * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < Tile; ++i) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
#ifndef BROKEN
    __syncthreads();
#endif
  }
  if (row < m && column < n) C[row * n + column] = sum;
}

int main() {
  const int m = 19, n = 11, k = 21;
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (int i = 0; i < m * k; ++i) a[i] = i % 7 - 3;
  for (int i = 0; i < k * n; ++i) b[i] = i % 5 - 2;
  float *da, *db, *dc;
  cudaMalloc(&da, a.size() * 4);
  cudaMalloc(&db, b.size() * 4);
  cudaMalloc(&dc, c.size() * 4);
  cudaMemcpy(da, a.data(), a.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), b.size() * 4, cudaMemcpyHostToDevice);
  multiply<8><<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(da, db, dc, m, n, k);
  cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost);
  cudaFree(da), cudaFree(db), cudaFree(dc);
#ifndef BROKEN
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      if (c[i * n + j] != sum) return 1;
    }
#endif
}
