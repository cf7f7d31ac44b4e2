// SPDX-License-Identifier: Apache-2.0
// Checks lab 11: right products, 16-byte loads, and two accesses to shared memory for 16 multiply-adds.
#include "../lab.h"

int main() {
  using namespace lab;
  const recording r;
  for (const auto& p : std::vector<lab::product>{{1, 4, 4}, {35, 36, 20}, {32, 32, 24}}) {
    p.run(tile, [&](dim3 grid, const float* A, const float* B, float* C) {
      ::product<<<grid, dim3(side, side)>>>(A, B, C, p.m, p.n, p.k);
    });
    const int tiles = (p.k + depth - 1) / depth;
    const std::vector<acts> all = done_by_all(r, p.blocks(tile), side * side);
    const int loads = highest(all, reads_global), reads = highest(all, reads_shared),
              met = barriers(all.front());
    demand(
        loads <= 2 * tiles, p.name(),
        "a thread loads %d times from global memory: expected 16 bytes of A and of B for each of %d pairs of "
        "tiles",
        loads, tiles);
    demand(reads <= 2 * depth * tiles, p.name(),
           "a thread reads shared memory %d times: expected 16 bytes of A and of B for each of %d k, which "
           "serve "
           "16 multiply-adds",
           reads, depth * tiles);
    demand(met <= 2 * tiles, p.name(), "%d barriers: expected two for each of %d pairs of tiles", met, tiles);
  }
}
