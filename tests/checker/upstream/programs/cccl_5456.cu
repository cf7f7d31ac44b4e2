// SPDX-License-Identifier: Apache-2.0
// Merge sort: one kernel writes where each tile's parts begin, the next one, launched to overlap it, reads
// that and merges. Its wait comes after the read.
#include "buffer.h"

constexpr int tile = 64, tiles = 4;

__global__ void partition(int* begins) {
  cudaGridDependencySynchronize();
  begins[threadIdx.x] = threadIdx.x * tile;
}

__global__ void merge(const int* begins, const int* keys, int* to) {
#ifndef BROKEN
  cudaGridDependencySynchronize();
#endif
  const int first = begins[blockIdx.x], last = begins[blockIdx.x + 1];  // FOUND: race
#ifdef BROKEN
  cudaGridDependencySynchronize();
#endif
  for (int i = first + threadIdx.x; i < last; i += blockDim.x) to[i] = keys[i];
}

template <class... P, class... A> void launch(int blocks, int threads, void (*kernel)(P...), A... given) {
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how = {};
  how.gridDim = dim3(blocks), how.blockDim = dim3(threads), how.attrs = &overlap, how.numAttrs = 1;
  cudaLaunchKernelEx(&how, kernel, P(given)...);
}

int main() {
  const buffer<int> begins(tiles + 1), keys(tile * tiles, [](int i) { return i; }), to(tile * tiles);
  launch(1, tiles + 1, partition, begins.at);
  launch(tiles, 32, merge, begins.at, keys.at, to.at);
  return to.differs([](int i) { return i; });
}
