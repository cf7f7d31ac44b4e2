// SPDX-License-Identifier: Apache-2.0
// Lab 3: a product in tiles, with two barriers a tile.
#include <cstdio>
#include <vector>

constexpr int tile = 8;  // a block of tile x tile threads makes as many outputs; small, to be checked fast

// C = A·B for row-major A (M x K), B (K x N) and C (M x N), of any size. gridDim covers C.
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
  float sum = 0;
  __shared__ float a[tile][tile], b[tile][tile];
  for (int k = 0; k < K; k += tile) {
    a[y][x] = row < M && k + x < K ? A[row * K + k + x] : 0;
    b[y][x] = k + y < K && column < N ? B[(k + y) * N + column] : 0;
    __syncthreads();
    for (int i = 0; i < tile; ++i) sum += a[y][i] * b[i][x];
    __syncthreads();
  }
  if (row < M && column < N) C[row * N + column] = sum;
}

int main() {
  const int M = 19, N = 21, K = 27;
  std::vector<float> a(M * K, 2), b(K * N, 3), c(M * N);
  float *A, *B, *C;
  cudaMalloc(&A, a.size() * 4), cudaMalloc(&B, b.size() * 4), cudaMalloc(&C, c.size() * 4);
  cudaMemcpy(A, a.data(), a.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(B, b.data(), b.size() * 4, cudaMemcpyHostToDevice);
  product<<<dim3((N + tile - 1) / tile, (M + tile - 1) / tile), dim3(tile, tile)>>>(A, B, C, M, N, K);
  cudaMemcpy(c.data(), C, c.size() * 4, cudaMemcpyDeviceToHost);
  cudaFree(A), cudaFree(B), cudaFree(C);
  int wrong = 0;
  for (const float one : c) wrong += one != 6 * K;
  std::printf("%d of %d outputs are wrong\n", wrong, M * N);
  return wrong != 0;
}
