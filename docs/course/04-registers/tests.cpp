// SPDX-License-Identifier: Apache-2.0
// Checks lab 4: right products, one barrier a tile, and loads that are on their way during the computation.
#include "../lab.h"

int main() {
  using namespace lab;
  // Infinity times 0 is NaN: so it shows if a number of the next tile is used before this tile's are.
  lab::product late{8, 8, 2 * tile};
  std::ranges::fill(late.a, 1.f), std::ranges::fill(late.b, 1.f);
  for (std::size_t y = 0; y < 8; ++y) late.a[(2 * y + 1) * tile + y] = late.b[(tile + y) * 8 + y] = INFINITY;
  late.more = ", with infinity in the second tile, which becomes NaN if it is used before that tile's turn";
  const recording r;
  for (const auto& p : std::vector<lab::product>{{1, 1, 1}, {9, 17, 19}, {8, 8, 40}, late}) {
    p.run(tile, [&](dim3 grid, const float* A, const float* B, float* C) {
      ::product<<<grid, dim3(tile, tile)>>>(A, B, C, p.m, p.n, p.k);
    });
    const int tiles = (p.k + tile - 1) / tile;
    const acts of = done_by(r, 0);
    demand(barriers(of) <= tiles + 1, p.name(), "%d barriers: expected one for each of %d pairs of tiles",
           barriers(of), tiles);
    const int loads = count(of, reads_global);
    demand(loads <= 2 * tiles, p.name(),
           "a thread loads %d elements from global memory: expected two for each of %d pairs of tiles", loads,
           tiles);
    // Between the load of a number and its store lies the computation with a tile before. Numbers are stored
    // in the order of their loads; what is stored before the first computation is the beginning.
    unsigned long loaded = 0, loaded_before = 0, stored = 0;  // bytes; before: the latest computation
    int early = 0, line = 0;
    for (const act& a : of) {
      if (reads_global(a)) loaded += a.bytes;
      if (reads_shared(a)) loaded_before = loaded;
      if (!a.shared || !a.writes()) continue;
      stored += a.bytes;
      if (loaded_before > 0 && stored > loaded_before && stored <= loaded) ++early, line = a.line;
    }
    demand(early == 0, p.name(),
           "line %d stores a number that was loaded just before, so that its warp waits for the load there: "
           "expected the computation between load and store",
           line);
  }
}
