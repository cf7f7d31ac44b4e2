// SPDX-License-Identifier: Apache-2.0
// Products of different shapes in one launch: persistent blocks walk over the tiles of all of them (sm_80).
#pragma once
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include "src/gemm/fp64/group_product.hpp"
#include "src/gemm/fp64/ring_compute.cuh"
#include "src/gemm/fp64/ring_layout.cuh"
#include "src/gemm/fp64/ring_load.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Every tile is computed as by ring_product alone, with the same bits. The tile's problem is in shared
// memory, where the block writes it at the first tile of another member.
template <fp64_policy P> struct group_product {
  static_assert(P.loader == loader::cp_async && !P.shares && !P.finishes);
  using layout = ring_layout<P>;
  using producer = copying_producer<P, layout>;
  using consumer = ring_consumer<P, layout>;
  static constexpr int threads = layout::threads, blocks_wanted = P.blocks;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = group_problem;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  // Loading warps are ahead of computing warps, so each role has a problem of its own.
  struct storage {
    typename layout::storage of_tile;
    tiled_problem loads, computes;
  };

 private:
  // The member that has a tile: the last one whose first tile does not come after it.
  AP_DEV static int member_of(const group_member* all, int count, std::uint32_t tile) {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (all[middle].first <= tile ? low : high) = middle;
    }
    return low;
  }
  AP_DEV static std::uint32_t tiles_along(int lines, int of_tile) {
    return static_cast<std::uint32_t>((lines + of_tile - 1) / of_tile);
  }
  AP_DEV static line_operand operand(const float* data, int lines, int apart, bool along_k, bool wide) {
    return {data, nullptr, lines, along_k ? apart : 1, along_k ? 1 : apart, 0, along_k, wide ? 4 : 1};
  }
  // Fills what a tile without cluster and parts reads of its problem.
  AP_DEV static void fill(tiled_problem& p, const group_member& m) {
    p.of_long = operand(m.of_long, m.long_lines, m.long_apart, m.long_along_k, m.long_wide);
    p.of_short = operand(m.of_short, m.short_lines, m.short_apart, m.short_along_k, m.short_wide);
    p.c = m.c, p.c_member = nullptr;
    p.long_stride = m.c_along_short ? m.c_apart : 1, p.short_stride = m.c_along_short ? 1 : m.c_apart,
    p.batch_stride = 0;
    p.packs = m.packs;
    p.k = p.k_of_part = m.k;
    p.tiles_along_long = divider(tiles_along(m.long_lines, P.tile.m)),
    p.tiles_along_short = divider(tiles_along(m.short_lines, P.tile.n));
    p.parts = 1;
    p.end.alpha = m.alpha, p.end.beta = m.beta;
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) s.of_tile.ring.init();
    block_barrier();
    wait_for_previous_grid();
    start_next_grid();
    typename layout::slot_cursor at;
    if (warp_index() < layout::computing_warps) {
      const auto t = consumer::seat::mine();
      each_tile<0, layout::computing_warps>(p, s.computes, [&](const fp64_work& w) {
        typename consumer::sums sum = {};
        consumer::compute(s.computes, s.of_tile, at, w, t, sum);
        consumer::store(s.computes, s.of_tile, w, t, sum);
      });
    } else {
      each_tile<layout::computing_warps, layout::loading_warps>(
          p, s.loads, [&](const fp64_work& w) { producer::load(s.loads, s.of_tile, at, w); });
    }
  }

 private:
  // Calls use(work) for this block's tiles, in a role of `Warps` warps from warp `First` on. here: the role's
  // copy of the problem of the tile's member.
  template <int First, int Warps>
  AP_DEV static void each_tile(const params& p, tiled_problem& here, auto use) {
    using role = part_of_block<1 + (First > 0), Warps * warp_size>;
    const group_member* const all = p.table != nullptr ? p.table : p.member;
    int last = -1;
    for (std::uint32_t tile = block_index().x; tile < p.tiles; tile += grid_extent().x) {
      const int member = member_of(all, p.count, tile);
      if (member != last) {
        role::meet();  // all warps have left the previous tile
        if (thread_index() == First * warp_size) fill(here, all[member]);
        role::meet();
        last = member;
      }
      fp64_work w = fp64_tiles<P>::at(here, tile - all[member].first, 0);
      w.of_long = here.of_long.data, w.of_short = here.of_short.data;
      use(w);
    }
  }
};
template <fp64_policy P> group_instance group_instance_of(const char* name) {
  return {P, kernel_of<group_product<P>>(name)};
}

struct group_table {
  static constexpr int threads = 128;
  static constexpr bool overlaps_previous = true;
  using params = group_table_problem;
  struct storage {};

  AP_DEV void operator()(const params& p) const {
    wait_for_previous_grid();
    start_next_grid();
    if (const int n = thread_index(); n < p.count) p.table[n] = p.member[n];
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
