// SPDX-License-Identifier: Apache-2.0
// The block scan through warps: each warp scans its part in registers, one warp scans the totals of all.
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/scan/detail/kogge_stone.cuh>
#include <antiphase/scan/warp_scan.cuh>

namespace antiphase::scans {
inline namespace AP_TARGET {

// Two barriers, whatever the size of the block; shared memory for one value per warp.
template <scannable T, combines<T> Op, policy P> struct warp_shuffles {
  using shape = tile_shape<T, P>;
  using chunks = values<T, shape::rounds>;
  struct storage {
    shared_values<T, shape::warps> total;
  };

  AP_DEV static T prefixes(storage& s, chunks& chunk, int count, Op op) {
    const T mine = within_warp(chunk, count, op);
    if constexpr (shape::warps == 1) return mine;
    const int lane = lane_index(), warp = thread_index() / warp_size, live = shape::live_warps(count);
    if (lane == 0) s.total[warp] = mine;
    block_barrier();
    if (warp == 0) {
      // lanes read only what they will overwrite themselves
      const T through = warp_scan(lane < live ? s.total[lane] : mine, live, op);
      if (lane < live) s.total[lane] = through;
    }
    block_barrier();
    if (warp > 0 && warp < live) {
      const T before = s.total[warp - 1];
      AP_UNROLL
      for (int r = 0; r < shape::rounds; ++r)
        if (lane < shape::live_lanes(warp, r, count))
          chunk.elements[r] = r == 0 && lane == 0 ? before : T(op(before, chunk.elements[r]));
    }
    return s.total[live - 1];
  }

 private:
  // The same for a warp's part alone, ignoring what lies before its first chunk. Returns the total of the
  // part.
  AP_DEV static T within_warp(chunks& chunk, int count, Op op) {
    const int lane = lane_index(), warp = thread_index() / warp_size;
    T total = chunk.elements[0];
    AP_UNROLL
    for (int r = 0; r < shape::rounds; ++r) {
      const int live = shape::live_lanes(warp, r, count);
      const T through = warp_scan(chunk.elements[r], live, op);
      const T left = shuffle_up(through, 1);
      const T all = shuffle(through, live > 0 ? live - 1 : 0);
      if (r == 0) {
        chunk.elements[r] = left;
        total = all;
      } else if (live > 0) {
        chunk.elements[r] = lane == 0 ? total : lane < live ? T(op(total, left)) : left;
        total = op(total, all);
      }
    }
    return total;
  }
};

// The block scan of a policy.
template <class T, class Op, policy P> using block_scan_of =
    std::conditional_t<P.method == method::two_barriers, kogge_stone_two_barriers<T, Op, P>,
                       std::conditional_t<P.method == method::double_buffer,
                                          kogge_stone_double_buffer<T, Op, P>, warp_shuffles<T, Op, P>>>;

}  // namespace AP_TARGET
}  // namespace antiphase::scans
