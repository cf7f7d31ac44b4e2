// SPDX-License-Identifier: Apache-2.0
// Lines that have been split before the call, and where their parts are.
#pragma once
#include <antiphase/core/view.hpp>
#include <cstddef>

#include "src/gemm/operands/line_operand.hpp"

namespace antiphase::gemms {

// Of a view whose rows are lines.
inline operand_lines lines_of_rows(const matrix_view<const float>& v) {
  return {v.data, v.rows, v.columns, v.row_stride, v.column_stride};
}
// Whether both are the same elements in the same places; strides that are never taken do not count.
constexpr bool same_lines(const operand_lines& x, const operand_lines& y) {
  if (x.lines != y.lines || x.k != y.k) return false;
  if (x.lines == 0 || x.k == 0) return true;
  return x.data == y.data && (x.lines == 1 || x.line_stride == y.line_stride) &&
         (x.k == 1 || x.k_stride == y.k_stride);
}

// Parts in memory as split_layout has them, those of a piece of K after those of the piece before. No
// memory: there are none.
struct ready_lines {
  operand_lines lines = {};
  std::byte* parts = nullptr;
};
struct ready_operands {
  ready_lines a, b;  // rows of A, columns of B

  bool any() const { return a.parts != nullptr || b.parts != nullptr; }
  // Null if these lines are to be split. Whose they were is no matter: operands change places, and may be the
  // same.
  std::byte* parts_of(const operand_lines& lines) const {
    for (const ready_lines& one : {a, b})
      if (one.parts != nullptr && same_lines(one.lines, lines)) return one.parts;
    return nullptr;
  }
};

}  // namespace antiphase::gemms
