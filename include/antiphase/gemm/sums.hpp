// SPDX-License-Identifier: Apache-2.0
// Sums of a matrix's columns and rows, as products with ones: gradients of biases.
#pragma once
#include <antiphase/gemm/problem.hpp>

namespace antiphase::gemms {

// The problem to[j] = C(0, j) + C(1, j) + ..., for each column j of C:
//
//   gemm(where, gemms::column_sums(gradient, one, bias_gradient), {.stream = stream});
//
// `one` points to a float 1 in device memory, `to` to as many floats as C has columns. Set alpha to scale the
// sums, beta = 1 to accumulate. Results have the same bits in every run. Where FP64 is fast (compute
// capability 8.0, 9.0, 10.0), policy auto sums in FP64 and rounds once.
constexpr problem column_sums(const matrix_view<const float>& c, const float* one, float* to) {
  return {.a = {one, 1, c.rows, 0, 0}, .b = c, .c = row_major(to, 1, c.columns)};
}
// The problem to[i] = C(i, 0) + C(i, 1) + ..., for each row i.
constexpr problem row_sums(const matrix_view<const float>& c, const float* one, float* to) {
  return {.a = c, .b = {one, c.columns, 1, 0, 0}, .c = column_major(to, c.rows, 1)};
}

}  // namespace antiphase::gemms
