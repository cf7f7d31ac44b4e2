// SPDX-License-Identifier: Apache-2.0
// Tiles come by cp.async, two stages ahead, so that no barrier ends an iteration. The results are then put
// into the memory of a tile that others still read.
#include <cstdint>

#include "buffer.h"

constexpr int tile = 64, tiles = 3;

__global__ void sums(const int* from, int* to) {
  __shared__ int stage[2][tile];
  const int t = threadIdx.x;
  const auto load = [&](int i) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                     static_cast<uint32_t>(__cvta_generic_to_shared(&stage[i % 2][t]))),
                 "l"(from + i * tile + t));
    asm volatile("cp.async.commit_group;");
  };
  int sum = 0;
  load(0);
  for (int i = 0; i < tiles; ++i) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    if (i + 1 < tiles) load(i + 1);
    for (int j = 0; j < 4; ++j) sum += stage[i % 2][(t + 16 * j) % tile];  // FOUND: race
  }
#ifndef BROKEN
  __syncthreads();
#endif
  stage[0][t] = sum;
  __syncthreads();
  if (t < 32) to[t] = stage[0][t] + stage[0][t + 32];
}

int main() {
  const buffer<int> from(tile * tiles, [](int i) { return i % tile / 16; }), to(32);
  sums<<<1, tile>>>(from, to);
  return to.differs([](int) { return 2 * tiles * (0 + 1 + 2 + 3); });
}
