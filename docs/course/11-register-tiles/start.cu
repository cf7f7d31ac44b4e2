// SPDX-License-Identifier: Apache-2.0
// Lab 11: register tiles: each thread makes 4 x 4 outputs, from two accesses to shared memory for each k.
#include <cstdio>
#include <vector>

constexpr int each = 4;            // outputs of a thread: each x each
constexpr int side = 8;            // threads of a block: side x side
constexpr int tile = side * each;  // outputs of a block: tile x tile
constexpr int depth = 8;           // of a tile along K

// C = A·B for row-major A (M x K), B (K x N) and C (M x N). N and K are multiples of 4, so that four numbers
// of a row are 16 bytes, aligned. gridDim covers C.
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
  const int x = threadIdx.x, y = threadIdx.y, t = y * side + x;
  const int first_row = blockIdx.y * tile, first_column = blockIdx.x * tile;
  // YOUR PART: this is right, but each number is loaded, and read for each multiply-add, by an access of its
  // own.
  __shared__ alignas(16) float a[tile][depth], b[depth][tile];
  float sum[each][each] = {};
  for (int k = 0; k < K; k += depth) {
    for (int i = t; i < tile * depth; i += side * side) {
      const int row = first_row + i / depth, column = first_column + i % tile;
      a[i / depth][i % depth] = row < M && k + i % depth < K ? A[row * K + k + i % depth] : 0;
      b[i / tile][i % tile] = k + i / tile < K && column < N ? B[(k + i / tile) * N + column] : 0;
    }
    __syncthreads();
    for (int r = 0; r < each; ++r)
      for (int c = 0; c < each; ++c)
        for (int i = 0; i < depth; ++i) sum[r][c] += a[y * each + r][i] * b[i][x * each + c];
    __syncthreads();
  }
  for (int r = 0; r < each; ++r) {
    const int row = first_row + y * each + r, column = first_column + x * each;
    if (row < M && column < N)
      *reinterpret_cast<float4*>(&C[row * N + column]) =
          make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
  }
}

int main() {
  const int M = 37, N = 44, K = 20;
  std::vector<float> a(M * K, 2), b(K * N, 3), c(M * N);
  float *A, *B, *C;
  cudaMalloc(&A, a.size() * 4), cudaMalloc(&B, b.size() * 4), cudaMalloc(&C, c.size() * 4);
  cudaMemcpy(A, a.data(), a.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(B, b.data(), b.size() * 4, cudaMemcpyHostToDevice);
  product<<<dim3((N + tile - 1) / tile, (M + tile - 1) / tile), dim3(side, side)>>>(A, B, C, M, N, K);
  cudaMemcpy(c.data(), C, c.size() * 4, cudaMemcpyDeviceToHost);
  cudaFree(A), cudaFree(B), cudaFree(C);
  int wrong = 0;
  for (const float one : c) wrong += one != 6 * K;
  std::printf("%d of %d outputs are wrong\n", wrong, M * N);
  return wrong != 0;
}
