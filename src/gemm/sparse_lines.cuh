// SPDX-License-Identifier: Apache-2.0
// Lines with so few nonzeros that their outputs have to be exact.
#pragma once
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/warp.cuh>
#include <cstdint>
#include "src/gemm/exact_sum.cuh"
#include "src/gemm/line_operand.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A line with three or four nonzeros is sparse: exact_sum computes its outputs, and keeps the digits that FP64 cuts off. With fewer
// nonzeros nothing visible is cut off, with more nothing is promised.
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
// Whether a line has three or four nonzeros. All lanes of a warp ask.
AP_DEV bool is_sparse_line(const float* line, std::int64_t k_stride, std::int64_t k_end) {
  int count = 0;
  AP_ROLLED
  for (std::int64_t first = 0; first < k_end && count < dense_line; first += warp_size) {
    const std::int64_t k = first + lane_index();
    count += bit_count(ballot(k < k_end && line[k * k_stride] != 0));
  }
  return is_sparse_count(count);
}
// Line i of one operand times line j of the other, of which one has nothing but these nonzeros. one, other: the member's operands.
AP_DEV double exact_output(const line_operand& of_one, const float* one, std::int64_t i, const line_operand& of_other, const float* other,
                           std::int64_t j, const line_nonzeros& at) {
  exact_sum sum;
  for (const std::int64_t k : at.k)
    if (k >= 0)
      sum.add(double{one[i * of_one.line_stride + k * of_one.k_stride]} * other[j * of_other.line_stride + k * of_other.k_stride]);
  return sum.value + sum.cut;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
