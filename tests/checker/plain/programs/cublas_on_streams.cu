// SPDX-License-Identifier: Apache-2.0
// cuBLAS and cuRAND in stream order together with kernels. The broken one forgets the handle's stream, and a
// leading dimension.
#include <cublas_v2.h>
#include <curand.h>
#include <curand_kernel.h>

#include <cmath>
#include <cstdio>

__global__ void fill(float* x, int n, int step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = static_cast<float>(i * step % 11 - 5);
}
__global__ void throw_darts(unsigned* inside, int n) {
  curandState state;
  curand_init(42, blockIdx.x * blockDim.x + threadIdx.x, 0, &state);
  unsigned mine = 0;
  for (int i = 0; i < n; ++i) {
    const float x = curand_uniform(&state), y = curand_uniform(&state);
    mine += x * x + y * y <= 1 ? 1 : 0;
  }
  atomicAdd(inside, mine);
}

int main() {
  const int m = 13, n = 7, k = 9;
  int bad = 0;
  float *a, *b, *c;
  cudaMalloc(&a, m * k * sizeof(float)), cudaMalloc(&b, k * n * sizeof(float)),
      cudaMalloc(&c, m * n * sizeof(float));
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cublasHandle_t library;
  bad += cublasCreate(&library) != CUBLAS_STATUS_SUCCESS;
#ifndef BROKEN
  cublasSetStream(library, s);
#endif
  fill<<<1, 128, 0, s>>>(a, m * k, 3);
  fill<<<1, 128, 0, s>>>(b, k * n, 7);
  const float two = 2, zero = 0;
  cublasSgemm(library, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &two, a, m, b, n, &zero, c, m);  // FOUND: race
  float sum = 0;
  cublasSasum(library, m * n, c, 1, &sum);
  float h[m * n], ha[m * k], hb[k * n], sums = 0;
  cudaMemcpy(h, c, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpy(ha, a, sizeof ha, cudaMemcpyDeviceToHost), cudaMemcpy(hb, b, sizeof hb, cudaMemcpyDeviceToHost);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      float dot = 0;
      for (int p = 0; p < k; ++p) dot += ha[p * m + i] * hb[p * n + j];
      bad += h[j * m + i] != 2 * dot;
      sums += std::fabs(2 * dot);
    }
  bad += sum != sums;

  curandGenerator_t numbers;
  curandCreateGenerator(&numbers, CURAND_RNG_PSEUDO_DEFAULT);
  curandSetPseudoRandomGeneratorSeed(numbers, 7);
  curandGenerateUniform(numbers, a, m * k);
  cudaMemcpy(ha, a, sizeof ha, cudaMemcpyDeviceToHost);
  for (float v : ha) bad += !(v > 0 && v <= 1);
  curandDestroyGenerator(numbers);
  unsigned *inside, hit = 0;
  cudaMalloc(&inside, sizeof hit), cudaMemset(inside, 0, sizeof hit);
  throw_darts<<<2, 32>>>(inside, 50);
  cudaMemcpy(&hit, inside, sizeof hit, cudaMemcpyDeviceToHost);
  bad += std::fabs(hit / 3200.0 - 0.785) > 0.05;
#ifdef BROKEN
  cublasSscal(library, m * n, &two, c + 1, 1);  // FOUND: access outside memory
#endif
  cublasDestroy(library);
  cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(inside);
  return bad == 0 ? 0 : std::printf("%d wrong\n", bad);
}
