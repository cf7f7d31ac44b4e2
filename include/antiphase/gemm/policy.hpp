// SPDX-License-Identifier: Apache-2.0
// The values that select a GEMM kernel of the ladder.
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/kernel.hpp>

namespace antiphase::gemms {

enum class copy_kind {
  registers,     // load into registers, store to shared memory after the computation
  asynchronous,  // cp.async
};
enum class layout {
  outer_major,  // [m][k]: row after row of A, as in textbook kernels
  k_major,      // [k][m]: the values that threads read in a step are contiguous
};
// The part of a kernel that runs: all, or only its loads or its computation, to measure Tl and Tc.
enum class parts { all, load_only, compute_only };

struct extent2 {
  int m, n;
  constexpr bool operator==(const extent2&) const = default;
};

// The index along which an operand is known to be contiguous in global memory.
enum class contiguous { outer, k, neither };

// The layout of one operand in shared memory, and how it is copied there.
struct operand_policy {
  layout order = layout::k_major;
  int padding = 0;  // floats at the end of each row
  // floats per copy: 1 or 4; with 4 along k and k-major tiles, threads transpose 4 x 4 in registers
  int copy_width = 1;
  contiguous along = contiguous::neither;  // neither: any strides will do
  constexpr bool operator==(const operand_policy&) const = default;
  constexpr bool transposed() const {
    return copy_width == 4 && along == contiguous::k && order == layout::k_major;
  }
};

// A block computes a tile of tile.m x tile.n outputs in steps of tile_k; a thread computes thread.m x
// thread.n of them.
struct policy {
  extent2 tile = {1, 1};
  int tile_k = 1;
  extent2 thread = {1, 1};
  extent2 warp = {0, 0};  // contiguous outputs of a warp; 0: threads are spread over the whole tile
  int stages = 1;
  copy_kind copy = copy_kind::registers;
  bool stores_first = false;  // registers are stored as soon as they are loaded, before the computation
  operand_policy a = {}, b = {};
  // register buffers of the operands: 1, or 2 to load one while the other is used
  int fragments = 1;
  int read_width = 1;  // floats per read from shared memory and per write of C: 1 or 4
  shared_kind shared = shared_kind::fixed;
  int blocks = 1;  // resident per multiprocessor, that the compiler limits registers for
  int unroll = 0;  // values of k for which the loop over a tile is unrolled; 0: all
  // of every tile along k, each computed by threads of its own: an output is the sum of this many sums
  int slices = 1;
  int min_tiles = 0;  // tiles of C below which a variant with smaller tiles is the better choice
  parts run = parts::all;

  constexpr bool operator==(const policy&) const = default;
  constexpr int slice_threads() const { return tile.m / thread.m * (tile.n / thread.n); }
  constexpr int threads() const { return slice_threads() * slices; }
  constexpr int slice_k() const { return tile_k / slices; }
  constexpr int unrolled() const { return unroll > 0 ? unroll : slice_k(); }
};

constexpr int side_by_side(const operand_policy& o, int outer, int k) {
  return o.order == layout::k_major ? outer : k;
}

// Whether the numbers of one operand fit together: threads copy its tile in whole rounds that end with a
// contiguous run, and every packet is aligned.
constexpr bool valid(const operand_policy& o, int outer, int k, int threads, int read_width) {
  // blocks of 4 x 4, in pairs of rows of blocks; with fewer blocks than threads, some threads have none
  if (o.transposed()) {
    const int blocks = outer / 4 * (k / 4), loading = blocks < threads ? blocks : threads;
    return k % 4 == 0 && outer % 8 == 0 && o.padding % 4 == 0 && blocks % loading == 0 &&
           loading % (k / 2) == 0;
  }
  const int round = threads * o.copy_width, row = side_by_side(o, outer, k);
  const bool whole_rounds = outer * k % round == 0;
  const bool whole_runs =
      o.along == contiguous::neither
          ? o.copy_width == 1 && (outer * k == round || (round % outer == 0 && round % k == 0))
          : round % (o.along == contiguous::k ? k : outer) == 0;
  const bool straight = o.copy_width == 1 || (o.along == contiguous::k) == (o.order == layout::outer_major);
  const bool aligned = (row + o.padding) % (o.copy_width > read_width ? o.copy_width : read_width) == 0 ||
                       (o.copy_width == 1 && read_width == 1);
  return whole_rounds && whole_runs && straight && aligned;
}

// Whether the numbers of a policy fit together; checked when a kernel is instantiated.
constexpr bool valid(const policy& p) {
  const bool positive = p.tile.m > 0 && p.tile.n > 0 && p.tile_k > 0 && p.thread.m > 0 && p.thread.n > 0 &&
                        p.stages > 0 && p.slices > 0;
  if (!positive || p.tile.m % p.thread.m != 0 || p.tile.n % p.thread.n != 0) return false;
  const int threads = p.threads();
  const bool reads = p.read_width == 1 || (p.thread.m % p.read_width == 0 && p.thread.n % p.read_width == 0 &&
                                           p.a.order == layout::k_major && p.b.order == layout::k_major);
  const bool warps = p.warp == extent2{0, 0} || (p.tile.m % p.warp.m == 0 && p.tile.n % p.warp.n == 0 &&
                                                 p.warp.m / p.thread.m * (p.warp.n / p.thread.n) == 32);
  const bool slices = p.slices == 1 || (p.slice_threads() % 32 == 0 && p.tile_k % p.slices == 0);
  const bool unrolls = p.slice_k() % p.unrolled() == 0 && p.unrolled() % p.fragments == 0;
  const bool asynchronous = p.copy == copy_kind::asynchronous,
             stages = (asynchronous || (!p.a.transposed() && !p.b.transposed())) &&
                      (!p.stores_first || (!asynchronous && p.stages == 2));
  return threads % 32 == 0 && threads <= 1024 && reads && warps && slices && unrolls && stages &&
         (p.fragments == 1 || p.fragments == 2) && valid(p.a, p.tile.m, p.tile_k, threads, p.read_width) &&
         valid(p.b, p.tile.n, p.tile_k, threads, p.read_width);
}

// The region of a group of threads (a warp's part of the tile, or the whole tile), and the arrangement of
// threads over it: m x n of them, each with packets of read_width outputs that repeat across the region.
constexpr extent2 region_of(const policy& p) { return p.warp == extent2{0, 0} ? p.tile : p.warp; }
constexpr extent2 threads_of(const policy& p) {
  return {region_of(p).m / p.thread.m, region_of(p).n / p.thread.n};
}

}  // namespace antiphase::gemms
