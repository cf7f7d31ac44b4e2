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
  // YOUR PART: here each element of A and B comes from global memory tile times in each block. Let each
  // thread load one element of a tile of A and one of B into shared memory, zeros beyond the edges; then
  // all compute with these tiles, and only then does the next pair take their place.
  for (int k = 0; k < K; ++k)
    if (row < M && column < N) sum += A[row * K + k] * B[k * N + column];
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
