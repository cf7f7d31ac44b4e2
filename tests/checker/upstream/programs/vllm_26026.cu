// SPDX-License-Identifier: Apache-2.0
// One warp loads tiles, another computes, and both meet after each tile. For a tile without work the
// computing warp only arrives at that barrier, and arrives again for the next tile before the other has come.
#include "buffer.h"

constexpr int tiles = 6;

__global__ void sums(const int* work, const int* from, int* to) {
  __shared__ int slot[32];
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < tiles; ++i) {
    if (threadIdx.x >= 32) {
      if (work[i]) {
        slot[lane] = from[i * 32 + lane];
        asm volatile("bar.arrive 2, 64;" ::: "memory");
      }
      asm volatile("bar.sync 1, 64;" ::: "memory");
      continue;
    }
    if (!work[i]) {
#ifdef BROKEN
      asm volatile("bar.arrive 1, 64;" ::: "memory");
#else
      asm volatile("bar.sync 1, 64;" ::: "memory");
#endif
      continue;
    }
    asm volatile("bar.sync 2, 64;" ::: "memory");
    to[i * 32 + lane] = slot[lane] + slot[31 - lane];
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
}

int main() {
  const auto worth = [](int i) { return i == 0 || i == 4; };
  const buffer<int> work(tiles, worth), from(tiles * 32, [](int i) { return i % 32; }), to(tiles * 32);
  sums<<<1, 64>>>(work, from, to);
  return to.differs([&](int i) { return worth(i / 32) ? 31 : 0; });
}
// FOUND SOMEWHERE: deadlock
