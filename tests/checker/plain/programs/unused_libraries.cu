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

__device__ inline void multiply_bytes(const uint32_t a[4], const uint32_t b[2], int d[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__global__ void by_bytes(const uint32_t* a, const uint32_t* b, int* d) { multiply_bytes(a, b, d); }
template <class T> __global__ void by_fragments(const T* a) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> part;
  wmma::load_matrix_sync(part, a, 16);
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
