// SPDX-License-Identifier: Apache-2.0
// cuda::memcpy_async is bound to one cuda::barrier, and cuda::aligned_size_t guarantees addresses and a size.
// Broken: another barrier is waited for; a source is not aligned as guaranteed.
#include <cooperative_groups.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void two_barriers(const int* from, int* to) {
  __shared__ alignas(16) int tile[2][64];
  __shared__ barrier one, two;
  const cg::thread_block block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&one, 64), init(&two, 64);
  block.sync();
  cuda::memcpy_async(block, tile[0], from, cuda::aligned_size_t<16>(256), one);
  cuda::memcpy_async(block, tile[1], from + 64, sizeof tile[1], two);
#ifdef BROKEN
  two.arrive_and_wait();
#else
  one.arrive_and_wait();
#endif
  to[threadIdx.x] = tile[0][63 - threadIdx.x];  // FOUND: read before landing or race
#ifdef BROKEN
  one.arrive_and_wait();
#else
  two.arrive_and_wait();
#endif
}
__global__ void to_global(const int* from, int* to) {  // not by copy engines, but allowed
  __shared__ barrier done;
  if (threadIdx.x == 0) init(&done, 32);
  __syncthreads();
  cuda::memcpy_async(&to[threadIdx.x], &from[threadIdx.x], sizeof(int), done);
  done.arrive_and_wait();
  if (to[31 - threadIdx.x] == -1) __trap();
}
__global__ void source(const int* from) {
  __shared__ alignas(16) int tile[64];
  __shared__ barrier landed;
  if (threadIdx.x == 0) init(&landed, 32);
  __syncthreads();
#ifdef BROKEN
  ++from;
#endif
  if (threadIdx.x == 0)
    cuda::memcpy_async(tile, from, cuda::aligned_size_t<16>(128), landed);  // FOUND: bad copy
  landed.arrive_and_wait();
}
int main() {
  int host[128], result[64], *from, *to;
  for (int i = 0; i < 128; ++i) host[i] = i;
  cudaMalloc(&from, sizeof host), cudaMalloc(&to, sizeof host);
  cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice);
  two_barriers<<<1, 64>>>(from, to);
  cudaMemcpy(result, to, sizeof result, cudaMemcpyDeviceToHost);
  to_global<<<1, 32>>>(from, to);
  source<<<1, 32>>>(from);
  cudaDeviceSynchronize();
  cudaFree(from), cudaFree(to);
#ifndef BROKEN
  return result[0] == 63 && result[63] == 0 ? 0 : 1;
#endif
}
