// SPDX-License-Identifier: Apache-2.0
// Two warps compute and one loads: they say by bar.arrive that a tile has been read, and go on. They arrive
// for the next tile at the same barrier before the loading warp has been there for this one.
#include <cstdint>

#include "buffer.h"

constexpr int tile = 64, tiles = 6;

__global__ void sums(const int* from, int* to) {
  __shared__ int slot[2][tile];
  __shared__ uint64_t full[2];
  const auto at = [](const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); };
  const int t = threadIdx.x;
  if (t < 2) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at(&full[t])));
  __syncthreads();
  if (t >= tile) {
    for (int i = 0; i < tiles; ++i) {
      const int read = i % 2 == 0 ? 1 : 5;
#ifdef BROKEN
      if (i >= 2) asm volatile("barrier.cta.sync 1, 96;" ::: "memory");
#else
      if (i >= 2) asm volatile("barrier.cta.sync %0, 96;" ::"r"(read) : "memory");
#endif
      for (int j = t - tile; j < tile; j += 32)
        slot[i % 2][j] = from[i * tile + j];  // FOUND: overwritten in use
      asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at(&full[i % 2])) : "memory");
    }
    return;
  }
  for (int i = 0; i < tiles; ++i) {
    const int read = i % 2 == 0 ? 1 : 5;
    asm volatile(
        "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra again;\n}" ::"r"(
            at(&full[i % 2])),
        "r"(i / 2 % 2)
        : "memory");
    to[i * tile + t] = slot[i % 2][t] + slot[i % 2][tile - 1 - t];
#ifdef BROKEN
    if (i + 2 < tiles) asm volatile("barrier.cta.arrive 1, 96;" ::: "memory");
#else
    if (i + 2 < tiles) asm volatile("barrier.cta.arrive %0, 96;" ::"r"(read) : "memory");
#endif
  }
}

int main() {
  const buffer<int> from(tile * tiles, [](int i) { return 3 * i; }), to(tile * tiles);
  sums<<<1, tile + 32>>>(from, to);
  return to.differs([](int i) { return 3 * (2 * (i / tile) * tile + tile - 1); });
}
