// The 16 bytes that a lane holds at a time: their total, and their scan.
#pragma once
#include <antiphase/device/vector.cuh>
#include <antiphase/scan/byte_sums.cuh>
#include <antiphase/scan/operators.hpp>
#include <cstdint>
#include <type_traits>

namespace antiphase::prefix {
inline namespace AP_TARGET {

template <class Op, class T, int N> constexpr bool adds_bytes = std::is_same_v<T, std::uint8_t>&& std::is_same_v<Op, sum>&& N == 16;

template <class Op, class T, int N> AP_DEV T total_of_chunk(const pack<T, N>& v) {
  if constexpr (adds_bytes<Op, T, N>) return total_of_bytes(v);
  T total = v.element[0];
  AP_UNROLL
  for (int e = 1; e < N; ++e) total = Op{}(total, v.element[e]);
  return total;
}

// The results from what lies before the chunk.
template <class Op, class T, int N> AP_DEV pack<T, N> scan_chunk(const T& before, const pack<T, N>& v, bool exclusive) {
  if constexpr (adds_bytes<Op, T, N>) return scan_of_bytes(before, v, exclusive);
  pack<T, N> result;
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

template <class T, int N> AP_DEV pack<T, N> reversed(const pack<T, N>& v) {
  pack<T, N> w;
  AP_UNROLL
  for (int e = 0; e < N; ++e) w.element[e] = v.element[N - 1 - e];
  return w;
}

}  // namespace AP_TARGET
}  // namespace antiphase::prefix
