// SPDX-License-Identifier: Apache-2.0
// Checks lab 4: right products, one barrier a tile, and loads that are on their way during the computation.
#include "../lab.h"

namespace {

// The line that stores a number before a tile was used since its load; 0: none. Numbers are stored in the
// order of their loads; what is stored before the first computation is the beginning.
int early_store(const lab::acts& of) {
  constexpr unsigned long used = 2 * tile * sizeof(float);  // bytes that a thread reads of a pair of tiles
  std::vector<unsigned long> read_before;  // for each four bytes loaded: those read until then
  unsigned long read = 0, stored = 0;
  for (const lab::act& a : of) {
    if (lab::reads_global(a)) read_before.insert(read_before.end(), a.bytes / 4, read);
    if (lab::reads_shared(a)) read += a.bytes;
    if (!a.shared || !a.writes()) continue;
    for (unsigned long end = stored + a.bytes / 4; stored < end; ++stored)
      if (read > 0 && stored < read_before.size() && read - read_before[stored] < used) return a.line;
  }
  return 0;
}

}  // namespace

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
    const int loads = highest(done_by_all(r, p.blocks(tile), tile * tile), reads_global);
    demand(loads <= 2 * tiles, p.name(),
           "a thread loads %d elements from global memory: expected two for each of %d pairs of tiles", loads,
           tiles);
    for (const acts& one : done_by_all(r, 1, tile * tile)) {
      const int line = early_store(one);
      demand(
          line == 0, p.name(),
          "line %d stores a number that was loaded just before, so that its warp waits for the load there: "
          "expected the whole computation with a tile between load and store",
          line);
    }
  }
}
