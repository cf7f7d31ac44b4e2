// SPDX-License-Identifier: Apache-2.0
// Shared memory of a product of TF32 parts, its warps, and the tiles and k of its blocks.
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/mbarrier.cuh>
#include <antiphase/device/warp.cuh>
#include <type_traits>
#include "library/gemm/operands/tiled/plain_ring.hpp"
#include "library/gemm/tf32/load/tf32_operand.cuh"
#include "library/gemm/tf32/tf32_outputs.cuh"
#include "library/gemm/tf32/tf32_prepare.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <tf32_policy P, template <class Channel, int Warps> class RingOf = plain_ring> struct tf32_layout {
  // warps
  // ---------------------------------------------------------------------------------------------------------
  using preparation = tf32_preparation<P>;
  static constexpr bool by_tma = preparation::by_tma;
  static constexpr int preparing_warps = preparation::warps, computing_warps = tf32_outputs::computing_warps;
  static constexpr int threads = 3 * warpgroup_size, computing_threads = 2 * warpgroup_size;
  // Named barriers. The preparing warps have number 2 (tf32_preparation).
  static constexpr int computing_barrier = 1, turn_barrier = 3;

  // ring
  // ---------------------------------------------------------------------------------------------------------
  static constexpr int stages = P.stages();
  using slot = tf32_slot<P>;
  using ring_of_tma =
      channel<mbarrier, stages, antiphase::threads(1), warps(preparing_warps), warps(computing_warps)>;
  using ring_of_threads = channel<mbarrier, stages, warps(preparing_warps), warps(computing_warps)>;
  static constexpr int arrived = 0, prepared = by_tma ? 1 : 0;  // events, before the one for a free slot
  using slot_cursor = cursor<stages>;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  // Tiles whose lines are noted: the one that is stored, and those in the ring, with at least two slots each.
  static constexpr int tiles_in_sight = stages / 2 + 1;
  using tile_cursor = cursor<tiles_in_sight>;
  struct storage {
    union {
      slot slots[stages];
      struct {  // after the last load, where blocks share a tile
        float parts[tf32_outputs::registers][computing_threads];  // for other blocks
        tf32_outputs::sparse_places places[tf32_lines::count];    // of the tile's sparse lines
      } of_shares;
    };
    RingOf<std::conditional_t<by_tma, ring_of_tma, ring_of_threads>, threads / warp_size> ring;
    tf32_lines lines[tiles_in_sight];
    // as much as there is room for
    rows_to_store<tf32_stage_k, false, by_tma ? 16 : 8> rows[computing_warps];
  };
};

// The tiles that a block walks over, or the one that it shares, and its share of k.
struct tf32_walk {
  using params = tf32_problem;
  using work = tf32_outputs::work;
  std::uint32_t first, apart;
  int part;
  std::int64_t share;

  AP_DEV explicit tf32_walk(const params& p)
      : first(block_index().x), apart(grid_extent().x), part(0), share(0) {
    if (blocks_of_tile(p) == 1) return;
    const auto cluster = static_cast<unsigned>(cluster_extent());
    part = static_cast<int>(first / cluster / p.tiled.tiles);
    first = first / cluster % p.tiled.tiles;
    apart = p.tiled.tiles;
    share = std::int64_t{part} * cluster + cluster_rank();
  }
  AP_DEV static int blocks_of_tile(const params& p) { return cluster_extent() * p.tiled.parts; }
  AP_DEV work at(const params& p, std::uint32_t tile) const {
    const std::uint32_t row = tile / p.tiled.tiles_along_short.by(),
                        column = tile % p.tiled.tiles_along_short.by();
    const std::int64_t k = share * p.tiled.k_of_part, end = k + p.tiled.k_of_part;
    return {
        row / p.tiled.tiles_along_long.by(), std::int64_t{row % p.tiled.tiles_along_long.by()} * tf32_tile.m,
        std::int64_t{column} * tf32_tile.n, k < p.tiled.k ? k : p.tiled.k, end < p.tiled.k ? end : p.tiled.k};
  }
  // Calls use(tile, work) for each tile.
  AP_DEV void each(const params& p, auto use) const {
    AP_ROLLED
    for (std::uint32_t tile = first; tile < p.tiled.tiles; tile += apart) use(tile, at(p, tile));
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
