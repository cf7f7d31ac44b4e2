// SPDX-License-Identifier: Apache-2.0
// fp64 products with small K: a tile per warp, from global memory to registers and back, without a barrier
// (sm_80).
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/device/global.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/warp.cuh>
#include "library/gemm/fp64/fp64_store.cuh"
#include "library/gemm/fp64/tiles/lane_reader.cuh"
#include "library/gemm/fp64/tiles/register_feed.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
//   by 16 k: load, convert, multiply (FP64 Tensor Cores) | store
// With small K there is nothing to split: a warp has its tile and all k, and other warps run while it waits.
// The time is then that of issuing instructions, so there are no slots, no barriers and no selects per
// element. The four warps of a block are arranged 2 x 2, so that each line is read twice, once from L1. An
// output is the same sum in the same order as in every fp64 kernel that does not divide K.
template <fp64_policy P> struct warp_tile {
  static_assert(valid(P) && P.kind == kernel_kind::warp_tile);
  using sums = fp64_sums<P>;
  static constexpr int warps_of_block = P.warps.m * P.warps.n, threads = warps_of_block * warp_size,
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
  // A warp's first lines, and the member.
  struct tile_place {
    std::int64_t top, left;
    std::uint32_t member;
  };

  // kernel
  // ---------------------------------------------------------------------------------------------------------
  // Instantiated for each layout of the operands.
  template <bool LongAlongK, bool ShortAlongK>
  AP_DEV static sums multiply(const params& p, const tile_place& at, int g, int q) {
    const int k = static_cast<int>(p.k);
    lane_rows<rows, LongAlongK> of_long;
    lane_rows<columns, ShortAlongK> of_short;
    begin_and_wait(
        p, at.member, [&](const float* data) { of_long.begin(p.of_long, data, at.top, g, q); },
        [&](const float* data) { of_short.begin(p.of_short, data, at.left, g, q); },
        [&] { compute_first(of_long.digest() ^ of_short.digest()); });

    sums sum = {};
    AP_ROLLED
    for (int k_left = k; k_left > 0; k_left -= held_k) {
      lane_elements<rows> a;
      lane_elements<columns> b;
      of_long.read(a, k_left, q), of_short.read(b, k_left, q);
      of_long.move(p.of_long), of_short.move(p.of_short);
      AP_UNROLL
      for (int i = 0; i < sums::down; ++i)
        multiply_half(a.x[2 * i], a.x[2 * i + 1], b.x, sum.value[i], k_left);
    }
    return sum;
  }

 public:
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int warp = warp_index(), lane = lane_index(), g = lane / 4, q = lane % 4;
    const tile_number tile = p.tile(block_index().x);
    const std::uint32_t member = tile.member;
    const std::int64_t top = std::int64_t{tile.along_long} * P.tile.m + warp % P.warps.m * rows,
                       left = std::int64_t{tile.along_short} * P.tile.n + warp / P.warps.m * columns;
    if (top >= p.of_long.lines || left >= p.of_short.lines) {
      wait_for_previous_grid();
      return;
    }
    const tile_place at{top, left, member};
    const sums sum =
        p.of_long.along_k
            ? (p.of_short.along_k ? multiply<true, true>(p, at, g, q) : multiply<true, false>(p, at, g, q))
            : (p.of_short.along_k ? multiply<false, true>(p, at, g, q) : multiply<false, false>(p, at, g, q));

    const int long_left = as_many(p.of_long.lines - top), short_left = as_many(p.of_short.lines - left);
    float* const of_member =
        in_global_memory(p.c_member != nullptr ? p.c_member[member] : p.c + member * p.batch_stride);
    float* const c = of_member + top * p.long_stride + left * p.short_stride;
    const bool packs = stores_packs<P>(p, of_member, short_left);
    AP_UNROLL
    for (int i = 0; i < sums::down; ++i) {
      float* const sixteen = c + 16 * i * p.long_stride;
      if (packs) {
        store_lane_packs<P>(p, sum, i, sixteen, long_left - 16 * i, short_left, g, q);
        continue;
      }
      staged_rows<P>& out = s.c[warp];
      out.put(sum, i, g, q);
      warp_sync();
      out.store(p, sixteen, top + 16 * i, left, long_left - 16 * i, short_left, member);
      warp_sync();
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
