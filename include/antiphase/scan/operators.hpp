// SPDX-License-Identifier: Apache-2.0
// The operators of scans, and the concepts that operators and elements must satisfy.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/core/portable.hpp>
#include <antiphase/scan/operation.hpp>
#include <concepts>
#include <limits>
#include <type_traits>

namespace antiphase::scans {

// Elements are moved through shuffles and shared memory as bytes.
template <class T>
concept scannable =
    std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T>;

// A stateless associative operator. It need not be commutative, since operands stay in order, left to right.
// It needs no identity, since it is called on existing elements only.
template <class Op, class T>
concept operator_on = std::is_empty_v<Op> && std::is_default_constructible_v<Op> &&
    requires(Op op, const T& a, const T& b) {
  { op(a, b) } -> std::convertible_to<T>;
};

// The type in which integers wrap around: unsigned, and at least as wide as int, so that it is not promoted
// to a signed type.
template <class T> using wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

// identity<T>() is the neutral element, from which an exclusive scan starts.
struct sum {
  template <class T> AP_FN constexpr T operator()(const T& a, const T& b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<wrapping<T>>(a) + static_cast<wrapping<T>>(b));
    else
      return a + b;
  }
  template <class T> static constexpr T identity() { return T(0); }
};
struct product {
  template <class T> AP_FN constexpr T operator()(const T& a, const T& b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<wrapping<T>>(a) * static_cast<wrapping<T>>(b));
    else
      return a * b;
  }
  template <class T> static constexpr T identity() { return T(1); }
};
// The result is NaN if either operand is, the left one of two. Of equal values (0 and -0 too) the left one is
// kept.
struct minimum {
  template <class T> AP_FN constexpr T operator()(const T& a, const T& b) const {
    return a <= b || a != a ? a : b;
  }
  template <class T> static constexpr T identity() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
};
struct maximum {
  template <class T> AP_FN constexpr T operator()(const T& a, const T& b) const {
    return a >= b || a != a ? a : b;
  }
  template <class T> static constexpr T identity() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
};

// The neutral element: 0 for sums, 1 for products, the type's largest value for minima and its lowest for
// maxima (floats: infinity and -infinity). T: any element type, f16 and bf16 too.
template <class T> constexpr T identity_of(scan_operation operation) {
  if constexpr (std::is_same_v<T, f16>) {
    return to_f16(identity_of<float>(operation));
  } else if constexpr (std::is_same_v<T, bf16>) {
    return to_bf16(identity_of<float>(operation));
  } else {
    switch (operation) {
      case scan_operation::sum: return sum::identity<T>();
      case scan_operation::product: return product::identity<T>();
      case scan_operation::min: return minimum::identity<T>();
      case scan_operation::max: break;
    }
    return maximum::identity<T>();
  }
}

}  // namespace antiphase::scans
