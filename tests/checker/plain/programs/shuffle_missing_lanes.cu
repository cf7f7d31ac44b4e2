// SPDX-License-Identifier: Apache-2.0
// A row of 20 numbers by one warp of 20 threads: values that shuffles return from missing lanes are
// dropped. Broken: they are compared with the others.
#include <cstdio>

constexpr int columns = 20, rows = 3;

__global__ void largest(const float* from, float* to) {
  const int lane = threadIdx.x;
  float v = from[blockIdx.x * columns + lane];
  for (int by = 16; by > 0; by /= 2) {
    const float other = __shfl_down_sync(0xFFFFFFFFu, v, by);  // FOUND: barrier misuse
#ifdef BROKEN
    v = fmaxf(v, other);
#else
    if (lane + by < columns) v = fmaxf(v, other);
#endif
  }
  if (lane == 0) to[blockIdx.x] = v;
}

// Lanes return, and others are not in the mask: neither brings anything that is used.
__global__ void neighbours(const float* from, float* to) {
  const int lane = threadIdx.x;
  if (lane > 17) return;
  const float next = __shfl_sync(~0u, from[lane], lane + 1);
  to[lane] = lane < 17 ? next : 0;
  if (lane < 8) {
    const float far = __shfl_xor_sync(0xFFu, from[lane], 15);
    to[lane] += lane > 8 ? far : 0;
  }
}

int main() {
  float host[rows * columns], result[columns], *from, *to;
  for (int i = 0; i < rows * columns; ++i) host[i] = -5.f - i % 7;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof result);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  largest<<<rows, columns>>>(from, to);
  cudaMemcpy(result, to, rows * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < rows; ++i)
    if (result[i] != -5) return std::printf("%d is %g\n", i, result[i]), 1;
  neighbours<<<1, 32>>>(from, to);
  cudaMemcpy(result, to, 18 * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 18; ++i)
    if (result[i] != (i < 17 ? host[i + 1] : 0)) return std::printf("%d is %g\n", i, result[i]), 1;
  cudaFree(from), cudaFree(to);
}
