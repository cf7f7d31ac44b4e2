// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/operands/views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace antiphase::gemms {
namespace {

bool has_elements(const named_view& v) { return v.rows > 0 && v.columns > 0 && v.members > 0; }

std::string described(const named_view& v) {
  std::string text = fmt::format("{} is {} x {} with strides {} and {}", v.name, v.rows, v.columns,
                                 v.row_stride, v.column_stride);
  if (v.members > 1) text += fmt::format(", {} times, {} elements apart", v.members, v.member_stride);
  return text;
}

// Bytes from the first element's address to the lowest element and to the end of the highest one; nothing if
// they are more than most_bytes apart.
struct reach {
  std::int64_t low = 0, end = 0;
};
std::optional<reach> reach_of(const named_view& v) {
  reach r;
  for (const auto& [extent, stride] : {std::pair{v.rows, v.row_stride}, std::pair{v.columns, v.column_stride},
                                       std::pair{v.members, v.member_stride}}) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(extent - 1, stride, &bytes) ||
        __builtin_mul_overflow(bytes, v.element, &bytes))
      return std::nullopt;
    if (bytes > most_bytes || bytes < -most_bytes) return std::nullopt;
    (bytes < 0 ? r.low : r.end) += bytes;
  }
  r.end += v.element;
  if (r.end - r.low > most_bytes) return std::nullopt;
  return r;
}

// A dimension with one index, or a stride of 0, counts as extent 1.
struct dimension {
  std::int64_t extent = 1, stride = 0;  // bytes, not negative
};
struct lattice {
  dimension outer, inner;  // inner: the smaller stride
};
lattice lattice_of(const named_view& v) {
  const auto along = [&](std::int64_t extent, std::int64_t stride) {
    return extent > 1 && stride != 0 ? dimension{extent, (stride < 0 ? -stride : stride) * v.element}
                                     : dimension{};
  };
  lattice l{along(v.rows, v.row_stride), along(v.columns, v.column_stride)};
  if (l.inner.extent == 1 || (l.outer.extent > 1 && l.outer.stride < l.inner.stride))
    std::swap(l.outer, l.inner);
  return l;
}
// `count` contiguous runs of `length` bytes, `apart` bytes from one to the next.
struct runs {
  std::int64_t count, apart, length;
};
// The lattice as runs, with elements widened to `width` bytes; nothing if a run still has gaps.
std::optional<runs> runs_of(const lattice& l, std::int64_t width) {
  if (l.inner.extent == 1 || l.inner.stride == width)
    return runs{l.outer.extent, l.outer.stride, l.inner.extent * width};
  if (l.outer.extent == 1) return runs{l.inner.extent, l.inner.stride, width};
  return std::nullopt;
}

std::int64_t floor_div(std::int64_t value, std::int64_t by) { return value / by - (value % by < 0); }

// Whether some i in [first, end) has low < i * step < high.
bool any_between(std::int64_t low, std::int64_t high, std::int64_t first, std::int64_t end,
                 std::int64_t step) {
  if (step == 0) return low < 0 && 0 < high;
  return std::max(floor_div(low, step) + 1, first) <= std::min(-floor_div(-high, step) - 1, end - 1);
}

// Whether runs share a byte, if b begins `distance` bytes after a. Cost: a few operations for each run of the
// one with fewer, which is little next to a product.
bool meet(const runs& a, const runs& b, std::int64_t distance) {
  if (b.count > a.count) return meet(b, a, -distance);
  if (a.apart == b.apart)
    return any_between(-distance - b.length, a.length - distance, 1 - a.count, b.count, a.apart);
  for (std::int64_t j = 0; j < b.count; ++j) {
    const std::int64_t at = distance + j * b.apart;
    if (any_between(at - a.length, at + b.length, 0, a.count, a.apart)) return true;
  }
  return false;
}

// Whether two matrices, without their batches, overlap; see require_apart() for what it may miss.
bool matrices_overlap(const named_view& a, const named_view& b) {
  const reach of_a = reach_of(a).value(), of_b = reach_of(b).value();
  const std::uintptr_t first_a = a.address + static_cast<std::uintptr_t>(of_a.low),
                       first_b = b.address + static_cast<std::uintptr_t>(of_b.low);
  const auto size_a = static_cast<std::uintptr_t>(of_a.end - of_a.low),
             size_b = static_cast<std::uintptr_t>(of_b.end - of_b.low);
  if (first_a < first_b ? first_b - first_a >= size_a : first_a - first_b >= size_b) return false;
  const auto distance = static_cast<std::int64_t>(first_b - first_a);
  const lattice in_a = lattice_of(a), in_b = lattice_of(b);
  std::int64_t common = 0;  // gcd of all strides: elements lie at multiples of it from the first
  for (const dimension& d : {in_a.outer, in_a.inner, in_b.outer, in_b.inner})
    common = std::gcd(common, d.stride);
  if (common > 0) {
    const std::int64_t left = distance - floor_div(distance, common) * common;
    if (left >= a.element && common - left >= b.element) return false;
    if (left == 0 && a.element == b.element)
      if (const auto wide_a = runs_of(in_a, common), wide_b = runs_of(in_b, common); wide_a && wide_b)
        return meet(*wide_a, *wide_b, distance);
  }
  if (const auto runs_a = runs_of(in_a, a.element), runs_b = runs_of(in_b, b.element); runs_a && runs_b)
    return meet(*runs_a, *runs_b, distance);
  return a.address == b.address;
}

named_view member_of(const named_view& v, std::int64_t n) {
  named_view one = v;
  one.address += static_cast<std::uintptr_t>(n * v.member_stride * v.element);
  one.members = 1, one.member_stride = 0;
  return one;
}
// Members [first, end) of b whose byte range intersects that of a with all its members.
struct range {
  std::int64_t first, end;
};
range members_near(const named_view& a, const named_view& b) {
  const reach of_a = reach_of(a).value(), of_one = reach_of(member_of(b, 0)).value();
  const std::int64_t apart = b.members > 1 ? b.member_stride * b.element : 0;
  // from a to member 0
  const auto distance = static_cast<std::int64_t>(b.address - a.address);
  // low < n * apart < high
  const std::int64_t low = of_a.low - of_one.end - distance, high = of_a.end - of_one.low - distance;
  if (apart == 0) return low < 0 && 0 < high ? range{0, b.members > 0} : range{0, 0};
  const std::int64_t from = apart > 0 ? floor_div(low, apart) + 1 : floor_div(-high, -apart) + 1,
                     to = apart > 0 ? -floor_div(-high, apart) - 1 : -floor_div(low, -apart) - 1;
  return {std::max<std::int64_t>(from, 0), std::min(to + 1, b.members)};
}

bool overlap(const named_view& a, const named_view& b) {
  if (a.members == 1 && b.members == 1) return matrices_overlap(a, b);
  if (a.member_stride == 0 && a.members > 1) return overlap(member_of(a, 0), b);
  std::int64_t left = std::int64_t{1} << 16;  // pairs to look at
  const range near_b = members_near(b, a);
  for (std::int64_t i = near_b.first; i < near_b.end; ++i) {
    const named_view one = member_of(a, i);
    const range near = members_near(one, b);
    for (std::int64_t j = near.first; j < near.end; ++j) {
      if (matrices_overlap(one, member_of(b, j))) return true;
      if (--left == 0) return false;
    }
  }
  return false;
}

// Whether i * row + j * column = sum for some |i| < rows, |j| < columns. Strides are not negative.
bool reaches(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
             std::int64_t sum) {
  if (row < column) return reaches(column, columns, row, rows, sum);
  if (row == 0) return sum == 0;
  if (column == 0) return sum % row == 0 && std::abs(sum / row) < rows;
  // Rows from which columns can reach the sum: few if strides nest, as in matrices.
  const std::int64_t most = (columns - 1) * column, first = std::max(-floor_div(most - sum, row), 1 - rows),
                     end = std::min(floor_div(sum + most, row) + 1, rows);
  for (std::int64_t i = first; i < end; ++i)
    if ((sum - i * row) % column == 0 && std::abs((sum - i * row) / column) < columns) return true;
  return false;
}

}  // namespace

void require_extents(const named_view& v) {
  if (v.rows < 0 || v.columns < 0)
    throw bad_request(fmt::format("{} is {} x {}: extents must not be negative", v.name, v.rows, v.columns));
}

void require_memory(const named_view& v) {
  if (!has_elements(v)) return;
  if (v.address == 0)
    throw bad_request(
        fmt::format("{} is a null pointer: expected {} x {} elements", v.name, v.rows, v.columns));
  if (v.address % static_cast<std::uintptr_t>(v.element) != 0)
    throw bad_request(
        fmt::format("{} is at address {:#x}: expected a multiple of {}, the size of its elements", v.name,
                    v.address, v.element));
  const auto r = reach_of(v);
  if (!r)
    throw bad_request(fmt::format("{}: expected less than 2^52 bytes from its lowest element to its highest",
                                  described(v)));
  constexpr std::uintptr_t last = std::numeric_limits<std::uintptr_t>::max();
  if (v.address < static_cast<std::uintptr_t>(-r->low) ||
      last - v.address < static_cast<std::uintptr_t>(r->end))
    throw bad_request(
        fmt::format("{}, at address {:#x}: expected elements that lie between the ends of memory",
                    described(v), v.address));
}

// Elements (i, j) and (i + a, j - b) share an address if a * row_stride = b * column_stride; the least such a
// is column_stride / gcd. In a batch, element (i, j) of a member and (i + a, j + b) of the n-th one after it
// do if a * row_stride + b * column_stride = -n * stride, which takes members whose ranges intersect.
void require_distinct(const named_view& v) {
  if (!has_elements(v)) return;
  const auto taken = [](std::int64_t extent, std::int64_t stride) {
    return extent > 1 ? std::abs(stride) : 0;
  };
  const std::int64_t row = taken(v.rows, v.row_stride), column = taken(v.columns, v.column_stride),
                     common = std::gcd(row, column);
  const bool rows_meet = v.rows > 1 && row == 0, columns_meet = v.columns > 1 && column == 0;
  bool meet = rows_meet || columns_meet ||
              (row > 0 && column > 0 && column / common < v.rows && row / common < v.columns);
  const std::int64_t apart = taken(v.members, v.member_stride),
                     span = (v.rows - 1) * row + (v.columns - 1) * column;
  if (v.members > 1 && apart == 0) meet = true;
  for (std::int64_t n = 1; !meet && n < v.members && n * apart <= span; ++n)
    meet = reaches(row, v.rows, column, v.columns, n * apart);
  if (meet) throw bad_request(fmt::format("{}: its elements would overlap", described(v)));
}

bool same_places(const named_view& v, const named_view& other) {
  const auto same = [](std::int64_t extent, std::int64_t one, std::int64_t two) {
    return extent <= 1 || one == two;
  };
  return v.address == other.address && same(v.rows, v.row_stride, other.row_stride) &&
         same(v.columns, v.column_stride, other.column_stride) &&
         same(v.members, v.member_stride, other.member_stride);
}

memory_range range_of(const named_view& v) {
  const reach r = reach_of(v).value();
  return {v.address + static_cast<std::uintptr_t>(r.low), v.address + static_cast<std::uintptr_t>(r.end)};
}

void require_another_start(const named_view& v, const named_view& other) {
  if (has_elements(v) && has_elements(other) && v.address == other.address)
    throw bad_request(
        fmt::format("{} has the same address as {}: they must not overlap", v.name, other.name));
}

void require_apart(const named_view& v, const named_view& from) {
  if (!has_elements(v) || !has_elements(from) || !overlap(v, from)) return;
  require_another_start(v, from);
  throw bad_request(fmt::format("{} at {:#x} overlaps {} at {:#x}: they must lie apart", v.name, v.address,
                                from.name, from.address));
}

}  // namespace antiphase::gemms
