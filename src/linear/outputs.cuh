// SPDX-License-Identifier: Apache-2.0
// From the sums of a warp to its rows of Y: bias, activation, residual, rounding.
#pragma once
#include <antiphase/device/line_store.cuh>
#include <antiphase/device/math.cuh>
#include <type_traits>
#include "src/gemm/operands/finished.cuh"
#include "src/linear/linear_arguments.hpp"

namespace antiphase::linears {
inline namespace AP_TARGET {

AP_DEV float read_number(const void* from, std::int64_t i, element of) {
  if (of == element::f32) return static_cast<const float*>(from)[i];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(from)[i];
  return of == element::f16 ? half_in(bits) : to_float(bf16{bits});
}
AP_DEV void write_number(void* to, std::int64_t i, element of, float x) {
  if (of == element::f32)
    static_cast<float*>(to)[i] = x;
  else
    static_cast<std::uint16_t*>(to)[i] =
        static_cast<std::uint16_t>(of == element::f16 ? to_halves(x, 0) : to_bf16s(x, 0));
}

// From a sum to an element of Y. Apart: it is much code, and there is a copy of its call for each line.
template <class Arguments> AP_DEV_APART void finish(const Arguments& p, float v, std::int64_t row,
                                                    std::int64_t column, std::int64_t member, int group) {
  if (p.bias != nullptr) v += read_number(p.bias, column + group * p.bias_member_stride, p.out);
  v = gemms::activated(p.function, v);
  if (p.residual.data != nullptr)
    v += read_number(p.residual.data,
                     row * p.residual.row_stride + column + member * p.residual.member_stride, p.out);
  write_number(p.y.data, row * p.y.row_stride + column + member * p.y.member_stride, p.out, v);
}

// The warp's 16 rows from `row` on, of which those before `end` are stored. Groups are members of W and bias,
// and of nothing else.
template <class In, int Registers> AP_DEV void store_rows(const arguments& p, unsigned char* box,
                                                          const float (&sum)[Registers], int row, int end,
                                                          int column, int group) {
  const int member = p.group_ends != nullptr ? 0 : group;
  const std::int64_t first = row * p.y.row_stride + column + member * p.y.member_stride;
  const int rows = end - row, columns = p.n - column;
  const auto floats = [](float a, float b) { return pack<float, 2>{{a, b}}; };
  if (p.ends_plainly && p.out == element::f32)
    return store_lines(box, sum, static_cast<float*>(p.y.data) + first, p.y.row_stride, rows, columns,
                       floats);
  if (p.ends_plainly && p.out == element_of<In>)
    return store_lines(
        box, sum, static_cast<In*>(p.y.data) + first, p.y.row_stride, rows, columns,
        [](float a, float b) { return std::is_same_v<In, bf16> ? to_bf16s(a, b) : to_halves(a, b); });
  by_lines<float>(box, sum, floats, [&](int y, int x, const float* four) {
    AP_ROLLED
    for (int e = 0; e < 4; ++e)
      if (y < rows && x + e < columns) finish(p, four[e], row + y, column + x + e, member, group);
  });
}

}  // namespace AP_TARGET
}  // namespace antiphase::linears
