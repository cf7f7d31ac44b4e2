// SPDX-License-Identifier: Apache-2.0
// Checks lab 5: right products, asynchronous copies alone, and a tile on its way while another is used.
#include "../lab.h"

int main() {
  using namespace lab;
  const recording r;
  for (const auto& p : std::vector<lab::product>{{1, 1, 1}, {9, 17, 19}, {8, 8, 40}}) {
    p.run(tile, [&](dim3 grid, const float* A, const float* B, float* C) {
      ::product<<<grid, dim3(tile, tile)>>>(A, B, C, p.m, p.n, p.k);
    });
    const int tiles = (p.k + tile - 1) / tile;
    const acts of = done_by(r, 0);
    demand(highest(done_by_all(r, p.blocks(tile), tile * tile), reads_global) == 0, p.name(),
           "a thread loads from global memory itself: expected asynchronous copies alone");
    demand_under_way(p.name(), done_by_all(r, p.blocks(tile), tile * tile), tiles, 1);
    demand(barriers(of) <= 2 * tiles, p.name(), "%d barriers: expected at most two a tile", barriers(of));
  }
}
