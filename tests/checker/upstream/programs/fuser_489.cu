// SPDX-License-Identifier: Apache-2.0
// Two sums of a block, one after the other, by the same shared memory. The second one's warps store their
// parts while others still read the first one's.
#include "buffer.h"

__device__ int sum_of_block(int v, int* shared) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0u, v, by);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;  // FOUND: overwritten in use
  __syncthreads();
  int sum = 0;
  for (unsigned i = 0; i < blockDim.x / 32; ++i) sum += shared[i];
#ifndef BROKEN
  __syncthreads();
#endif
  return sum;
}

__global__ void centred(const int* from, int* to) {
  __shared__ int shared[4];
  const int t = threadIdx.x, v = from[blockIdx.x * 128 + t];
  const int sum = sum_of_block(v, shared), squares = sum_of_block(v * v, shared);
  to[blockIdx.x * 128 + t] = squares - sum;
}

int main() {
  const buffer<int> from(256, [](int i) { return i % 2; }), to(256);
  centred<<<2, 128>>>(from, to);
  return to.differs([](int) { return 0; });
}
