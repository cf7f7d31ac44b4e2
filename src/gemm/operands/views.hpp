// SPDX-License-Identifier: Apache-2.0
// Judging the memory that a product is given.
#pragma once
#include <antiphase/core/view.hpp>
#include <cstdint>
#include <string_view>

namespace antiphase::gemms {

// A view in numbers, so that one code judges all types of elements.
struct judged_view {
  std::string_view name;
  std::uintptr_t address;
  std::int64_t rows, columns, row_stride, column_stride;  // strides in elements
  std::int64_t element;                                   // bytes
  std::int64_t members = 1, member_stride = 0;            // of a batch, in elements
};
template <class T> judged_view judged(std::string_view name, const matrix_view<T>& v) {
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
inline judged_view judged(std::string_view name, const void* bytes, std::int64_t count) {
  return {name, reinterpret_cast<std::uintptr_t>(bytes), 1, count, 0, 1, 1, 1, 0};
}

// A stride that is larger than any matrix is refused, unless it is never taken. Kernels multiply it by places
// behind the last row or column, without looking there; so from this on, up to which nothing overflows, it
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

// Each throws bad_request with a sentence that names the view. The extents are those of a matrix.
void require_extents(const judged_view& v);
// Of a view with elements: it has an address, aligned to an element, and reaches no further than memory. The
// others expect that.
void require_memory(const judged_view& v);
// Each element has a place of its own, across the batch.
void require_distinct(const judged_view& v);
// Whether element (i, j) of each member of both is the same one.
bool same_places(const judged_view& v, const judged_view& other);
// No byte belongs to both. What is refused does overlap; interleaved views are let through. It finds every
// overlap of views whose elements lie side by side along one index, or as far apart as all their strides have
// in common; others it finds by the first element only. Of batches it looks at the pairs of members that
// reach into each other, up to 2^16 of them.
void require_apart(const judged_view& v, const judged_view& from);
// All bytes of a view with elements that passed require_memory() lie between these addresses.
struct memory_range {
  std::uintptr_t first, end;
};
memory_range range_of(const judged_view& v);
void require_another_start(const judged_view& v, const judged_view& other);

}  // namespace antiphase::gemms
