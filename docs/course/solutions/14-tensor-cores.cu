// SPDX-License-Identifier: Apache-2.0
// Lab 14: a product on Tensor Cores, by warps that multiply tiles of 16 x 16 x 16.
#include <mma.h>

#include <cstdio>
#include <vector>

using namespace nvcuda;

constexpr int tile = 32;   // outputs of a block: tile x tile. Four warps make 16 x 16 each
constexpr int depth = 16;  // of a tile along K
constexpr int threads = 128;
// Rows in shared memory are longer than tiles, so that fewer of them begin in the same bank. Fragments want
// rows of a multiple of 16 bytes, and tiles that begin at one of 32.
constexpr int row_of_a = depth + 16, row_of_b = tile + 16, row_of_c = tile + 8;

// C = A·B for row-major A (M x K), B (K x N) and C (M x N), of any size. gridDim covers C.
__global__ void product(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ alignas(32) half a[tile][row_of_a], b[depth][row_of_b];
  __shared__ alignas(32) float c[tile][row_of_c];
  const int t = threadIdx.x, warp = t / 32;
  const int first_row = blockIdx.y * tile, first_column = blockIdx.x * tile;
  const int row = warp / 2 * 16, column = warp % 2 * 16;  // where the warp's outputs begin in the tile
  const half zero = __float2half(0);
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> of_a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> of_b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < K; k += depth) {
    for (int i = t; i < tile * depth; i += threads) {
      const int y = first_row + i / depth, x = first_column + i % tile;
      a[i / depth][i % depth] = y < M && k + i % depth < K ? A[y * K + k + i % depth] : zero;
      b[i / tile][i % tile] = k + i / tile < K && x < N ? B[(k + i / tile) * N + x] : zero;
    }
    __syncthreads();
    wmma::load_matrix_sync(of_a, &a[row][0], row_of_a);
    wmma::load_matrix_sync(of_b, &b[0][column], row_of_b);
    wmma::mma_sync(sum, of_a, of_b, sum);
    __syncthreads();
  }
  wmma::store_matrix_sync(&c[row][column], sum, row_of_c, wmma::mem_row_major);
  __syncthreads();
  for (int i = t; i < tile * tile; i += threads)
    if (first_row + i / tile < M && first_column + i % tile < N)
      C[(first_row + i / tile) * N + first_column + i % tile] = c[i / tile][i % tile];
}

int main() {
  const int M = 19, N = 37, K = 27;
  const half two = __float2half(2), three = __float2half(3);
  std::vector<half> a(M * K, two), b(K * N, three);
  std::vector<float> c(M * N);
  half *A, *B;
  float* C;
  cudaMalloc(&A, a.size() * 2), cudaMalloc(&B, b.size() * 2), cudaMalloc(&C, c.size() * 4);
  cudaMemcpy(A, a.data(), a.size() * 2, cudaMemcpyHostToDevice);
  cudaMemcpy(B, b.data(), b.size() * 2, cudaMemcpyHostToDevice);
  product<<<dim3((N + tile - 1) / tile, (M + tile - 1) / tile), threads>>>(A, B, C, M, N, K);
  cudaMemcpy(c.data(), C, c.size() * 4, cudaMemcpyDeviceToHost);
  cudaFree(A), cudaFree(B), cudaFree(C);
  int wrong = 0;
  for (const float one : c) wrong += one != 6 * K;
  std::printf("%d of %d outputs are wrong\n", wrong, M * N);
  return wrong != 0;
}
