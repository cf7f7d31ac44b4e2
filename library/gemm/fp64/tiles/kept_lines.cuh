// SPDX-License-Identifier: Apache-2.0
// fp64 products with small K and many outputs, where writing C is most of the work (sm_80).
#pragma once
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <type_traits>
#include "library/gemm/fp64/fp64_store.cuh"
#include "library/gemm/fp64/tiles/lane_reader.cuh"
#include "library/gemm/fp64/tiles/register_feed.cuh"
#include "library/gemm/operands/finish/blend.cuh"
#include "library/gemm/operands/finish/finished.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
//   load a warp's lines of the short operand, as FP64 | by rounds: load lines of the long one, multiply (FP64
//   Tensor Cores), store
// A warp keeps all k of 32 lines of the short operand in registers. In each round it multiplies 16 lines of
// the long one, with those of the next round prefetched, and writes 16 x 32 outputs: in packs straight from
// registers or, where rows of C do not begin at multiples of 16 bytes, through shared memory, so that stores
// are still coalesced. Warps are independent of each other. Where K is exactly what a warp keeps and no tile
// has an edge, a specialised kernel (whole) issues all loads of a round in pairs before it uses any. An
// output is the same sum in the same order as in every fp64 kernel that does not divide K.
template <fp64_policy P> struct kept_lines {
  static_assert(valid(P) && P.kind == kernel_kind::kept_lines);
  using sums = fp64_sums<P>;
  static_assert(sums::rows == P.tile.m && sums::rows == 16 && sums::two == 2);
  static constexpr int warps_of_block = kept_warps, threads = warps_of_block * warp_size,
                       blocks_wanted = P.blocks;
  static constexpr bool overlaps_previous = true;
  using params = tiled_problem;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  static constexpr int rows = sums::rows, columns = sums::columns;
  struct storage {
    staged_rows<P> c[warps_of_block];
  };

 private:
  using cell = typename sums::cell;
  using long_lines = lane_block<rows, P.held>;
  using short_lines = lane_block<columns, P.held>;

  // read
  // ---------------------------------------------------------------------------------------------------------
  // A warp's lines, all k: ask() issues the loads, take() uses them later.
  template <int Lines> struct reading_any {
    lane_block<Lines, P.held> next;
    // Loads lines from top + first on; `left` lines exist from `top` on.
    AP_DEV void ask(const line_operand& o, const float* data, std::int64_t top, int first, int left, int k,
                    int g, int q) {
      lane_source(o, data, top, k).read(next, first, left, g, q);
    }
    AP_DEV lane_block<Lines, P.held> take(const line_operand&, int) const { return next; }
  };
  template <int Lines> struct reading_whole {
    lane_reader<Lines, true> reader;
    lane_reads<Lines> next[P.held];
    AP_DEV void begin(const line_operand& o, const float* data, std::int64_t top, int g, int q) {
      reader.begin(o, data, top, 0, g, q);
    }
    // To be called in order: each call but the first moves on by a tile.
    AP_DEV void ask(const line_operand& o, const float*, std::int64_t, int first, int, int, int g, int q) {
      if (first > 0) reader.move(Lines * o.line_stride);
      AP_UNROLL
      for (int n = 0; n < P.held; ++n) {
        lane_reader<Lines, true> half = reader;
        half.move(16 * n * o.k_stride);
        half.read(next[n], o, 16, g, q);
      }
    }
    AP_DEV lane_block<Lines, P.held> take(const line_operand& o, int q) const {
      lane_block<Lines, P.held> all;
      AP_UNROLL
      for (int n = 0; n < P.held; ++n) {
        const lane_elements<Lines> some = reader.take(next[n], o, 16, q);
        AP_UNROLL
        for (int l = 0; l < all.count; ++l) {
          AP_UNROLL
          for (int i = 0; i < 4; ++i) all.x[n][l][i] = some.x[l][i];
        }
      }
      return all;
    }
  };
  template <int Lines> using reading = std::conditional_t<P.whole, reading_whole<Lines>, reading_any<Lines>>;

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int warp = warp_index(), lane = lane_index(), g = lane / 4, q = lane % 4, k = static_cast<int>(p.k);
    const std::uint32_t tile = block_index().x * warps_of_block + static_cast<unsigned>(warp);
    const auto [member, along_long, along_short] = p.tile(tile);
    const int lines = p.rounds * rows;
    const std::int64_t top = std::int64_t{along_long} * lines, left = std::int64_t{along_short} * columns;
    fp64_work w{member,
                top,
                left,
                0,
                k,
                nullptr,
                nullptr,
                as_many(p.of_long.lines - top),
                as_many(p.of_short.lines - left)};
    const int lines_left = w.long_left < lines ? w.long_left : lines,
              columns_left = w.short_left < columns ? w.short_left : columns;
    reading<rows> of_long;
    reading<columns> of_short;
    // an operand's address that is read from memory is known only after the wait
    const auto find = [&](bool known) {
      if ((p.of_long.member == nullptr) == known) {
        w.of_long = p.of_long.of_member(w.member);
        if constexpr (P.whole) of_long.begin(p.of_long, w.of_long, w.top, g, q);
      }
      if ((p.of_short.member == nullptr) == known) {
        w.of_short = p.of_short.of_member(w.member);
        if constexpr (P.whole) of_short.begin(p.of_short, w.of_short, w.left, g, q);
      }
    };
    std::uint32_t known_first = static_cast<std::uint32_t>(lines_left ^ columns_left);
    if constexpr (P.whole) {
      find(true);
      known_first ^= of_long.reader.digest() ^ of_short.reader.digest();
    }
    compute_first(known_first);
    wait_for_previous_grid(p);
    start_next_grid();
    if (tile >= p.tiles) return;
    if constexpr (!P.whole) find(true);
    find(false);
    float* c = p.c_member != nullptr ? p.c_member[w.member] : p.c + w.member * p.batch_stride;
    const bool packs = stores_packs<P>(p, c, columns_left);
    c += w.top * p.long_stride + w.left * p.short_stride;

    of_long.ask(p.of_long, w.of_long, w.top, 0, lines_left, k, g, q);
    double kept[P.held][short_lines::count][4];
    {
      of_short.ask(p.of_short, w.of_short, w.left, 0, columns_left, k, g, q);
      const short_lines b = of_short.take(p.of_short, q);
      AP_UNROLL
      for (int n = 0; n < P.held; ++n) {
        AP_UNROLL
        for (int l = 0; l < short_lines::count; ++l) {
          AP_UNROLL
          for (int i = 0; i < 4; ++i) kept[n][l][i] = b.x[n][l][i];
        }
      }
    }
    staged_rows<P>& out = s.c[warp];
    AP_ROLLED
    for (int line = 0; line < lines_left; line += rows, c += rows * p.long_stride) {
      const long_lines a = of_long.take(p.of_long, q);
      if (line + rows < lines_left)
        of_long.ask(p.of_long, w.of_long, w.top, line + rows, lines_left, k, g, q);
      sums sum = {};
      AP_UNROLL
      for (int n = 0; n < P.held; ++n) {
        AP_UNROLL
        for (int i = 0; i < 4; i += 2) {
          if (16 * n + 4 * i >= k) break;
          const double of_a[4] = {a.x[n][0][i], a.x[n][1][i], a.x[n][0][i + 1], a.x[n][1][i + 1]};
          AP_UNROLL
          for (int j = 0; j < short_lines::count; ++j) {
            const double of_b[2] = {kept[n][j][i], kept[n][j][i + 1]};
            mma(sum.value[0][j], of_a, of_b);
          }
        }
      }
      if (packs) {
        store_lane_packs<P>(p, sum, 0, c, lines_left - line, columns_left, g, q);
        continue;
      }
      out.put(sum, 0, g, q);
      warp_sync();
      out.store(p, c, w.top + line, w.left, lines_left - line, columns_left, w.member);
      warp_sync();
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
