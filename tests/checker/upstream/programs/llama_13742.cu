// SPDX-License-Identifier: Apache-2.0
// Each warp looks at the whole mask of a tile, and skips it where all is masked out. The first to skip stores
// the next mask, by which others then decide.
#include "buffer.h"

constexpr int tile = 64, tiles = 6;

__global__ void masked_sum(const int* mask, const int* from, int* to) {
  __shared__ int kept[tile];
  const int t = threadIdx.x;
  int sum = 0;
  for (int i = 0; i < tiles; ++i) {
    kept[t] = mask[i * tile + t];  // FOUND: overwritten in use
    __syncthreads();
    bool skip = true;
    for (int j = t % 32; j < tile; j += 32) skip = skip && kept[j] == 0;
    if (__all_sync(~0u, skip)) {
#ifndef BROKEN
      __syncthreads();
#endif
      continue;
    }
    for (int j = 0; j < tile; ++j) sum += kept[j] * from[i * tile + j];
    __syncthreads();
  }
  to[t] = sum;
}

int main() {
  const auto shown = [](int i) { return i / tile % 3 == 0; };
  const buffer<int> mask(tile * tiles, shown), from(tile * tiles, [](int) { return 1; }), to(tile);
  masked_sum<<<1, tile>>>(mask, from, to);
  return to.differs([](int) { return 2 * tile; });
}
