// SPDX-License-Identifier: Apache-2.0
// Consumer of a ring product: warps that multiply slabs on FP64 Tensor Cores and store their tile (sm_80).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/mbarrier.cuh>
#include <antiphase/device/warp.cuh>
#include "library/gemm/fp64/fp64_tile.cuh"
#include "library/gemm/fp64/tiles/panel.cuh"
#include "library/gemm/fp64/tiles/register_feed.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <fp64_policy P, class Layout> struct ring_consumer {
  using params = tiled_problem;
  using storage = typename Layout::storage;
  using tiles = fp64_tiles<P>;
  using seat = fp64_seat<P>;
  using sums = fp64_sums<P>;
  using long_fragment = panel_fragment<16, 2>;
  using short_fragment = panel_fragment<sums::columns, sums::two>;

  // setup
  // ---------------------------------------------------------------------------------------------------------
  // Where the lane's first elements lie in the panels of a slab.
  struct starts {
    int of_long, of_short;
    AP_DEV starts(const params& p, const seat& t)
        : of_long(long_fragment::start(p.of_long.along_k, t.top, t.g, t.q)),
          of_short(short_fragment::start(p.of_short.along_k, t.left, t.g, t.q)) {}
  };

  // compute
  // ---------------------------------------------------------------------------------------------------------
  // Adds up a tile, or the thread's slabs of it.
  AP_DEV static void compute(const params& p, storage& s, typename Layout::slot_cursor& at,
                             const fp64_work& w, const seat& t, sums& sum) {
    const starts first(p, t);
    const int steps = tiles::steps_of(w);
    for (int step = 0; step < steps; ++step, ++at) {
      s.ring.wait(at, Layout::full);
      multiply(p, s.stages[at.index].slabs[t.slab], first, tiles::k_left(w, tiles::k_of(w, step, t.slab)),
               sum);
      s.ring.release(at, by_warp{});
    }
  }

  // finish
  // ---------------------------------------------------------------------------------------------------------
  // Stores a tile that the block has computed alone.
  AP_DEV static void store(const params& p, storage& s, const fp64_work& w, const seat& t, const sums& sum) {
    using out = fp64_store<P>;
    const out to(p, w, out::place_of(0, t.lane));
    if (P.finishes || to.packs == packing::none)
      return store_staged(p, s.staged[t.lane / warp_size], w, t, sum);
    to.template store<sums::down, sums::across>([&](int n) { return sum.at(n); });
  }

 private:
  // left: remaining k of the slab.
  AP_DEV static void multiply(const params& p, const typename Layout::slab& s, const starts& from, int left,
                              sums& sum) {
    AP_UNROLL
    for (int half = 0; half < 2; ++half) {
      if (left <= 16 * half) break;
      short_fragment b;
      b.read(s.b.data, p.of_short.along_k, from.of_short, half);
      AP_UNROLL
      for (int i = 0; i < sums::down; ++i) {
        long_fragment a;
        a.read(s.a.data, p.of_long.along_k, from.of_long, half, 2 * i);
        multiply_half(a.x[0], a.x[1], b.x, sum.value[i]);
      }
    }
  }
  // Through shared memory, sixteen of the warp's lines of the long operand at a time.
  AP_DEV static void store_staged(const params& p, staged_rows<P>& staged, const fp64_work& w, const seat& t,
                                  const sums& sum) {
    const std::int64_t left = w.left + t.left;
    float* c = fp64_store<P>::member_of(p, w) + (w.top + t.top) * p.long_stride + left * p.short_stride;
    AP_UNROLL
    for (int i = 0; i < sums::down; ++i, c += staged_rows<P>::rows * p.long_stride) {
      const int top = t.top + staged_rows<P>::rows * i;
      staged.put(sum, i, t.g, t.q);
      warp_sync();
      staged.store(p, c, w.top + top, left, w.long_left - top, w.short_left - t.left, w.member);
      warp_sync();
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
