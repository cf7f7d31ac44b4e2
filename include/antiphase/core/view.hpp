// SPDX-License-Identifier: Apache-2.0
// A non-owning view of a matrix: pointer, extents and strides.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>
#include <type_traits>

namespace antiphase {

// rows x columns elements; element (i, j) is data[i * row_stride + j * column_stride]. Strides count
// elements. They may be negative (backwards), and zero (broadcast) in a matrix that is only read.
//
//   row_major(p, 300, 200)               // densely packed rows
//   column_major(p, m, n, ld)            // as BLAS has it, with a leading dimension
//   transposed(column_major(p, k, m))    // m x k, no copy
//
template <class T> struct matrix_view {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;

  AP_FN constexpr T& operator()(std::int64_t i, std::int64_t j) const {
    return data[i * row_stride + j * column_stride];
  }
  // Converts to a read-only view.
  template <class U>
  requires(std::is_same_v<U, const T> && !std::is_const_v<T>) AP_FN constexpr operator matrix_view<U>()
      const {
    return {data, rows, columns, row_stride, column_stride};
  }
};

// `stride`: elements from row to row, at least `columns`; 0: densely packed. Negative: row 0 has the highest
// address.
template <class T> AP_FN constexpr matrix_view<T> row_major(T* data, std::int64_t rows, std::int64_t columns,
                                                            std::int64_t stride = 0) {
  return {data, rows, columns, stride != 0 ? stride : columns, 1};
}
// `stride`: elements from column to column (the leading dimension), at least `rows`, or negative; 0: densely
// packed.
template <class T> AP_FN constexpr matrix_view<T> column_major(T* data, std::int64_t rows,
                                                               std::int64_t columns,
                                                               std::int64_t stride = 0) {
  return {data, rows, columns, 1, stride != 0 ? stride : rows};
}
template <class T> AP_FN constexpr matrix_view<T> transposed(matrix_view<T> v) {
  return {v.data, v.columns, v.rows, v.column_stride, v.row_stride};
}

}  // namespace antiphase
