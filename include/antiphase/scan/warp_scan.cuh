// SPDX-License-Identifier: Apache-2.0
// Scans over the lanes of a warp, for kernels of your own.
#pragma once
#include <antiphase/device/warp.cuh>
#include <antiphase/scan/operators.hpp>

namespace antiphase::scans {
inline namespace AP_TARGET {

// An associative operator, perhaps with state: enough for scans within a block. Scans over whole arrays
// require more (operator_on).
template <class Op, class T>
concept combines = std::is_trivially_copyable_v<Op> && requires(const Op& op, const T& a, const T& b) {
  { op(a, b) } -> std::convertible_to<T>;
};

// Inclusive scan of the first `live` lanes; all lanes of the warp call. The others' results are unspecified.
template <scannable T, combines<T> Op> AP_DEV T warp_scan(T mine, int live, Op op) {
  const int lane = lane_index();
  AP_UNROLL
  for (int by = 1; by < warp_size; by *= 2) {
    const T other = shuffle_up(mine, by);
    if (lane >= by && lane < live) mine = op(other, mine);
  }
  return mine;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans

namespace antiphase {
inline namespace AP_TARGET {

// Scans over the lanes of a warp, one element per lane. All 32 lanes call together. Only the first `live`
// lanes (0 ... 32) hold an element: op never sees the others' values, and their results are unspecified.
//
//   warp_inclusive_scan   x0, x0.x1, x0.x1.x2 ...
//   warp_exclusive_scan   initial, initial.x0, initial.x0.x1 ...
//   warp_reduce           x0.x1 ... x(live - 1), in every lane; unspecified if live is 0
//
//   const int upto = warp_inclusive_scan(mine, scans::sum{});
//   const float largest = warp_reduce(x, scans::maximum{}, live);
//
// T: trivially copyable, of any size (shuffled 4 bytes at a time). op(x, y) computes x.y. It must be
// associative, need not be commutative, and may carry values that are the same in every lane. Five steps,
// after Hillis and Steele ("Data parallel algorithms", 1986): in step s each lane combines with the one 2^s
// lanes to its left.
template <scans::scannable T, scans::combines<T> Op>
AP_DEV T warp_inclusive_scan(const T& mine, Op op, int live = warp_size) {
  return scans::warp_scan(mine, live, op);
}
template <scans::scannable T, scans::combines<T> Op>
AP_DEV T warp_exclusive_scan(const T& mine, const T& initial, Op op, int live = warp_size) {
  const T left = shuffle_up(scans::warp_scan(mine, live, op), 1);
  const int lane = lane_index();
  return lane == 0 || lane >= live ? initial : T(op(initial, left));
}
template <scans::scannable T, scans::combines<T> Op>
AP_DEV T warp_reduce(const T& mine, Op op, int live = warp_size) {
  return shuffle(scans::warp_scan(mine, live, op), live > 0 ? live - 1 : 0);
}

}  // namespace AP_TARGET
}  // namespace antiphase
