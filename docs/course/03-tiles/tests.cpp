// SPDX-License-Identifier: Apache-2.0
// Checks lab 3: right products of odd sizes, two loads of each thread and two barriers a pair of tiles.
#include "../lab.h"

int main() {
  using namespace lab;
  const recording r;
  for (const auto& p : std::vector<lab::product>{{1, 1, 1}, {9, 17, 19}, {8, 8, 16}}) {
    p.run(tile, [&](dim3 grid, const float* A, const float* B, float* C) {
      ::product<<<grid, dim3(tile, tile)>>>(A, B, C, p.m, p.n, p.k);
    });
    const int tiles = (p.k + tile - 1) / tile;
    const int loads = highest(done_by_all(r, p.blocks(tile), tile * tile), reads_global);
    const acts of = done_by(r, 0);
    demand(loads <= 2 * tiles, p.name(),
           "a thread loads %d elements from global memory: expected two for each of %d pairs of tiles", loads,
           tiles);
    demand(barriers(of) <= 2 * tiles, p.name(), "%d barriers: expected two for each of %d pairs of tiles",
           barriers(of), tiles);
  }
}
