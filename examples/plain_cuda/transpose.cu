// SPDX-License-Identifier: Apache-2.0
// Transposes a matrix in three ways: by columns, through a tile, and through a padded one.
// `antiphase count` shows what each line asks memory for.
#include <cstdio>

constexpr int n = 128;

__global__ void by_columns(const float* from, float* to) {
  const int x = 32 * blockIdx.x + threadIdx.x, y = 32 * blockIdx.y + threadIdx.y;
  to[x * n + y] = from[y * n + x];
}

template <int Width> __device__ void through(float (&tile)[32][Width], const float* from, float* to) {
  const int x = threadIdx.x, y = threadIdx.y;
  const int left = 32 * blockIdx.x, top = 32 * blockIdx.y;
  tile[y][x] = from[(top + y) * n + left + x];
  __syncthreads();
  to[(left + y) * n + top + x] = tile[x][y];
}
__global__ void by_tile(const float* from, float* to) {
  __shared__ float tile[32][32];
  through(tile, from, to);
}
__global__ void by_padded_tile(const float* from, float* to) {
  __shared__ float tile[32][33];
  through(tile, from, to);
}

int main() {
  float *from, *to;
  cudaMalloc(&from, n * n * sizeof(float));
  cudaMalloc(&to, n * n * sizeof(float));
  cudaMemset(from, 0, n * n * sizeof(float));
  const dim3 grid(n / 32, n / 32), block(32, 32);
  by_columns<<<grid, block>>>(from, to);
  by_tile<<<grid, block>>>(from, to);
  by_padded_tile<<<grid, block>>>(from, to);
  const bool failed = cudaDeviceSynchronize() != cudaSuccess;
  if (failed) std::puts("failed");
  cudaFree(from);
  cudaFree(to);
  return failed ? 1 : 0;
}
