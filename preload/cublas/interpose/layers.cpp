// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/interpose/layers.hpp"

#include <utility>

#include "preload/cublas/settings.hpp"

namespace antiphase::cublas {
namespace {

bool is_16_bit(int type) { return type == type_f16 || type == type_bf16; }
std::int32_t element_of(int type) {
  return type == type_f16 ? ANTIPHASE_F16 : type == type_bf16 ? ANTIPHASE_BF16 : ANTIPHASE_F32;
}

// The product whose result has contiguous rows: x, or x transposed.
antiphase_sgemm_args by_rows(const antiphase_sgemm_args& x) {
  return x.c_column_stride == 1 ? x : transposed(x);
}

}  // namespace

bool are_of_layer(int a, int b, int c, int compute) {
  return said().batch_invariant && is_16_bit(a) && b == a && (c == a || c == type_f32) &&
         (compute == compute_32f || compute == compute_32f_pedantic);
}

antiphase_sgemm_args transposed(antiphase_sgemm_args x) {
  std::swap(x.m, x.n);
  std::swap(x.a, x.b), std::swap(x.a_batch_stride, x.b_batch_stride);
  std::swap(x.a_row_stride, x.b_column_stride), std::swap(x.a_column_stride, x.b_row_stride);
  std::swap(x.c_row_stride, x.c_column_stride);
  std::swap(x.added_row_stride, x.added_column_stride);
  std::swap(x.row_bias, x.column_bias), std::swap(x.row_bias_batch_stride, x.column_bias_batch_stride);
  return x;
}

bool is_layer(const request& r) {
  const antiphase_sgemm_args x = by_rows(r.args);
  if (x.alpha != 1 || (x.beta != 0 && x.beta != 1) || x.row_bias != nullptr || x.c_column_stride != 1)
    return false;
  // A layer applies its activation before the residual is added, cuBLASLt after it.
  if (x.beta == 1 && x.function != ANTIPHASE_IDENTITY) return false;
  return x.beta == 0 || x.added == nullptr || x.added_column_stride == 1;
}

antiphase_linear_args layer_of(const request& r) {
  const antiphase_sgemm_args x = by_rows(r.args);
  antiphase_linear_args y = ANTIPHASE_LINEAR_ARGS_INIT;
  y.device = x.device, y.type = element_of(r.type), y.result_type = element_of(r.result);
  y.function = x.function;
  y.m = x.m, y.n = x.n, y.k = x.k, y.members = x.batch;
  y.x = {x.a, x.a_row_stride, x.a_column_stride, x.a_batch_stride};
  y.w = {x.b, x.b_column_stride, x.b_row_stride, x.b_batch_stride};
  y.y = x.c, y.y_row_stride = x.c_row_stride, y.y_member_stride = x.batch > 1 ? x.c_batch_stride : 0;
  y.bias = x.column_bias, y.bias_member_stride = x.column_bias_batch_stride;
  if (x.beta == 1) {
    const bool other = x.added != nullptr;
    y.residual = other ? x.added : x.c;
    y.residual_row_stride = other ? x.added_row_stride : x.c_row_stride;
    y.residual_member_stride = x.batch == 1 ? 0 : other ? x.added_batch_stride : x.c_batch_stride;
  }
  return y;
}

}  // namespace antiphase::cublas
