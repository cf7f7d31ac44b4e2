// SPDX-License-Identifier: Apache-2.0
// The operands of a matrix product.
#pragma once
#include <antiphase/core/view.hpp>

namespace antiphase::gemms {

// C = alpha * A * B + beta * C with A of M x K, B of K x N, C of M x N, any strides. C is not read if beta is
// 0, of either sign. Also the params of every GEMM kernel: for alpha = 0 the host passes K = 0, so that A and
// B stay unread.
struct problem {
  matrix_view<const float> a;
  matrix_view<const float> b;
  matrix_view<float> c;
  float alpha = 1;
  float beta = 0;

  AP_FN constexpr std::int64_t m() const { return c.rows; }
  AP_FN constexpr std::int64_t n() const { return c.columns; }
  AP_FN constexpr std::int64_t k() const { return a.columns; }
};

}  // namespace antiphase::gemms
