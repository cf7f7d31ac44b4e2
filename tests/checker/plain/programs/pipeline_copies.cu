// SPDX-License-Identifier: Apache-2.0
// A tile copied by asynchronous copies; broken: the wait is missing.
#include <cuda_pipeline.h>

__global__ void reverse(const float4* x, float4* y) {
  __shared__ float4 tile[32];
  __pipeline_memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], sizeof(float4));
  __pipeline_commit();
#ifndef BROKEN
  __pipeline_wait_prior(0);
#endif
  __syncthreads();
  y[threadIdx.x] = tile[31 - threadIdx.x];  // FOUND: read before landing
}

int main() {
  float h[128];
  float4 *x, *y;
  for (int i = 0; i < 128; ++i) h[i] = i;
  cudaMalloc(&x, sizeof h), cudaMalloc(&y, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  reverse<<<1, 32>>>(x, y);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
#ifndef BROKEN
  return h[0] == 124 && h[127] == 3 ? 0 : 1;
#endif
}
