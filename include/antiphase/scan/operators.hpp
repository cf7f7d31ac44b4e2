// SPDX-License-Identifier: Apache-2.0
// The table of the operators of scans, and the concepts that operators and elements must satisfy.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/core/portable.hpp>
#include <antiphase/scan/operation.hpp>
#include <array>
#include <concepts>
#include <limits>
#include <string_view>
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

// The library's operators: a struct each, with an entry in `operators`. A member:
//   operation       its enumerator; scripts/generate/scan_operators.py writes those of C, Fortran and Python
//   name, aliases   in --op, messages and Python; NumPy's names for it, separated by spaces
//   ordered         the result is one of the operands, chosen by their order: exact, and signed integers have
//                   kernels of their own. Otherwise signed integers are computed as unsigned ones.
//   one_pass_as     the operation whose kernels compute it in one pass
//   identity<T>()   the neutral element, from which an exclusive scan starts
struct sum {
  static constexpr scan_operation operation = scan_operation::sum, one_pass_as = operation;
  static constexpr std::string_view name = "sum", aliases = "add cumsum";
  static constexpr bool ordered = false;
  template <class T> AP_FN constexpr T operator()(const T& a, const T& b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<wrapping<T>>(a) + static_cast<wrapping<T>>(b));
    else
      return a + b;
  }
  template <class T> static constexpr T identity() { return T(0); }
};
struct product {
  static constexpr scan_operation operation = scan_operation::product, one_pass_as = operation;
  static constexpr std::string_view name = "product", aliases = "prod multiply cumprod";
  static constexpr bool ordered = false;
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
  static constexpr scan_operation operation = scan_operation::min, one_pass_as = operation;
  static constexpr std::string_view name = "min", aliases = "minimum";
  static constexpr bool ordered = true;
  template <class T> AP_FN constexpr T operator()(const T& a, const T& b) const {
    return a <= b || a != a ? a : b;
  }
  template <class T> static constexpr T identity() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
};
// In one pass it is a minimum of flipped bits: detail/element_values.cuh.
struct maximum {
  static constexpr scan_operation operation = scan_operation::max, one_pass_as = scan_operation::min;
  static constexpr std::string_view name = "max", aliases = "maximum";
  static constexpr bool ordered = true;
  template <class T> AP_FN constexpr T operator()(const T& a, const T& b) const {
    return a >= b || a != a ? a : b;
  }
  template <class T> static constexpr T identity() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
};

template <class... Op> struct operator_list {
  static constexpr std::array<scan_operation, sizeof...(Op)> operations{Op::operation...};
  static constexpr std::array<std::string_view, sizeof...(Op)> names{Op::name...};
  template <class F> static constexpr void each(F f) { (f(Op{}), ...); }
};
using operators = operator_list<sum, product, minimum, maximum>;

// Calls f with the operator of an operation.
template <class F, class First, class... Rest>
constexpr auto with_operator(scan_operation operation, F f, operator_list<First, Rest...>) {
  if constexpr (sizeof...(Rest) > 0)
    if (operation != First::operation) return with_operator(operation, f, operator_list<Rest...>{});
  return f(First{});
}
template <class F> constexpr auto with_operator(scan_operation operation, F f) {
  return with_operator(operation, f, operators{});
}

constexpr bool is_operation(scan_operation operation) {
  for (const scan_operation known : operators::operations)
    if (known == operation) return true;
  return false;
}
constexpr std::string_view name(scan_operation operation) {
  return with_operator(operation, [](auto op) { return decltype(op)::name; });
}
constexpr bool is_ordered(scan_operation operation) {
  return with_operator(operation, [](auto op) { return decltype(op)::ordered; });
}
constexpr scan_operation one_pass_as(scan_operation operation) {
  return with_operator(operation, [](auto op) { return decltype(op)::one_pass_as; });
}

// The neutral element: 0 for sums, 1 for products, the type's largest value for minima and its lowest for
// maxima (floats: infinity and -infinity). T: any element type, f16 and bf16 too.
template <class T> constexpr T identity_of(scan_operation operation) {
  if constexpr (std::is_same_v<T, f16>)
    return to_f16(identity_of<float>(operation));
  else if constexpr (std::is_same_v<T, bf16>)
    return to_bf16(identity_of<float>(operation));
  else
    return with_operator(operation, [](auto op) { return decltype(op)::template identity<T>(); });
}

}  // namespace antiphase::scans
