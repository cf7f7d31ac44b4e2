// SPDX-License-Identifier: Apache-2.0
// Checks lab 4: right products, one barrier a tile, and loads that are on their way during the computation.
#include "../lab.h"

#include <limits>

namespace {

constexpr unsigned long used = 2 * tile * sizeof(float);  // bytes that a thread reads of a pair of tiles

// The line that stores a number before a tile was used since its load; 0: none. Numbers are stored in the
// order of their loads; what is stored before the first computation is the beginning.
int early_store(const lab::acts& of) {
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

// The line that loads a number which is computed with before the first tile was used; 0: none. All numbers of
// the second tile are signaling NaNs: they can be moved, but the first arithmetic with one, a comparison too,
// is an invalid operation.
int early_use(const lab::acts& of) {
  unsigned long read = 0;
  int loaded = 0;
  for (const lab::act& a : of) {
    if (lab::reads_global(a)) loaded = a.line;
    if (lab::reads_shared(a)) read += a.bytes;
    if (a.is("invalid operation")) return read < used ? loaded : 0;
  }
  return 0;
}

void demand_late_use(const lab::recording& r) {
  using namespace lab;
  std::vector<float> a(2 * tile * tile, 1), b(2 * tile * tile, 1);
  constexpr float nan = std::numeric_limits<float>::signaling_NaN();
  for (std::size_t i = 0; i < tile * tile; ++i)
    a[i / tile * 2 * tile + tile + i % tile] = b[tile * tile + i] = nan;
  const array<float> on_a(a), on_b(b), c(tile * tile);
  ::product<<<1, dim3(tile, tile)>>>(on_a, on_b, c, tile, tile, 2 * tile);
  cudaDeviceSynchronize();
  for (const acts& one : done_by_all(r, 1, tile * tile)) {
    const int line = early_use(one);
    demand(
        line == 0, text("M x N x K = %d x %d x %d", tile, tile, 2 * tile),
        "what line %d loads is computed with before the tile in use has been, so that its warp waits for the "
        "load there: expected the whole computation with a tile between a load and the first use of its "
        "result",
        line);
  }
}

}  // namespace

int main() {
  using namespace lab;
  const recording r;
  for (const auto& p : std::vector<lab::product>{{1, 1, 1}, {9, 17, 19}, {8, 8, 40}}) {
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
  demand_late_use(r);
}
