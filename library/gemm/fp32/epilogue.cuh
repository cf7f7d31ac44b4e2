// SPDX-License-Identifier: Apache-2.0
// From a thread's sums to C.
#pragma once
#include <antiphase/device/vector.cuh>
#include <antiphase/gemm/problem.hpp>
#include "library/gemm/fp32/fragments.cuh"
#include "library/gemm/operands/finish/blend.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Writes the outputs of one thread, as packets where C's rows are contiguous and aligned, one by one
// elsewhere.
template <policy P>
AP_DEV void store_tile(const problem& p, const accumulator<P>& from, std::int64_t top, std::int64_t left) {
  using outputs = thread_outputs<P>;
  constexpr int width = P.read_width;  // outputs of a thread side by side
  const bool packets = width > 1 && p.c.column_stride == 1 && p.c.row_stride % width == 0 &&
                       reinterpret_cast<std::uintptr_t>(p.c.data) % (sizeof(float) * width) == 0;
  const std::int64_t first_row = top + from.outputs.row, first_column = left + from.outputs.column;
  AP_UNROLL
  for (int i = 0; i < P.thread.m; ++i) {
    const std::int64_t row = first_row + outputs::rows::offset(i);
    if (row >= p.m()) continue;
    AP_UNROLL
    for (int j = 0; j < P.thread.n; j += width) {
      const std::int64_t column = first_column + outputs::columns::offset(j);
      float* const c = &p.c(row, column);
      if (packets && column + width <= p.n()) {
        pack<float, width> out{};
        if (p.beta != 0) out = load_pack<width>(c);
        AP_UNROLL
        for (int e = 0; e < width; ++e) out.element[e] = blend(p, from.sum[i][j + e], &out.element[e]);
        store_pack<width>(c, out);
      } else {
        AP_UNROLL
        for (int e = 0; e < width; ++e)
          if (column + e < p.n())
            c[e * p.c.column_stride] = blend(p, from.sum[i][j + e], c + e * p.c.column_stride);
      }
    }
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
