// SPDX-License-Identifier: Apache-2.0
// The type carried along a column from tile to tile, and conversions of single elements on load and store.
#pragma once
#include <antiphase/scan/detail/carried.cuh>
#include <antiphase/scan/detail/element_values.cuh>
#include <cstdint>
#include <cstring>

namespace antiphase::scans {
inline namespace AP_TARGET {

// A sum of doubles and its accumulated rounding error (Knuth's two-sum). A column may have millions of groups
// of tiles, added one after the other: as many roundings would exceed the error bound of a sum
// (docs/use/accuracy.md).
struct two_doubles {
  double high, low;
  two_doubles() = default;
  AP_DEV explicit two_doubles(double x) : high(x), low(0) {}
  AP_DEV two_doubles(double x, double rest) : high(x), low(rest) {}
  AP_DEV explicit operator double() const { return high; }
};
AP_DEV two_doubles operator+(const two_doubles& a, const two_doubles& b) {
  const double sum = a.high + b.high;
  if (!(sum - sum == 0)) return two_doubles(sum);  // infinite or NaN: the rest would be NaN
  const double of_b = sum - a.high;
  const double rest = (a.high - (sum - of_b)) + (b.high - of_b) + (a.low + b.low);
  if (rest == 0) return two_doubles(sum);  // -0 stays -0
  const double high = sum + rest;
  return {high, rest - (high - sum)};
}
template <> struct neutral_of<sum, two_doubles> {
  AP_DEV static two_doubles value() { return two_doubles(-0.0); }
};

template <class Op, class Value> struct column_carry { using type = typename carried_as<Op, Value>::type; };
template <> struct column_carry<sum, double> { using type = two_doubles; };

template <class T> AP_DEV T with_bits_flipped(const T& x, std::uint64_t flip) {
  using word = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  word bits;
  memcpy(&bits, &x, sizeof bits);
  bits = static_cast<word>(bits ^ static_cast<word>(flip));
  T result;
  memcpy(&result, &bits, sizeof bits);
  return result;
}
template <class Out, class Value> AP_DEV Out one_result(const Value& v) {
  if constexpr (std::is_same_v<Out, Value>)
    return v;
  else if constexpr (std::is_integral_v<Out>)
    return static_cast<Out>(v);
  else
    return element_at<Out, 2>(results_of<Out, Value, 2>(pack<Value, 2>{v, v}), 0);
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
