// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/operands/line_operand.hpp"

#include <cstdlib>

#include "library/gemm/operands/both_operands.hpp"

namespace antiphase::gemms {

line_operand lines_of(const matrix_view<const float>& v, const float* const* member,
                      std::int64_t batch_stride) {
  line_operand o{v.data, member, v.rows, v.row_stride, v.column_stride, batch_stride, true, 1};
  const auto in_row = [&](std::int64_t extent, std::int64_t stride) { return stride == 1 || extent <= 1; };
  const bool along_k = in_row(v.columns, v.column_stride), along_lines = in_row(v.rows, v.row_stride);
  o.along_k = along_k || (!along_lines && std::abs(v.column_stride) <= std::abs(v.row_stride));
  const std::int64_t apart = o.along_k ? v.row_stride : v.column_stride;
  const bool one_row = (o.along_k ? v.rows : v.columns) <= 1;
  const auto begin_at = [&](int floats) {  // whether all rows begin at multiples of this
    const bool first =
        member != nullptr ||
        (reinterpret_cast<std::uintptr_t>(v.data) / sizeof(float) % static_cast<unsigned>(floats) == 0 &&
         batch_stride % floats == 0);
    return first && (one_row || apart % floats == 0);
  };
  o.width = !along_k && !along_lines ? 1 : begin_at(4) ? 4 : begin_at(2) ? 2 : 1;
  return o;
}

both_operands operands_of(const problem& p, const batch& of, bool turned) {
  const line_operand a = lines_of(p.a, of.a, of.a_stride), b = lines_of(transposed(p.b), of.b, of.b_stride);
  return turned ? both_operands{b, a} : both_operands{a, b};
}

}  // namespace antiphase::gemms
