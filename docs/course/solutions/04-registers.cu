// SPDX-License-Identifier: Apache-2.0
// Lab 4: the next tile is loaded into registers while this one is used.
#include <cstdio>
#include <vector>

constexpr int tile = 8;  // a block of tile x tile threads makes as many outputs; small, to be checked fast

// C = A·B for row-major A (M x K), B (K x N) and C (M x N), of any size. gridDim covers C.
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
  float sum = 0;
  __shared__ float a[2][tile][tile], b[2][tile][tile];
  const int tiles = (K + tile - 1) / tile;
  const auto load_a = [&](int k) { return row < M && k + x < K ? A[row * K + k + x] : 0; };
  const auto load_b = [&](int k) { return k + y < K && column < N ? B[(k + y) * N + column] : 0; };
  if (tiles > 0) a[0][y][x] = load_a(0), b[0][y][x] = load_b(0);
  for (int i = 0; i < tiles; ++i) {
    const int now = i % 2, next = 1 - now;
    __syncthreads();
    float next_a = 0, next_b = 0;
    if (i + 1 < tiles) next_a = load_a((i + 1) * tile), next_b = load_b((i + 1) * tile);
    for (int k = 0; k < tile; ++k) sum += a[now][y][k] * b[now][k][x];
    if (i + 1 < tiles) a[next][y][x] = next_a, b[next][y][x] = next_b;
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
