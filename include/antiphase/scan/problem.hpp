// SPDX-License-Identifier: Apache-2.0
// What a scan is asked to do.
#pragma once
#include <antiphase/core/element.hpp>
#include <antiphase/scan/operation.hpp>
#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace antiphase {
namespace scans {

// A number of any arithmetic type, as it was given.
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

// Whether elements of a type may be added up in another: integers in wider ones of 32 or 64 bits, floats in
// the next wider ones.
constexpr bool accumulates(element from, element to) {
  if (is_half(from)) return to == element::f32;
  if (is_floating(from)) return from == element::f32 && to == element::f64;
  return !is_floating(to) && size_of(to) > size_of(from) && size_of(to) >= 4;
}

// outer x inner scans of `length` elements each, over one densely packed array: element i of the scan (o, j)
// lies at (o * length + i) * inner + j. A scan along axis a of a C-ordered array has outer = the product of
// the extents before a, inner = the product of those after it. `in` and `out` may be the same pointer, but
// not overlap in another way.
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
  // Where an exclusive scan begins, every line of it; none: at the operator's identity. In the type of the
  // results: an integer type must hold the number, a floating one rounds it.
  std::optional<scan_value> initial = {};
  // The type of the results and of all sums; none: that of the elements. Sums only, and types that
  // accumulates() allows.
  std::optional<element> accumulate = {};
};

// What tells the segments of an array apart.
enum class segments_by {
  // a segment ends where the next element's key is another one; NaN differs from everything, -0 is 0
  keys,
  head_flags,  // one byte for each element: a segment begins where it is not 0
};
struct scan_keys {
  const void* data = nullptr;  // as many as elements, aligned to their size
  element type = element::i32;
  segments_by by = segments_by::keys;
};

}  // namespace scans

// What the calls of scan.hpp take.
using scan_problem = scans::problem;
using scans::scan_keys, scans::scan_value, scans::segments_by;

}  // namespace antiphase
