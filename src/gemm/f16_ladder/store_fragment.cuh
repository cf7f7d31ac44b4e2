// SPDX-License-Identifier: Apache-2.0
// From the sums of a warp's Tensor Core operations to C.
#pragma once
#include <antiphase/core/view.hpp>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>

namespace antiphase::gemms {
inline namespace AP_TARGET {

// The 16 x 8 outputs of C from (row, column) on, of which each lane of a warp holds four as mma() leaves
// them: as pairs where they are neighbours in memory and aligned.
AP_DEV void store_fragment(const matrix_view<float>& c, std::int64_t row, std::int64_t column,
                           const float* four) {
  const bool pairs =
      c.column_stride == 1 && c.row_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(c.data) % 8 == 0;
  row += lane_index() / 4, column += lane_index() % 4 * 2;
  AP_UNROLL
  for (int half = 0; half < 2; ++half) {
    if (row + 8 * half >= c.rows) continue;
    if (pairs && column + 1 < c.columns) {
      store_pack<2>(&c(row + 8 * half, column), pack<float, 2>{{four[2 * half], four[2 * half + 1]}});
      continue;
    }
    AP_UNROLL
    for (int e = 0; e < 2; ++e)
      if (column + e < c.columns) c(row + 8 * half, column + e) = four[2 * half + e];
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
