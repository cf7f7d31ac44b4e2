// SPDX-License-Identifier: Apache-2.0
// The lines and k of operands that a lane multiplies.
#pragma once
#include <antiphase/core/portable.hpp>

namespace antiphase::gemms {

// Line l of a lane among a warp's lines from `first` on: `Two` adjacent ones of every 8 * Two. g: lane / 4.
template <int Two> AP_FN constexpr int line_of_lane(int first, int l, int g) {
  return first + l / Two * 8 * Two + Two * g + l % Two;
}
// k of a lane's element i, of its four in 16 k. q: lane % 4.
AP_FN constexpr int k_of_lane(int i, int q) { return 2 * q + i % 2 + i / 2 * 8; }

}  // namespace antiphase::gemms
