// SPDX-License-Identifier: Apache-2.0
// Lab 6: a ring of any number of stages, a value of the template.
#include <cuda_pipeline.h>

#include <cstdio>
#include <vector>

constexpr int tile = 8;  // a block of tile x tile threads makes as many outputs; small, to be checked fast

// C = A·B for row-major A (M x K), B (K x N) and C (M x N), of any size. gridDim covers C.
template <int stages> __global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
  float sum = 0;
  __shared__ float a[stages][tile][tile], b[stages][tile][tile];
  const int tiles = (K + tile - 1) / tile;
  // One element of A and one of B for tile i, into a slot: 4 bytes each, or zeros beyond the edges.
  const auto load = [&](int i, int slot) {
    const int k = i * tile;
    const bool in_a = row < M && k + x < K, in_b = k + y < K && column < N;
    __pipeline_memcpy_async(&a[slot][y][x], in_a ? &A[row * K + k + x] : A, 4, in_a ? 0 : 4);
    __pipeline_memcpy_async(&b[slot][y][x], in_b ? &B[(k + y) * N + column] : B, 4, in_b ? 0 : 4);
  };
  // YOUR PART: a ring of `stages` slots. stages - 1 tiles are on their way while one is used, also at the
  // beginning and if there are fewer tiles than slots. One barrier a tile; one stage may take two.
  for (int i = 0; i < tiles; ++i) {
    load(i, i % stages);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int k = 0; k < tile; ++k) sum += a[i % stages][y][k] * b[i % stages][k][x];
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
  product<3><<<dim3((N + tile - 1) / tile, (M + tile - 1) / tile), dim3(tile, tile)>>>(A, B, C, M, N, K);
  cudaMemcpy(c.data(), C, c.size() * 4, cudaMemcpyDeviceToHost);
  cudaFree(A), cudaFree(B), cudaFree(C);
  int wrong = 0;
  for (const float one : c) wrong += one != 6 * K;
  std::printf("%d of %d outputs are wrong\n", wrong, M * N);
  return wrong != 0;
}
