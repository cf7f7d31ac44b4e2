// SPDX-License-Identifier: Apache-2.0
// Checks lab 4: right products, one barrier a tile, and loads that are on their way during the computation.
#include "../lab.h"

#include <algorithm>
#include <cstring>

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

// The line that loads a number which is computed with before a tile was used since; 0: none. All numbers of
// the last tile are signaling NaNs: they can be moved, but the first arithmetic with one, a comparison too,
// is an invalid operation. What is done with their bits, compared, stored or handed to other lanes, as they
// are or changed, shows in the threads' digests: these differ from those of a launch with other numbers,
// though not from those of a launch with the same.
int early_use(const lab::acts& of, const lab::acts& again, const lab::acts& with_others) {
  unsigned long read = 0, read_before = 0;
  int loaded = 0;
  for (std::size_t i = 0; i < std::min({of.size(), again.size(), with_others.size()}); ++i) {
    const lab::act& a = of[i];
    const bool repeats = a.kind == again[i].kind && a.number == again[i].number;
    if (a.is("invalid operation") || (lab::accesses(a) && repeats && a.number != with_others[i].number))
      return read > 0 && read - read_before < used ? loaded : 0;
    if (lab::reads_global(a)) loaded = a.line, read_before = read;
    if (lab::reads_shared(a)) read += a.bytes;
  }
  return 0;
}

void demand_late_use(const lab::recording& r) {
  using namespace lab;
  constexpr int depth = 3 * tile;
  std::vector<float> a(tile * depth, 1), b(depth * tile, 1);
  const array<float> on_a(a), on_b(b), c(tile * tile);
  const auto launch_with = [&](unsigned bits) {
    for (std::size_t i = 0; i < tile * tile; ++i)
      for (float* const one : {&a[i / tile * depth + 2 * tile + i % tile], &b[2 * tile * tile + i]})
        std::memcpy(one, &bits, sizeof bits);
    cudaMemcpy(on_a, a.data(), a.size() * sizeof bits, cudaMemcpyHostToDevice);
    cudaMemcpy(on_b, b.data(), b.size() * sizeof bits, cudaMemcpyHostToDevice);
    ::product<<<1, dim3(tile, tile)>>>(on_a, on_b, c, tile, tile, depth);
    cudaDeviceSynchronize();
    return done_by_all(r, 1, tile * tile);
  };
  constexpr unsigned nan = 0x7FA00000;
  const std::vector<acts> of = launch_with(nan), with_others = launch_with(~nan), again = launch_with(nan);
  for (std::size_t t = 0; t < of.size(); ++t) {
    const int line = early_use(of[t], again[t], with_others[t]);
    demand(
        line == 0, text("M x N x K = %d x %d x %d", tile, tile, depth),
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
