// SPDX-License-Identifier: Apache-2.0
// Total and scan of the 16 bytes that a lane holds at a time.
#pragma once
#include <antiphase/scan/detail/register_chunk.cuh>
#include <antiphase/scan/detail/word_sums.cuh>
#include <antiphase/scan/operators.hpp>
#include <cstdint>
#include <type_traits>

namespace antiphase::scans {
inline namespace AP_TARGET {

// Sums of 8- and 16-bit integers are computed in words, modulo 2^32.
template <class Op, class T> constexpr bool sums_words =
    std::is_same_v<Op, sum>&& std::is_integral_v<T>&& is_narrow<T>;
template <class Op, class T> using computed_as = std::conditional_t<sums_words<Op, T>, std::uint32_t, T>;

template <class Op, class T, int N> AP_DEV computed_as<Op, T> total_of_chunk(const register_chunk<T, N>& v) {
  if constexpr (sums_words<Op, T>) {
    return sum_of_elements<T, N>(v);
  } else {
    T total = v.element[0];
    AP_UNROLL
    for (int e = 1; e < N; ++e) total = Op{}(total, v.element[e]);
    return total;
  }
}

// The results of a chunk, from the total before it.
template <class Op, class T, int N> AP_DEV register_chunk<T, N> scan_chunk(const computed_as<Op, T>& before,
                                                                           const register_chunk<T, N>& v,
                                                                           bool exclusive) {
  if constexpr (sums_words<Op, T>) {
    return sums_up_to<T, N>(before, v, exclusive);
  } else {
    register_chunk<T, N> result;
    T left = before;
    T through = v.element[0];
    AP_UNROLL
    for (int e = 0; e < N; ++e) {
      if (e > 0) through = Op{}(through, v.element[e]);
      const T up_to = Op{}(before, through);
      result.element[e] = exclusive ? left : up_to;
      left = up_to;
    }
    return result;
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
