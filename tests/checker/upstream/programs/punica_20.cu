// SPDX-License-Identifier: Apache-2.0
// A kernel is launched with as much dynamic shared memory as its pipeline needs. For more than 48 KiB the
// kernel's attribute has to be set, too.
#include "buffer.h"

constexpr int stages = 14, tile = 1024;

__global__ void sums(const int* from, int* to) {
  extern __shared__ int stage[];
  const int t = threadIdx.x;
  for (int i = t; i < stages * tile; i += blockDim.x) stage[i] = from[i];
  __syncthreads();
  int sum = 0;
  for (int i = t; i < stages * tile; i += blockDim.x) sum += stage[stages * tile - 1 - i];
  to[t] = sum;
}

int main() {
  const buffer<int> from(stages * tile, [](int i) { return i / tile; }), to(128);
  constexpr int bytes = stages * tile * sizeof(int);
#ifndef BROKEN
  cudaFuncSetAttribute(sums, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
#endif
  sums<<<1, 128, bytes>>>(from, to);  // FOUND: bad launch
  return to.differs([](int) { return tile / 128 * stages * (stages - 1) / 2; });
}
