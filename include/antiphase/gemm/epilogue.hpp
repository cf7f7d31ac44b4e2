// SPDX-License-Identifier: Apache-2.0
// What a matrix product does with its results before it stores them.
#pragma once
#include <antiphase/core/view.hpp>
#include <cstdint>

namespace antiphase::gemms {

// A function f of each value v. Where it is a gradient, v becomes v f'(x), with x from epilogue::input.
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

// C(i, j) = scale * f((alpha AB(i, j) + beta R(i, j)) + (row_bias[i] + column_bias[j])), in FP32, with the
// additions as the brackets say. All memory is the device's. Views have C's extents; in a batch, strides (in
// elements) lead from one member to the next, and 0 stands for the same memory for all.
struct epilogue {
  activation function = activation::none;
  float scale = 1;
  const float* row_bias = nullptr;     // one value for each row of C; null: 0
  const float* column_bias = nullptr;  // one for each column
  // R, read if beta is not 0. Without an address R is C. It is C itself or lies apart from it
  matrix_view<const float> residual = {};
  // x of gradients. It lies apart from C, or is C itself: then policies short, stream and dots run
  matrix_view<const float> input = {};
  // with an address: what f is applied to is stored there, as the input of a gradient later
  matrix_view<float> before = {};
  std::int64_t row_bias_stride = 0, column_bias_stride = 0, residual_stride = 0, input_stride = 0,
               before_stride = 0;

  // Whether it does nothing.
  constexpr bool is_plain() const {
    return function == activation::none && scale == 1 && row_bias == nullptr && column_bias == nullptr &&
           residual.data == nullptr && before.data == nullptr;
  }
};

}  // namespace antiphase::gemms
