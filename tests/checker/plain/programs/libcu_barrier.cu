// SPDX-License-Identifier: Apache-2.0
// A barrier in shared memory that waits for copies; broken: data are read before the wait.
#include <cuda/barrier>

__global__ void reverse(const int* from, int* to) {
  __shared__ cuda::barrier<cuda::thread_scope_block> landed;
  __shared__ int tile[64];
  if (threadIdx.x == 0) init(&landed, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&tile[threadIdx.x], &from[threadIdx.x], sizeof(int), landed);
  auto token = landed.arrive();
#ifndef BROKEN
  landed.wait(std::move(token));
#endif
  to[threadIdx.x] =
      tile[63 - threadIdx.x];  // FOUND: read before landing or race or uninitialised memory read
#ifdef BROKEN
  landed.wait(std::move(token));
#endif
}

int main() {
  int h[64], *from, *to;
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMalloc(&from, sizeof h), cudaMalloc(&to, sizeof h);
  cudaMemcpy(from, h, sizeof h, cudaMemcpyHostToDevice);
  reverse<<<1, 64>>>(from, to);
  cudaMemcpy(h, to, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(from), cudaFree(to);
#ifndef BROKEN
  return h[0] == 63 && h[60] == 3 ? 0 : 1;
#endif
}
