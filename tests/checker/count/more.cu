// SPDX-License-Identifier: Apache-2.0
// Kernels with known counts, of what kernels.cu lacks: see there.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

__constant__ float weights[32];

struct three {
  float a, b, c;
};

__device__ __noinline__ float sum_of(const float* x, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += x[32 * i];  // global read 3 x 64: 8 of 8
  return sum;
}

__global__ void calls(const float* x, float* y) {
  const int t = threadIdx.x;
  y[t] = sum_of(x + t, t < 16 ? 3 : 1);  // global write 1 x 32: 4 of 4
}

__global__ void constants(const float* x, float* y) {
  const int t = threadIdx.x;
  const float w = weights[0];  // constant read 1 x 32: 1 of 1
  y[t] = w * __ldg(x + t);     // global read 1 x 32: 4 of 4; global write 1 x 32: 4 of 4
}

__global__ void copies(const float* x, float* y) {
  __shared__ __align__(16) float s[128];
  const int t = threadIdx.x, i = 4 * t;
  // clang-format off
  __pipeline_memcpy_async(s + i, x + i, 16);  // global async copy 1 x 32: 16 of 16; shared async copy 1 x 32: 4 of 4
  // clang-format on
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  y[t] = s[t];  // shared read 1 x 32: 1 of 1; global write 1 x 32: 4 of 4
}

// Structs of 12 bytes take three instructions.
__global__ void structs(const three* x, three* y) {
  const int t = threadIdx.x;
  y[t] = x[t];  // global read 3 x 96: 36 of 12; global write 3 x 96: 36 of 12
}

__global__ void atomics(int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;  // shared write 1 x 1: 1 of 1
  __syncthreads();
  if (threadIdx.x < 24) atomicAdd(&n, 1);  // shared atomic 1 x 24
  __syncthreads();
  if (threadIdx.x == 0) y[0] = n;  // shared read 1 x 1: 1 of 1; global write 1 x 1: 1 of 1
}

// Half a warp meets after its branch; what all did before stays together, and what all do after it.
__global__ void half_meets(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];  // shared write 2 x 48: 2 of 2; global read 2 x 48: 6 of 6
  if (t < 16) {
    __syncwarp(0xffff);
    const float v = s[15 - t];  // shared read 1 x 16: 1 of 1
    __syncwarp(0xffff);
    s[t] = v;  // shared write 1 x 16: 1 of 1
  }
  __syncthreads();
  y[t] = s[t];  // shared read 2 x 48: 2 of 2; global write 2 x 48: 6 of 6
}

int main() {
  float *x, *y;
  int* n;
  cudaMalloc(&x, 4096 * sizeof(float));
  cudaMalloc(&y, 4096 * sizeof(float));
  cudaMalloc(&n, sizeof(int));
  cudaMemset(x, 0, 4096 * sizeof(float));
  calls<<<1, 32>>>(x, y);
  constants<<<1, 32>>>(x, y);
  copies<<<1, 32>>>(x, y);
  structs<<<1, 32>>>(reinterpret_cast<three*>(x), reinterpret_cast<three*>(y));
  atomics<<<1, 32>>>(n);
  half_meets<<<1, 48>>>(x, y);
  const bool failed = cudaDeviceSynchronize() != cudaSuccess;
  cudaFree(x);
  cudaFree(y);
  cudaFree(n);
  return failed ? 1 : 0;
}
