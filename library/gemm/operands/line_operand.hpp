// SPDX-License-Identifier: Apache-2.0
// An operand by its lines, rows of A or columns of B: C's elements are dot products of lines.
#pragma once
#include <antiphase/core/view.hpp>
#include <cstdint>

namespace antiphase::gemms {

// One operand of a batch of products. Element (l, k) of member b:
// data[b * batch_stride + l * line_stride + k * k_stride], or, with an array of pointers,
// member[b][l * line_stride + k * k_stride].
struct line_operand {
  const float* data;
  const float* const* member;
  std::int64_t lines, line_stride, k_stride, batch_stride;
  bool along_k;  // contiguous, or with the smaller stride, along k; else across k, along the lines' index
  // Width of a copy in floats: 2 or 4 if elements are contiguous and all rows are aligned to it (by pointers:
  // if the matrix is), else 1.
  std::int32_t width;

  AP_FN const float* of_member(std::int64_t n) const {
    return member != nullptr ? member[n] : data + n * batch_stride;
  }
};

// A line is a row of A or a column of B: every element of it belongs to another k. Element (l, k) lies at
// data[l * line_stride + k * k_stride].
struct operand_lines {
  const float* data;
  std::int64_t lines, k;
  std::int64_t line_stride, k_stride;
};

// A line with no more nonzeros is sparse: fp16 and fp16-mma multiply it exactly. With no more k, no policy
// with a certificate is worth it.
constexpr int sparse_nonzeros = 4;

// The rows of v as lines.
line_operand lines_of(const matrix_view<const float>& v, const float* const* member,
                      std::int64_t batch_stride);

}  // namespace antiphase::gemms
