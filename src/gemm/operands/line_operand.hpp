// SPDX-License-Identifier: Apache-2.0
// An operand as the lines that are multiplied with each other: rows of A, columns of B.
#pragma once
#include <antiphase/core/view.hpp>
#include <cstdint>

namespace antiphase::gemms {

// One operand of a batch of products. Element (l, k) of member b lies at data[b * batch_stride + l *
// line_stride + k * k_stride], or, with an array of pointers, at member[b][l * line_stride + k * k_stride].
struct line_operand {
  const float* data;
  const float* const* member;
  std::int64_t lines, line_stride, k_stride, batch_stride;
  bool along_k;  // elements lie side by side, or are closer together, along k; else along lines
  // Floats of a copy: 1, or 2 or 4 if elements lie side by side, and rows begin at multiples of as many if
  // the matrix does.
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

// A line with no more nonzeros is sparse: policies with a certificate multiply it exactly.
constexpr int sparse_nonzeros = 4;

// Of a view whose rows are lines.
line_operand lines_of(const matrix_view<const float>& v, const float* const* member,
                      std::int64_t batch_stride);

}  // namespace antiphase::gemms
