// SPDX-License-Identifier: Apache-2.0
// What a matrix product is asked to do.
#pragma once
#include <antiphase/core/view.hpp>

namespace antiphase::gemms {

// C = alpha * A * B + beta * C with A of M x K, B of K x N, C of M x N, any strides. Also the params of every
// GEMM kernel: with alpha = 0 the host hands it K = 0, so that A and B stay unread; with beta = 0 (of either
// sign) C is not read.
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
