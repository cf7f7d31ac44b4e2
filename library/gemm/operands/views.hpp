// SPDX-License-Identifier: Apache-2.0
// Checks of the memory that a product is given: addresses, extents, overlaps.
#pragma once
#include <antiphase/core/view.hpp>
#include <cstdint>
#include <string_view>

namespace antiphase::gemms {

// A view without its element type, so that the checks are compiled once.
struct named_view {
  std::string_view name;
  std::uintptr_t address;
  std::int64_t rows, columns, row_stride, column_stride;  // strides in elements
  std::int64_t element;                                   // bytes
  std::int64_t members = 1, member_stride = 0;            // of a batch, in elements
};
template <class T> named_view named(std::string_view name, const matrix_view<T>& v) {
  return {name,
          reinterpret_cast<std::uintptr_t>(v.data),
          v.rows,
          v.columns,
          v.row_stride,
          v.column_stride,
          sizeof(T),
          1,
          0};
}
inline named_view named(std::string_view name, const void* bytes, std::int64_t count) {
  return {name, reinterpret_cast<std::uintptr_t>(bytes), 1, count, 0, 1, 1, 1, 0};
}

// Views that reach further are refused. A larger stride is valid where the extent is 1; but kernels compute
// addresses beyond the last row or column, without accessing them, and that would overflow: so such a stride
// becomes 0.
constexpr std::int64_t most_bytes = std::int64_t{1} << 52;
template <class T> matrix_view<T> without_idle_strides(matrix_view<T> v) {
  const auto idle = [](std::int64_t extent, std::int64_t stride) {
    return extent <= 1 && (stride > most_bytes || stride < -most_bytes);
  };
  if (idle(v.rows, v.row_stride) || v.columns == 0) v.row_stride = 0;
  if (idle(v.columns, v.column_stride) || v.rows == 0) v.column_stride = 0;
  return v;
}

// The require functions throw bad_request with a sentence that names the view. Extents are not negative:
void require_extents(const named_view& v);
// A view with elements has a non-null address, aligned to an element, and stays within the address space. The
// functions below expect that.
void require_memory(const named_view& v);
// No two elements share an address, across the batch.
void require_distinct(const named_view& v);
// Whether element (i, j) of member n has the same address in both, for all i, j and n.
bool same_places(const named_view& v, const named_view& other);
// The views share no byte. No false positives: interleaved views pass. All overlaps are found if the elements
// of both are contiguous along one index, or if the smaller stride of each is the greatest common divisor of
// all strides; otherwise only equal first addresses are. In batches, pairs of members whose ranges intersect
// are compared, up to 2^16 pairs.
void require_apart(const named_view& v, const named_view& from);
// The byte range of a view with elements that passed require_memory().
struct memory_range {
  std::uintptr_t first, end;
};
memory_range range_of(const named_view& v);
void require_another_start(const named_view& v, const named_view& other);

}  // namespace antiphase::gemms
