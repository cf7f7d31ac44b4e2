// SPDX-License-Identifier: Apache-2.0
// An epilogue as kernels see it.
#pragma once
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstdint>

namespace antiphase::gemms {

// Matrices of a batch. Element (i, j) of member n:
// data[i * row_stride + j * column_stride + n * member_stride].
template <class T> struct members {
  T* data;
  std::int64_t row_stride, column_stride, member_stride;

  AP_FN constexpr T* at(std::int64_t i, std::int64_t j, std::int64_t n) const {
    return data + i * row_stride + j * column_stride + n * member_stride;
  }
};

template <class T> members<T> members_of(const matrix_view<T>& v, std::int64_t member_stride) {
  return {v.data, v.row_stride, v.column_stride, member_stride};
}

// The epilogue of a kernel: from a sum of products to C. `plain`: only alpha and beta; a kernel may then
// ignore the other members.
struct ending {
  activation function;
  bool plain;
  float alpha, beta, scale;
  members<const float> residual, input;  // residual with a null address: C itself
  members<float> before;                 // null address: not stored
  const float* row_bias;
  const float* column_bias;
  std::int64_t row_bias_stride, column_bias_stride;  // from member to member
};
inline ending ending_of(const problem& p, const epilogue& e) {
  return {e.function,
          e.is_plain(),
          p.alpha,
          p.beta,
          e.scale,
          members_of(e.residual, e.residual_stride),
          members_of(e.input, e.input_stride),
          members_of(e.before, e.before_stride),
          e.row_bias,
          e.column_bias,
          e.row_bias_stride,
          e.column_bias_stride};
}
// Whether the epilogue is at most additions, ReLU and a factor: all that kernels with many outputs per thread
// apply themselves.
inline bool is_brief(const epilogue& e) {
  return (e.function == activation::none || e.function == activation::relu) && e.before.data == nullptr;
}
// The epilogue of one member of a batch.
inline epilogue member_of(const epilogue& e, std::int64_t n) {
  epilogue one = e;
  const auto step = [n](auto& data, std::int64_t& stride) {
    if (data != nullptr) data += n * stride;
    stride = 0;
  };
  step(one.row_bias, one.row_bias_stride), step(one.column_bias, one.column_bias_stride);
  step(one.residual.data, one.residual_stride), step(one.input.data, one.input_stride),
      step(one.before.data, one.before_stride);
  return one;
}
// The same epilogue for the transposed product.
inline ending transposed(const ending& e) {
  ending t = e;
  const auto turn = [](auto& v) { v = {v.data, v.column_stride, v.row_stride, v.member_stride}; };
  turn(t.residual), turn(t.input), turn(t.before);
  t.row_bias = e.column_bias, t.row_bias_stride = e.column_bias_stride;
  t.column_bias = e.row_bias, t.column_bias_stride = e.row_bias_stride;
  return t;
}

}  // namespace antiphase::gemms
