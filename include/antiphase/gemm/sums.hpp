// SPDX-License-Identifier: Apache-2.0
// Sums of a matrix's columns and rows, as products with ones: gradients of biases.
#pragma once
#include <antiphase/gemm/problem.hpp>

namespace antiphase::gemms {

// to[j] = C(0, j) + C(1, j) + ..., for each column j of C. `one` points to a float of the device that is 1,
// `to` to as many floats as C has columns. alpha scales the sums, beta = 1 adds them to what is there. As
// every product: the same bits in every run, and with what auto takes where FP64 is fast (compute capability
// 8.0, 9.0, 10.0) sums in FP64, rounded once.
constexpr problem column_sums(const matrix_view<const float>& c, const float* one, float* to) {
  return {.a = {one, 1, c.rows, 0, 0}, .b = c, .c = row_major(to, 1, c.columns)};
}
// to[i] = C(i, 0) + C(i, 1) + ..., for each row.
constexpr problem row_sums(const matrix_view<const float>& c, const float* one, float* to) {
  return {.a = c, .b = {one, c.columns, 1, 0, 0}, .c = column_major(to, c.rows, 1)};
}

}  // namespace antiphase::gemms
