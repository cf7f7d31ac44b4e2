// SPDX-License-Identifier: Apache-2.0
// Lines with so few nonzeros that their outputs have to be exact.
#pragma once
#include <antiphase/device/warp.cuh>
#include <cstdint>

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A line with three or four nonzeros is sparse: exact_sum computes its outputs, and keeps the digits that FP64 cuts off. With fewer
// nonzeros nothing visible is cut off, with more nothing is promised. Nonzeros are counted until it is known that all lines are dense,
// which of most data takes one slab.
constexpr int dense_line = 5;  // nonzeros, or more
AP_DEV bool is_sparse_count(int nonzeros) { return nonzeros == 3 || nonzeros == 4; }
struct line_nonzeros {
  std::int64_t k[4];  // in order; -1: no more
};
// What is known of the lines of a tile, or of a warp's part of it: first those of the long operand, then those of the short one.
template <int Lines> struct line_register {
  std::int32_t nonzeros[Lines];
  line_nonzeros found[Lines];  // of sparse lines
};
// The lanes of a warp find a line's first four nonzeros together.
AP_DEV void find_nonzeros(const float* line, std::int64_t k_stride, std::int64_t k_end, line_nonzeros& to) {
  int count = 0;
  for (std::int64_t first = 0; first < k_end && count < 4; first += warp_size) {
    const std::int64_t k = first + lane_index();
    const unsigned there = ballot(k < k_end && line[k * k_stride] != 0);
    for (int lane = 0; there >> lane != 0 && lane < warp_size && count < 4; ++lane) {
      if ((there >> lane & 1u) == 0) continue;
      if (lane_index() == 0) to.k[count] = first + lane;
      ++count;
    }
  }
  for (; count < 4; ++count)
    if (lane_index() == 0) to.k[count] = -1;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
