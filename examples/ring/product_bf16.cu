// SPDX-License-Identifier: Apache-2.0
// The product of product_bf16.cuh next to sums in FP64; with an argument also its speed, for squares.
//
//   nvcc -O3 -gencode arch=compute_90a,code=sm_90a product_bf16.cu -o product && ./product 8192
//   antiphase check product_bf16.cu
//
// -DCUBLAS -lcublas: the speed of cuBLAS, too.
#include "product_bf16.cuh"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#ifdef CUBLAS
#include <cublas_v2.h>
#endif
using product_bf16::bf16, product_bf16::extents;

template <class Run> void report(const char* name, extents of, Run run) {  // the mean of 10 runs, after one
  cudaEvent_t from, to;
  cudaEventCreate(&from), cudaEventCreate(&to);
  for (int i = 0; i <= 10; ++i) {
    if (i == 1) cudaEventRecord(from);
    run();
  }
  float ms = 0;
  cudaEventRecord(to), cudaEventSynchronize(to), cudaEventElapsedTime(&ms, from, to);
  std::printf("%-8s %.0f TFLOP/s, %s\n", name, 2e-8 * of.m * of.n * of.k / ms,
              cudaGetErrorString(cudaGetLastError()));
}

int main(int count, char** words) {
  const extents size = count > 1 ? extents{std::atoi(words[1]), std::atoi(words[1]), std::atoi(words[1])}
                                 : extents{200, 520, 264};
  const int m = size.m, n = size.n, k = size.k;
  std::vector<bf16> a(1ul * m * k), b(1ul * n * k), c(1ul * m * n);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = __float2bfloat16(int(i * 2654435761ul / 1024 % 31) / 16.f - 1);
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = __float2bfloat16(int(i * 2246822519ul / 1024 % 31) / 16.f - 1);
  bf16 *da, *db, *dc;
  cudaMalloc(&da, 2 * a.size()), cudaMalloc(&db, 2 * b.size()), cudaMalloc(&dc, 2 * c.size());
  cudaMemcpy(da, a.data(), 2 * a.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), 2 * b.size(), cudaMemcpyHostToDevice);

  const auto run = [&] { product_bf16::launch(da, db, dc, size); };
  run();
  cudaMemcpy(c.data(), dc, 2 * c.size(), cudaMemcpyDeviceToHost);
  double worst = 0;  // error of some outputs, next to the sum of the magnitudes of their terms
  for (std::size_t i = 0; i < c.size(); i += 1 + c.size() / 20000) {
    double sum = 0, magnitudes = 1e-9;
    for (int j = 0; j < k; ++j) {
      const double term = double(__bfloat162float(a[i / n * k + j])) * __bfloat162float(b[i % n * k + j]);
      sum += term, magnitudes += std::fabs(term);
    }
    worst = std::fmax(worst, std::fabs(__bfloat162float(c[i]) - sum) / magnitudes);
  }
  std::printf("%d x %d x %d: error %.1e, %s\n", m, n, k, worst, worst < 1 / 256. ? "right" : "WRONG");
  if (count > 1) report("product", size, run);
#ifdef CUBLAS
  cublasHandle_t handle;
  cublasCreate(&handle);
  const float one = 1, zero = 0;
  report("cuBLAS", size, [&] {
    cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, db, CUDA_R_16BF, k, da, CUDA_R_16BF, k,
                 &zero, dc, CUDA_R_16BF, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  });
#endif
  cudaFree(da), cudaFree(db), cudaFree(dc);
  return worst < 1 / 256. ? 0 : 1;
}
