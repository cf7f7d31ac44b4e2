// SPDX-License-Identifier: Apache-2.0
// Libraries that are included, and functions that use them without being called.
// The broken one has no barrier.
#include <cublas_v2.h>
#include <curand_kernel.h>
#include <mma.h>
#include <thrust/device_vector.h>
#include <cub/cub.cuh>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace nvcuda;
namespace matrices = nvcuda::wmma;

__device__ inline void multiply_sparse(const uint32_t a[2], const uint32_t b[2], float d[4],
                                       uint32_t places) {
  asm volatile(
      "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, "
      "{%0, %1, %2, %3}, %8, 0x0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(places));
}
__global__ void sparse(const uint32_t* a, const uint32_t* b, float* d) { multiply_sparse(a, b, d, 0); }
__global__ void by_bits(const wmma::experimental::precision::b1* a, int* c) {
  namespace bits = wmma::experimental;
  wmma::fragment<wmma::matrix_a, 8, 8, 128, bits::precision::b1, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, bits::precision::b1, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> sum;
  wmma::load_matrix_sync(left, a, 128), wmma::load_matrix_sync(right, a, 128);
  wmma::fill_fragment(sum, 0);
  wmma::bmma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(c, sum, 8, wmma::mem_row_major);
}
__global__ void noise(curandState* states) { curand_init(1, threadIdx.x, 0, &states[threadIdx.x]); }
float by_library(const float* from, int n) { return thrust::reduce(from, from + n); }

void must(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) std::exit(std::printf("cuBLAS: %d\n", status));
}
void by_cublas(cublasHandle_t library, int n, const float* a, const float* b, float* c) {
  const float one = 1, zero = 0;
  must(cublasSgemm(library, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n));
}

__global__ void turn(int* x) {
  __shared__ int part[64];
  part[threadIdx.x] = x[threadIdx.x];
#ifndef BROKEN
  __syncthreads();
#endif
  x[threadIdx.x] = part[63 - threadIdx.x];  // FOUND: race or uninitialised memory read
}

int main() {
  cublasHandle_t library;
  must(cublasCreate(&library));
  must(cublasSetStream(library, 0));
  must(cublasSetMathMode(library, CUBLAS_DEFAULT_MATH));
  int* x;
  cudaMalloc(&x, 64 * sizeof(int));
  cudaMemset(x, 0, 64 * sizeof(int));
  turn<<<1, 64>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
  must(cublasDestroy(library));
}
