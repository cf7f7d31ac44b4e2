// SPDX-License-Identifier: Apache-2.0
// A textbook product with two buffers and asynchronous copies; broken: no barrier after the sums, so that
// with three tiles or more the next copy lands where others still read.
#include <cuda_pipeline.h>

constexpr int T = 8, N = 32;

__global__ void product(const float* a, const float* b, float* c) {
  __shared__ float as[2][T][T], bs[2][T][T];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, column = blockIdx.x * T + x;
  auto load = [&](int tile) {
    __pipeline_memcpy_async(&as[tile % 2][y][x], &a[row * N + tile * T + x], 4);  // FOUND: overwritten in use
    __pipeline_memcpy_async(&bs[tile % 2][y][x], &b[(tile * T + y) * N + column], 4);
    __pipeline_commit();
  };
  float sum = 0;
  load(0);
  for (int tile = 0; tile < N / T; ++tile) {
    if (tile + 1 < N / T) load(tile + 1);
    __pipeline_wait_prior(tile + 1 < N / T ? 1 : 0);
    __syncthreads();
    for (int k = 0; k < T; ++k) sum += as[tile % 2][y][k] * bs[tile % 2][k][x];
#ifndef BROKEN
    __syncthreads();
#endif
  }
  c[row * N + column] = sum;
}

int main() {
  static float a[N * N], b[N * N], c[N * N];
  for (int i = 0; i < N * N; ++i) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
  float *da, *db, *dc;
  cudaMalloc(&da, sizeof a), cudaMalloc(&db, sizeof b), cudaMalloc(&dc, sizeof c);
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice), cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  product<<<dim3((N + T - 1) / T, (N + T - 1) / T), dim3(T, T)>>>(da, db, dc);
  cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost);
  cudaFree(da), cudaFree(db), cudaFree(dc);
  for (int i = 0; i < N * N; ++i) {
    float sum = 0;
    for (int k = 0; k < N; ++k) sum += a[i / N * N + k] * b[k * N + i % N];
    if (sum != c[i]) return 1;
  }
}
