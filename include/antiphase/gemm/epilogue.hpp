// SPDX-License-Identifier: Apache-2.0
// Epilogues: what is applied to the results of a matrix product before they are stored.
#pragma once
#include <antiphase/core/view.hpp>
#include <cstdint>

namespace antiphase::gemms {

// The activation function f of each value v. A gradient turns v into v f'(x), with x from epilogue::input.
//   relu        v if v > 0, else 0; NaN stays NaN. Its gradient at 0 is 0.
//   gelu        v Phi(v), with the normal distribution's Phi
//   gelu_tanh   v (1 + tanh(sqrt(2 / pi) (v + 0.044715 v^3))) / 2, which approximates it
enum class activation : unsigned char {
  none,
  relu,
  gelu,
  gelu_tanh,
  relu_gradient,
  gelu_gradient,
  gelu_tanh_gradient
};
constexpr bool is_gradient(activation f) { return f >= activation::relu_gradient; }

// C(i, j) = scale * f((alpha AB(i, j) + beta R(i, j)) + (row_bias[i] + column_bias[j])), in FP32, added in
// the order of the brackets:
//
//   gemm(where, {.a = x, .b = w, .c = y},
//        {.epilogue = {.function = activation::gelu, .column_bias = bias, .before = pre_activation}});
//
// All memory is device memory, and views have C's extents. In a batch, the strides (in elements) lead from
// one member to the next; 0: the same memory for all.
struct epilogue {
  activation function = activation::none;
  float scale = 1;
  const float* row_bias = nullptr;     // one value for each row of C; null: 0
  const float* column_bias = nullptr;  // one for each column
  // R, read if beta is not 0. A null view: R is C. Must be C itself or not overlap it
  matrix_view<const float> residual = {};
  // x of gradients. Must not overlap C, or be C itself: then only fp64-short, fp64 and fp64-dots can run
  matrix_view<const float> input = {};
  // if not null: receives the argument of f, the input of a later gradient
  matrix_view<float> before = {};
  std::int64_t row_bias_stride = 0, column_bias_stride = 0, residual_stride = 0, input_stride = 0,
               before_stride = 0;

  // Whether it leaves results as they are.
  constexpr bool is_plain() const {
    return function == activation::none && scale == 1 && row_bias == nullptr && column_bias == nullptr &&
           residual.data == nullptr && before.data == nullptr;
  }
};

}  // namespace antiphase::gemms
