// SPDX-License-Identifier: Apache-2.0
// Checks lab 6: rings of 1 to 4 stages, with fewer tiles than slots and more; as many copies on their way.
#include "../lab.h"

template <int stages> void check(const lab::recording& r) {
  using namespace lab;
  for (const auto& p : std::vector<lab::product>{{3, 5, 7}, {7, 9, 49}}) {
    const std::string name = text("stages = %d, ", stages) + p.name();
    p.run(tile, [&](dim3 grid, const float* A, const float* B, float* C) {
      ::product<stages><<<grid, dim3(tile, tile)>>>(A, B, C, p.m, p.n, p.k);
    });
    const int tiles = (p.k + tile - 1) / tile, ahead = std::min(stages - 1, tiles - 1);
    const auto all = done_by_all(r, p.blocks(tile), tile * tile);
    demand(highest(all, reads_global) == 0, name,
           "a thread loads from global memory itself: expected asynchronous copies alone");
    demand_under_way(name, all, tiles, ahead);
    const int met = barriers(all.front());
    demand(met <= (stages == 1 ? 2 : 1) * tiles + 1, name, "%d barriers: expected one for each of %d tiles",
           met, tiles);
  }
  unsigned long one = 0;  // ticks of one tile
  for (const int tiles : {1, 12}) {
    const lab::product p{tile, tile, tiles * tile};
    p.run(tile, [&](dim3 grid, const float* A, const float* B, float* C) {
      ::product<stages><<<grid, dim3(tile, tile)>>>(A, B, C, p.m, p.n, p.k);
    });
    if (tiles == 1) one = r.ticks(0, 0);
    if (tiles > 1)
      in_time(text("stages = %d, ", stages) + p.name(), one, r.ticks(0, 0), tiles, std::max(1, stages - 1));
  }
}

int main() {
  const lab::recording r;
  check<1>(r), check<2>(r), check<3>(r), check<4>(r);
}
