// SPDX-License-Identifier: Apache-2.0
// The arguments of a scan.
#pragma once
#include <antiphase/core/element.hpp>
#include <antiphase/scan/operation.hpp>
#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace antiphase {
namespace scans {

// A number of any arithmetic type, kept without conversion.
class scan_value {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr scan_value(T x)
      : kind_(std::is_floating_point_v<T> ? floating
              : std::is_signed_v<T>       ? integer
                                          : natural),
        real_(std::is_floating_point_v<T> ? static_cast<double>(x) : 0),
        whole_(std::is_floating_point_v<T> ? 0 : static_cast<std::uint64_t>(x)) {}
  // Calls f with the double, the std::int64_t or the std::uint64_t.
  template <class F> constexpr auto visit(F f) const {
    return kind_ == floating ? f(real_) : kind_ == integer ? f(static_cast<std::int64_t>(whole_)) : f(whole_);
  }

 private:
  enum { floating, integer, natural } kind_;
  double real_;
  std::uint64_t whole_;
};

// Whether elements of type `from` may be summed in type `to`: integers in wider ones of 32 or 64 bits, floats
// in the next wider type.
constexpr bool accumulates(element from, element to) {
  if (is_half(from)) return to == element::f32;
  if (is_floating(from)) return from == element::f32 && to == element::f64;
  return !is_floating(to) && size_of(to) > size_of(from) && size_of(to) >= 4;
}

// outer x inner scans of `length` elements each, over one densely packed array: element i of scan (o, j) lies
// at (o * length + i) * inner + j. A scan along axis a of a C-ordered array has outer = the product of the
// extents before a, inner = the product of those after it:
//
//   {.in = in, .out = out, .length = n}                                        // one line
//   {.in = in, .out = out, .outer = rows, .length = columns}                   // each row
//   {.in = in, .out = out, .length = rows, .inner = columns}                   // each column
//   {.type = element::u8, .in = in, .out = out, .length = n, .accumulate = element::u32}   // wider sums
//
// `in` and `out` may be equal, but not overlap otherwise.
struct problem {
  element type = element::f32;
  scan_operation operation = scan_operation::sum;
  scan_kind kind = scan_kind::inclusive;
  scan_direction direction = scan_direction::forward;
  const void* in = nullptr;
  void* out = nullptr;
  std::int64_t outer = 1;
  std::int64_t length = 0;
  std::int64_t inner = 1;
  // The initial value of every line of an exclusive scan; none: the operator's identity. Converted to the
  // type of the results: an integer type must hold the number, a floating-point type rounds it.
  std::optional<scan_value> initial = {};
  // The type of the results and of all intermediate sums; none: that of the elements. For sums only, and
  // types that accumulates() allows.
  std::optional<element> accumulate = {};
};

// How segments are marked.
enum class segments_by {
  // a segment ends where the next element's key differs; NaN differs from every key, -0 equals 0
  keys,
  head_flags,  // one byte for each element: a segment begins where it is not 0
};
// Keys or head flags of scan_by_key(), in device memory.
struct scan_keys {
  const void* data = nullptr;  // one for each element, aligned to its size
  element type = element::i32;
  segments_by segments = segments_by::keys;
};

}  // namespace scans

// The names that the calls of scan.hpp use.
using scan_problem = scans::problem;
using scans::scan_keys, scans::scan_value, scans::segments_by;

}  // namespace antiphase
