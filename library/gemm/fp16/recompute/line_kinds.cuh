// SPDX-License-Identifier: Apache-2.0
// What the lines of an output mean for it: whether it is finite, zero, exact, or scaled with care.
#pragma once
#include <antiphase/core/portable.hpp>
#include "library/gemm/fp16/split_operand.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

AP_DEV bool is_finite(const split_line& line) { return line.tiny < 0x1p60f; }
AP_DEV bool is_far(const split_line& line) {
  return line.exponent < -plain_exponent || line.exponent > plain_exponent;
}
AP_DEV bool is_sparse(const split_line& line) {
  return is_finite(line) && line.nonzeros > 0 && line.nonzeros <= sparse_nonzeros;
}
// Whether one of the lines is all zeros, so that sums are 0, whatever the scales.
AP_DEV bool is_zero_output(const split_line& a, const split_line& b) {
  return is_finite(a) && is_finite(b) && (a.nonzeros == 0 || b.nonzeros == 0);
}
// Whether recompute_sparse computes the output of these two lines.
AP_DEV bool is_sparse_output(const split_line& a, const split_line& b) {
  return is_finite(a) && is_finite(b) && (is_sparse(a) || is_sparse(b)) && !is_zero_output(a, b);
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
