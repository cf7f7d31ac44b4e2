// SPDX-License-Identifier: Apache-2.0
// Tiles of products that add up in FP64: the lines and k of a block, and where its threads stand.
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/warp.cuh>
#include "library/gemm/fp64/fp64_store.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <fp64_policy P> struct fp64_tiles {
  using params = tiled_problem;

  // The n-th tile of the whole batch, with the given part of K. Its operands are still to be found.
  AP_DEV static fp64_work at(const params& p, std::uint32_t tile, std::int64_t part) {
    const std::uint32_t row = p.tiles_along_short.quotient(tile),
                        column = tile - row * p.tiles_along_short.by();
    const std::uint32_t member = p.tiles_along_long.quotient(row);
    const std::int64_t k = part * p.k_of_part, end = k + p.k_of_part;
    const std::int64_t top = std::int64_t{row - member * p.tiles_along_long.by()} * P.tile.m,
                       left = std::int64_t{column} * P.tile.n;
    return {member,
            top,
            left,
            k < p.k ? k : p.k,
            end < p.k ? end : p.k,
            nullptr,
            nullptr,
            as_many(p.of_long.lines - top),
            as_many(p.of_short.lines - left)};
  }
  // A table of pointers lies in memory that earlier work may write: wait for that first.
  AP_DEV static void find_operands(const params& p, fp64_work& w) {
    w.of_long = p.of_long.of_member(w.member);
    w.of_short = p.of_short.of_member(w.member);
  }

  // A step of the main loop is a stage of the ring: a slab of 32 k for each group of warps.
  AP_DEV static int steps_of(const fp64_work& w) {
    return static_cast<int>(ceil_div<std::int64_t>(w.k_end - w.k, slab_k * P.slabs));
  }
  // First k of a slab.
  AP_DEV static std::int64_t k_of(const fp64_work& w, int step, int slab) {
    return w.k + (std::int64_t{step} * P.slabs + slab) * slab_k;
  }
  // Remaining k, at most a slab's.
  AP_DEV static int k_left(const fp64_work& w, std::int64_t k) {
    const std::int64_t left = w.k_end - k;
    return left > slab_k ? slab_k : static_cast<int>(left > 0 ? left : 0);
  }
};

// A computing thread: its slab, its warp's first lines in the tile, its number among the threads of the slab.
template <fp64_policy P> struct fp64_seat {
  static constexpr int warps_of_slab = P.warps.m * P.warps.n, lanes_of_slab = warps_of_slab * warp_size;
  int slab, top, left, g, q, lane;

  AP_DEV static fp64_seat mine() {
    using sums = fp64_sums<P>;
    const int warp = warp_index() % P.computing_warps(), inside = warp % warps_of_slab, lane = lane_index();
    return {warp / warps_of_slab,
            inside % P.warps.m * sums::rows,
            inside / P.warps.m * sums::columns,
            lane / 4,
            lane % 4,
            inside * warp_size + lane};
  }
};

// Split-K: the tile and the part of K that a cluster takes. Each block of the cluster takes a share of it.
struct split_k_place {
  int cluster;  // blocks
  std::uint32_t tile;
  int part;

  AP_DEV static split_k_place mine(const tiled_problem& p) {
    const int cluster = cluster_extent();
    const std::uint32_t index = block_index().x / static_cast<unsigned>(cluster);
    return {cluster, index % p.tiles, static_cast<int>(index / p.tiles)};
  }
  AP_DEV std::int64_t share_of_k() const { return std::int64_t{part} * cluster + cluster_rank(); }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
