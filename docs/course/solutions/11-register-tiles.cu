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
  __shared__ alignas(16) float a[depth][tile], b[depth][tile];  // A lies transposed: a column is a row here
  float sum[each][each] = {};
  for (int k = 0; k < K; k += depth) {
    const int row = t / 2, in_row = t % 2 * 4, line = t / 8, in_line = t % 8 * 4;
    float4 of_a = {}, of_b = {};
    if (first_row + row < M && k + in_row < K)
      of_a = *reinterpret_cast<const float4*>(&A[(first_row + row) * K + k + in_row]);
    if (k + line < K && first_column + in_line < N)
      of_b = *reinterpret_cast<const float4*>(&B[(k + line) * N + first_column + in_line]);
    a[in_row][row] = of_a.x, a[in_row + 1][row] = of_a.y;
    a[in_row + 2][row] = of_a.z, a[in_row + 3][row] = of_a.w;
    *reinterpret_cast<float4*>(&b[line][in_line]) = of_b;
    __syncthreads();
    for (int i = 0; i < depth; ++i) {
      const float4 p = *reinterpret_cast<const float4*>(&a[i][y * each]);
      const float4 q = *reinterpret_cast<const float4*>(&b[i][x * each]);
      const float left[each] = {p.x, p.y, p.z, p.w}, right[each] = {q.x, q.y, q.z, q.w};
      for (int r = 0; r < each; ++r)
        for (int c = 0; c < each; ++c) sum[r][c] += left[r] * right[c];
    }
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
