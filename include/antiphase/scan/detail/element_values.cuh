// SPDX-License-Identifier: Apache-2.0
// Conversion of elements in memory to the values of the computation, and back.
#pragma once
#include <antiphase/device/math.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/scan/detail/register_chunk.cuh>
#include <antiphase/scan/operators.hpp>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace antiphase::scans {
inline namespace AP_TARGET {

// One kernel serves several types and operators, which differ in the bits that are flipped in loaded elements
// (single_pass_arguments::flip):
//   minimum            of unsigned integers or floats. Signed integers flip the sign bit, which gives them
//                      the order of unsigned ones. A maximum also flips all other bits (floats: only the
//                      sign), which reverses the order. Results are flipped back
//   sums of integers   into wider ones: signed ones flip the sign bit, which adds 2^(bits - 1); that is
//                      subtracted again
template <class Op> constexpr bool flips_order = std::is_same_v<Op, minimum>;
template <class Op, class Value, class In>
constexpr bool widens_integers = std::is_same_v<Op, sum>&& std::is_integral_v<In> &&
                                 sizeof(Value) > sizeof(In);

template <class T> AP_DEV T from_bits(std::uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class Op, class Value, class In> AP_DEV Value value_of(const In& x, std::uint64_t flip) {
  if constexpr (std::is_same_v<In, f16>)
    return half_in(x.bits);
  else if constexpr (std::is_same_v<In, bf16>)
    return to_float(x);
  else if constexpr (widens_integers<Op, Value, In>)
    return static_cast<Value>(static_cast<In>(x ^ static_cast<In>(flip))) -
           static_cast<Value>(static_cast<In>(flip));
  else
    return static_cast<Value>(x);
}

// Conversion of results as they are stored.
template <class Out, class Value, int N> AP_DEV register_chunk<Out, N> results_of(const pack<Value, N>& v) {
  if constexpr (std::is_same_v<Out, Value>) {
    return v;
  } else if constexpr (std::is_integral_v<Out>) {
    return chunk_of<Out, N>([&](int e) { return static_cast<Out>(v.element[e]); });
  } else if constexpr (sizeof(Out) > 2) {
    return chunk_of<Out, N>([&](int e) { return static_cast<Out>(v.element[e]); });
  } else {
    static_assert(N % 2 == 0);
    register_chunk<Out, N> result;
    AP_UNROLL
    for (int i = 0; i < N / 2; ++i) {
      const auto lower = static_cast<float>(v.element[2 * i]),
                 upper = static_cast<float>(v.element[2 * i + 1]);
      result.element[i] = std::is_same_v<Out, f16> ? to_halves(lower, upper) : to_bf16s(lower, upper);
    }
    return result;
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
