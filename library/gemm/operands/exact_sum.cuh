// SPDX-License-Identifier: Apache-2.0
// Shared by kernels that add up in FP64: lines of operands, stores, and an exact sum of a few products.
#pragma once
#include <antiphase/gemm/problem.hpp>
#include "library/gemm/operands/finish/blend.cuh"
#include "library/gemm/operands/line_operand.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

AP_DEV operand_lines rows_of_a(const problem& p) {
  return {p.a.data, p.a.rows, p.k(), p.a.row_stride, p.a.column_stride};
}
AP_DEV operand_lines columns_of_b(const problem& p) {
  return {p.b.data, p.b.columns, p.k(), p.b.column_stride, p.b.row_stride};
}

// The value to store at *c for a sum. Products with an epilogue have overloads of their own.
AP_DEV float stored(const problem& p, float sum, std::int64_t, std::int64_t, const float* c) {
  return blend(p, sum, c);
}
template <class Problem>
AP_DEV void store_rounded(const Problem& p, std::int64_t row, std::int64_t column, double sum) {
  float& c = p.c(row, column);
  c = stored(p, static_cast<float>(sum), row, column, &c);
}

// A compensated sum of up to four products in FP64: the rounding error of each addition (TwoSum) is added at
// the end. One product is rounded once; two are, too, except for a second rounding 2^29 times finer; so are
// three and four unless they cancel to less than about 2^-50 of their size. So the result is exact if it is
// an FP32 number (identity, permutations), otherwise within 0.5 + 2^-28 units in its last place.
struct exact_sum {
  double value = 0, cut = 0;
  AP_DEV void add(double x) {
    const double sum = value + x, taken = sum - value;
    cut += (value - (sum - taken)) + (x - taken);
    value = sum;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
