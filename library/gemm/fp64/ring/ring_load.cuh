// SPDX-License-Identifier: Apache-2.0
// Producers of a ring product: a thread that issues TMA copies (sm_90), or warps that copy by cp.async
// (sm_80).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/mbarrier.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/warp.cuh>
#include "library/gemm/fp64/fp64_tile.cuh"
#include "library/gemm/fp64/ring/copying_warp.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// TMA
// -----------------------------------------------------------------------------------------------------------
template <fp64_policy P, class Layout> struct tma_producer {
  using params = tiled_problem;
  using storage = typename Layout::storage;
  using tiles = fp64_tiles<P>;

  // By the thread that has initialised the ring.
  AP_DEV static void setup(const params& p) {
    fence_mbarrier_init();
    prefetch_map(p.long_map);
    prefetch_map(p.short_map);
  }
  // Loads a tile's slabs. The whole warp calls; its first lane issues the copies.
  AP_DEV static void load(const params& p, storage& s, typename Layout::slot_cursor& at, const fp64_work& w) {
    if (lane_index() != 0) return;
    const int bytes_of_slab = bytes_of(p.of_long.along_k, P.tile.m) + bytes_of(p.of_short.along_k, P.tile.n);
    const int steps = tiles::steps_of(w);
    const std::int64_t of_long = p.of_long.batch_stride > 0 ? w.member : 0,
                       of_short = p.of_short.batch_stride > 0 ? w.member : 0;
    for (int step = 0; step < steps; ++step, ++at) {
      mbarrier& landed = s.ring.barrier[Layout::full][at.index];
      s.ring.acquire(at);
      int slabs = 0;
      AP_UNROLL
      for (int n = 0; n < P.slabs; ++n) {
        const std::int64_t k = tiles::k_of(w, step, n);
        if (k >= w.k_end) continue;
        auto& to = s.stages[at.index].slabs[n];
        load_panel(to.a, p.long_map, p.of_long.along_k, landed, w.top, k, of_long);
        load_panel(to.b, p.short_map, p.of_short.along_k, landed, w.left, k, of_short);
        ++slabs;
      }
      s.ring.commit(at, Layout::full, bytes{slabs * bytes_of_slab});
    }
  }

 private:
  // One box, or, across k, a box of 32 lines at a time.
  template <int Lines> AP_DEV static void load_panel(fp64_panel<Lines>& to, const tensor_map& map,
                                                     bool along_k, mbarrier& landed, std::int64_t first,
                                                     std::int64_t k, std::int64_t batch) {
    const int line = static_cast<int>(first), at = static_cast<int>(k), member = static_cast<int>(batch);
    if (along_k) {
      tensor_load(to.data, map, landed, at, line, member);
    } else {
      AP_UNROLL
      for (int i = 0; i < to.held; i += slab_k)
        tensor_load(to.data + i * slab_k, map, landed, line + i, at, member);
    }
  }
  AP_DEV static int bytes_of(bool along_k, int lines) {
    return 4 * slab_k * (along_k || lines > slab_k ? lines : slab_k);
  }
};

// copying warps
// -----------------------------------------------------------------------------------------------------------
// Each warp takes slabs of its own and copies both operands, or warps work in pairs and copy one operand
// each. With more warps than that, each takes some rows. In long tiles, one operand each would leave half of
// the warps with little to do.
template <fp64_policy P, class Layout> struct copying_producer {
  using params = tiled_problem;
  using storage = typename Layout::storage;
  using slab = typename Layout::slab;
  using slot_cursor = typename Layout::slot_cursor;
  using tiles = fp64_tiles<P>;
  using copier = panel_copier<(P.tile.n < slab_k ? P.tile.n : slab_k)>;
  static constexpr int warps = P.copying_warps;
  static constexpr bool takes_both = warps <= P.slabs || P.tile.m >= 4 * P.tile.n;
  static constexpr int takers = warps / (takes_both ? 1 : 2), at_once = takers < P.slabs ? takers : P.slabs;
  static_assert(P.slabs % at_once == 0 && takers % at_once == 0 && (takes_both || warps % 2 == 0));

  AP_DEV static void setup(const params&) {}
  // Loads a tile's slabs.
  AP_DEV static void load(const params& p, storage& s, slot_cursor& at, const fp64_work& w) {
    const int warp = warp_index() - Layout::computing_warps, taker = takes_both ? warp : warp / 2;
    const copying_share share{taker / at_once, takers / at_once};
    const auto long_copier = [&] {
      return copier(p.of_long, w.of_long, w.top, w.long_left, P.tile.m, p.k, share);
    };
    const auto short_copier = [&] {
      return copier(p.of_short, w.of_short, w.left, w.short_left, P.tile.n, p.k, share);
    };
    const auto each_slab = [&](auto copy) {
      const int steps = tiles::steps_of(w);
      AP_ROLLED
      for (int step = 0; step < steps; ++step, ++at) {
        s.ring.acquire(at);
        AP_ROLLED
        for (int n = taker % at_once; n < P.slabs; n += at_once) {
          const std::int64_t k = tiles::k_of(w, step, n);
          if (k >= w.k_end) break;
          copy(s.stages[at.index].slabs[n], k, tiles::k_left(w, k));
        }
        s.ring.commit(at, Layout::full, with_copies{});
      }
    };
    if constexpr (takes_both) {
      const copier of_long = long_copier(), of_short = short_copier();
      each_slab([&](slab& to, std::int64_t k, int left) {
        of_long.copy(to.a.data, k, left);
        of_short.copy(to.b.data, k, left);
      });
    } else {
      const bool takes_long = warp % 2 == 0;
      const copier one = takes_long ? long_copier() : short_copier();
      each_slab(
          [&](slab& to, std::int64_t k, int left) { one.copy(takes_long ? to.a.data : to.b.data, k, left); });
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
