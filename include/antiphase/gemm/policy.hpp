// The values that select a GEMM kernel of the ladder.
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/kernel.hpp>

namespace antiphase::mm {

enum class copy_kind {
  registers,     // load into registers, store to shared memory after the computation
  asynchronous,  // cp.async
};
enum class layout {
  outer_major,  // [m][k]: a row of A after the other, as the textbook kernels have it
  k_major,      // [k][m]: what the threads of a step read lies side by side
};
// Which part of a kernel runs: a whole one, or only its loads or its computation, to measure Tl and Tc.
enum class parts { all, load_only, compute_only };

struct extent2 {
  int m, n;
  constexpr bool operator==(const extent2&) const = default;
};

// A block computes a tile of tile.m x tile.n outputs in steps of tile_k; a thread computes thread.m x thread.n of them.
struct policy {
  extent2 tile;
  int tile_k;
  extent2 thread = {1, 1};
  extent2 warp = {0, 0};                    // outputs of a warp, side by side; 0: threads are laid over the whole tile
  int stages = 1;
  copy_kind copy = copy_kind::registers;
  layout a = layout::outer_major;           // of A in shared memory; B is k_major
  int padding_a = 0, padding_b = 0;         // floats at the end of each row in shared memory
  int fragments = 1;                        // register copies of what the threads multiply: 1, or 2 to load one while the other is used
  int read_width = 1;                       // floats per read from shared memory and per write of C: 1 or 4
  int copy_width_a = 1, copy_width_b = 1;   // floats per copy into shared memory: 1 or 4
  shared_kind shared = shared_kind::fixed;
  int blocks = 1;                           // per multiprocessor, that the compiler leaves registers for
  parts run = parts::all;

  constexpr bool operator==(const policy&) const = default;
  constexpr int threads() const { return tile.m / thread.m * (tile.n / thread.n); }
};

// Whether rows of `per_round` floats cover a tile of outer x k, whichever of the two runs along a row.
constexpr bool copies_evenly(int outer, int k, int per_round) {
  return outer * k == per_round || (outer * k % per_round == 0 && per_round % outer == 0 && per_round % k == 0);
}

// Whether the numbers of a policy fit together; checked when a kernel is instantiated.
constexpr bool valid(const policy& p) {
  const bool positive = p.tile.m > 0 && p.tile.n > 0 && p.tile_k > 0 && p.thread.m > 0 && p.thread.n > 0 && p.stages > 0;
  if (!positive || p.tile.m % p.thread.m != 0 || p.tile.n % p.thread.n != 0) return false;
  const int threads = p.threads();
  const bool copies = copies_evenly(p.tile.m, p.tile_k, threads * p.copy_width_a) && copies_evenly(p.tile.n, p.tile_k, threads * p.copy_width_b);
  const bool widths = p.thread.m % p.read_width == 0 && p.thread.n % p.read_width == 0 &&
                      (p.read_width == 1 || (p.a == layout::k_major && p.padding_a % p.read_width == 0 && p.padding_b % p.read_width == 0)) &&
                      p.padding_a % p.copy_width_a == 0 && p.padding_b % p.copy_width_b == 0;
  const bool warps = p.warp == extent2{0, 0} || (p.tile.m % p.warp.m == 0 && p.tile.n % p.warp.n == 0 &&
                                                 p.warp.m / p.thread.m * (p.warp.n / p.thread.n) == 32);
  return threads % 32 == 0 && threads <= 1024 && copies && widths && warps && (p.fragments == 1 || p.fragments == 2);
}

// How the threads that work on one region (a warp's, or the whole tile) lie over it: threads.m x threads.n of them, each with packets of
// read_width outputs that repeat across the region.
constexpr extent2 region_of(const policy& p) { return p.warp == extent2{0, 0} ? p.tile : p.warp; }
constexpr extent2 threads_of(const policy& p) { return {region_of(p).m / p.thread.m, region_of(p).n / p.thread.n}; }

}  // namespace antiphase::mm
