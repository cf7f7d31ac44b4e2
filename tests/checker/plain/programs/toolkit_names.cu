// SPDX-License-Identifier: Apache-2.0
// Macros and names that nvcc and the toolkit's headers define, and programs choose by. Broken: the code of
// another card, which has no barrier.
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_fp16.h>
#include <curand.h>

#include <thrust/version.h>
#include <cuda/barrier>

#ifndef __CUDA_FP16_H__
#error "the guard of cuda_fp16.h"
#endif
#if CUDA_VERSION < 12000 || CUDA_VERSION != CUDART_VERSION || __CUDA_API_VER_MAJOR__ != __CUDACC_VER_MAJOR__
#error "versions of CUDA"
#endif
#if CUBLAS_VER_MAJOR < 12 || CUBLAS_VERSION < 120000 || CURAND_VERSION < 10000 || CCCL_VERSION < 2000000
#error "versions of libraries"
#endif
#if !defined(__CUDACC_EXTENDED_LAMBDA__) || !defined(__CUDACC_RELAXED_CONSTEXPR__) || \
    !defined(__CUDACC_VER_BUILD__)
#error "what nvcc got"
#endif
static_assert(__CUDA_ARCH_LIST__ == 900);

constexpr int threads = 64;
__global__ void turn(int* x) {
  __shared__ int s[threads];
  assert(FLT_MAX > 1 && threads <= INT_MAX);
  s[threadIdx.x] = threadIdx.x;
#ifdef BROKEN
#undef __CUDA_ARCH_FEAT_SM90_ALL
#endif
#if __CUDA_ARCH_HAS_FEATURE__(SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(__CUDA_ARCH_SPECIFIC__ == 900);
  __syncthreads();
#endif
  x[threadIdx.x] = s[threads - 1 - threadIdx.x];  // FOUND: race or uninitialised memory read
}

int main() {
  int *x, got[threads], bad = 0;
  cudaMalloc(&x, sizeof got);
  turn<<<1, threads>>>(x);
  cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(x);
  for (int i = 0; i < threads; ++i) bad += got[i] != threads - 1 - i;
  std::string text = "brought along by cuda/barrier";
  return bad + text.empty();
}
