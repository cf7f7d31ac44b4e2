// SPDX-License-Identifier: Apache-2.0
// Tiles by cp.async, three stages. The wait stands in front of the commit, so that it counts one group too
// few as in flight, and the next tile may not have landed.
#include <cstdint>

#include "buffer.h"

constexpr int tile = 32, tiles = 6, stages = 3;

__global__ void copies(const int* from, int* to) {
  __shared__ int stage[stages][tile];
  const int t = threadIdx.x;
  const auto load = [&](int i) {
    if (i < tiles)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                       static_cast<uint32_t>(__cvta_generic_to_shared(&stage[i % stages][t]))),
                   "l"(from + i * tile + t));
  };
  const auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };
  for (int i = 0; i < stages - 1; ++i) load(i), commit();
  asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
  __syncthreads();
  for (int i = 0; i < tiles; ++i) {
    load(i + stages - 1);
#ifndef BROKEN
    commit();
#endif
    to[i * tile + t] = stage[i % stages][tile - 1 - t];  // FOUND: read before landing
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
#ifdef BROKEN
    commit();
#endif
    __syncthreads();
  }
}

int main() {
  const buffer<int> from(tile * tiles, [](int i) { return i; }), to(tile * tiles);
  copies<<<1, tile>>>(from, to);
  return to.differs([](int i) { return i / tile * tile + tile - 1 - i % tile; });
}
