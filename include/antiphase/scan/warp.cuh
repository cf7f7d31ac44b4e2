// A scan over the lanes of a warp, in registers.
#pragma once
#include <antiphase/device/warp.cuh>
#include <antiphase/scan/operators.hpp>

namespace antiphase::prefix {
inline namespace AP_TARGET {

// An associative operator, perhaps with values of its own: what scans within a block need. Those over whole arrays ask for more
// (operator_on).
template <class Op, class T>
concept combines = std::is_trivially_copyable_v<Op> && requires(const Op& op, const T& a, const T& b) {
  { op(a, b) } -> std::convertible_to<T>;
};

// The inclusive scan of what the first `live` lanes brought; all lanes of the warp call. The others get something of no meaning.
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
}  // namespace antiphase::prefix
