// SPDX-License-Identifier: Apache-2.0
// Forms that libraries write: a host function with a kernel's name, dynamic shared memory as a structure, a
// member that begins with a library's name, constants as arguments of lambdas, numbers of 16 bits in PTX.
// Broken: a thread reads what others write to the structure, without a barrier.
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

struct context {
  cublasHandle_t handle = nullptr;
  cublasHandle_t cublas_handle() { return handle; }
  cublasHandle_t cublasOfContext() const { return handle; }
};
struct __CUDA_ALIGN__(16) four {
  float a[4];
};
template <int n> struct storage { int a[n]; };

template <int n> __global__ void reverse(int* p) {
  extern __shared__ __align__(alignof(storage<n>)) uint8_t memory[];
  auto& s = reinterpret_cast<storage<n>&>(memory);
  s.a[threadIdx.x] = p[threadIdx.x];
#ifndef BROKEN
  __syncthreads();
#endif
  p[threadIdx.x] = s.a[n - 1 - threadIdx.x] + (((storage<n>*)&memory)->a == s.a);  // FOUND: race
}
__global__ void twice(int* p) { p[threadIdx.x] *= 2; }
void twice(int* p, int threads) { twice<<<1, threads>>>(p); }

__global__ void powers(uint32_t* pairs, unsigned short* one) {
  uint32_t x = pairs[threadIdx.x], y, z;
  asm volatile("ex2.approx.f16x2 %0, %1;" : "=r"(y) : "r"(x));
  asm volatile("tanh.approx.f16x2 %0, %1;" : "=r"(z) : "r"(x & 0xffff));
  pairs[threadIdx.x] = y + (z >> 16);
  asm volatile("ex2.approx.ftz.bf16 %0, %1;" : "=h"(one[threadIdx.x]) : "h"(one[threadIdx.x]));
}

int main() {
  context c;
  const void* const of_kernel = (const void*)powers;
  cudaFuncAttributes about;
  if (cudaFuncGetAttributes(&about, of_kernel) != cudaSuccess || about.maxThreadsPerBlock < 32) return 1;
  const char* said = nullptr;
  if (cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &said) != CUDA_SUCCESS || said == nullptr) return 1;
  if (cuGetErrorName(CUDA_SUCCESS, &said) != CUDA_SUCCESS || std::strcmp(said, "CUDA_SUCCESS") != 0) return 1;
  if (c.cublas_handle() != c.cublasOfContext() || alignof(four) != 16) return 1;

  int h[64], *d;
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  const auto launch = [&](auto n) { reverse<n><<<1, 64, 64 * sizeof(int)>>>(d); };
  launch(std::integral_constant<int, 64>{});
  twice(d, 64);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; ++i)
    if (h[i] != 2 * (63 - i + 1)) return 1;

  uint32_t pair = 0x40003c00, *pairs;    // 2 and 1, of half
  unsigned short number = 0x4040, *one;  // 3, of bfloat16
  cudaMalloc(&pairs, sizeof pair);
  cudaMalloc(&one, sizeof number);
  cudaMemcpy(pairs, &pair, sizeof pair, cudaMemcpyHostToDevice);
  cudaMemcpy(one, &number, sizeof number, cudaMemcpyHostToDevice);
  powers<<<1, 1>>>(pairs, one);
  cudaMemcpy(&pair, pairs, sizeof pair, cudaMemcpyDeviceToHost);
  cudaMemcpy(&number, one, sizeof number, cudaMemcpyDeviceToHost);
  if (pair != 0x44004000 || number != 0x4100) return 1;  // 4 and 2; 8
  cudaFree(d);
  cudaFree(pairs);
  cudaFree(one);
}
