// SPDX-License-Identifier: Apache-2.0
// Scans over the lanes of a warp, for kernels of your own.
#pragma once
#include <antiphase/device/warp.cuh>
#include <antiphase/scan/operators.hpp>

namespace antiphase::scans {
inline namespace AP_TARGET {

// An associative operator, perhaps with values of its own: what scans within a block need. Those over whole
// arrays ask for more (operator_on).
template <class Op, class T>
concept combines = std::is_trivially_copyable_v<Op> && requires(const Op& op, const T& a, const T& b) {
  { op(a, b) } -> std::convertible_to<T>;
};

// The inclusive scan of what the first `live` lanes brought; all lanes of the warp call. The others get
// something of no meaning.
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

// Every lane brings one element and gets one result; all 32 lanes of the warp call together. Only the first
// `live` of them (0 ... 32) have an element: the others bring anything, which op never sees, and get
// something of no meaning.
//
//   warp_inclusive_scan   x0, x0.x1, x0.x1.x2 ...
//   warp_exclusive_scan   initial, initial.x0, initial.x0.x1 ...
//   warp_reduce           x0.x1 ... x(live - 1), to every lane; of no meaning if live is 0
//
// T: trivially copyable, of any size (it travels through shuffles, 4 bytes at a time). op(x, y) gives x.y; it
// has to be associative, need not be commutative, and may carry values of its own that are the same in every
// lane. Five steps, as Hillis and Steele ("Data parallel algorithms", 1986): in step s every lane takes what
// lies 2^s lanes to the left.
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
