// SPDX-License-Identifier: Apache-2.0
// Sums of 8- and 16-bit integers, packed in words.
#pragma once
#include <antiphase/device/bytes.cuh>
#include <antiphase/scan/detail/register_chunk.cuh>
#include <cstdint>

namespace antiphase::scans {
inline namespace AP_TARGET {

// Element by element, 16 bytes would take 16 additions and as many conversions, longer than memory takes.
template <class T> AP_DEV std::uint32_t plus_first(std::uint32_t before, int count, std::uint32_t word) {
  const std::uint32_t ones = count == 0 ? 0u : 0x01010101u >> (8 * (4 - count));
  return sizeof(T) == 1 ? weighted_bytes(word, ones, before) : weighted_halves(word, ones, before);
}
template <class T> AP_DEV std::uint32_t plus_all(std::uint32_t before, std::uint32_t word) {
  return plus_first<T>(before, in_a_word<T>, word);
}
template <class T, int N> AP_DEV std::uint32_t sum_of_elements(const register_chunk<T, N>& v) {
  std::uint32_t total = 0;
  AP_UNROLL
  for (const std::uint32_t w : v.element) total = plus_all<T>(total, w);
  return total;
}

// The sums up to each element, in the elements' own type, from the total before them.
template <class T, int N>
AP_DEV register_chunk<T, N> sums_up_to(std::uint32_t before, register_chunk<T, N> v, bool exclusive) {
  AP_UNROLL
  for (std::uint32_t& w : v.element) {
    const std::uint32_t through = plus_all<T>(before, w);
    std::uint32_t inclusive;
    if constexpr (sizeof(T) == 1) {
      // The 16-bit halves, one for the even bytes and one for the odd ones, cannot overflow. A multiplication
      // by 2^16 + 1 adds the lower half to the upper.
      const std::uint32_t odd = pick_bytes(w, 0, 0x4341), even = w & 0x00FF00FF;
      const std::uint32_t up_to_odd = (even + odd) * 0x00010001 + pick_bytes(before, 0, 0x4040);
      inclusive = pick_bytes(up_to_odd - odd, up_to_odd, 0x6240);
    } else {
      inclusive = pick_bytes(before + w, through, 0x5410);
    }
    w = pick_bytes(inclusive, before, !exclusive ? 0x3210 : sizeof(T) == 1 ? 0x2104 : 0x1054);
    before = through;
  }
  return v;
}

// The same in a wider type, and the total alone. Signed elements have their sign bit flipped (`flip`, in
// every element of a word), which makes each of them larger by `more`.
template <class Wide, class T, int N>
AP_DEV Wide wide_total(const register_chunk<T, N>& v, std::uint32_t flip, std::uint32_t more) {
  std::uint32_t total = 0u - static_cast<std::uint32_t>(N) * more;
  AP_UNROLL
  for (const std::uint32_t w : v.element) total = plus_all<T>(total, w ^ flip);
  return static_cast<Wide>(static_cast<std::int32_t>(total));
}
template <class Wide, class T, int N>
AP_DEV register_chunk<Wide, N> wide_sums_up_to(Wide before, const register_chunk<T, N>& v, std::uint32_t flip,
                                               std::uint32_t more, bool exclusive) {
  register_chunk<Wide, N> result;
  Wide through = before;
  AP_UNROLL
  for (int e = 0; e < N; ++e) {
    const int within = e % in_a_word<T> + 1;  // of the word, up to the element
    if (within == 1) before = through;
    const std::uint32_t sum = plus_first<T>(0u - static_cast<std::uint32_t>(within) * more, within,
                                            v.element[e / in_a_word<T>] ^ flip);
    const Wide up_to = before + static_cast<Wide>(static_cast<std::int32_t>(sum));
    result.element[e] = exclusive ? through : up_to;
    through = up_to;
  }
  return result;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
