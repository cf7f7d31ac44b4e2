// SPDX-License-Identifier: Apache-2.0
// A lane's chunk of elements in registers.
#pragma once
#include <antiphase/device/bytes.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace antiphase::scans {
inline namespace AP_TARGET {

// Narrow elements stay packed in words. Unpacked, each would take a register and instructions for the
// conversions, even where a chunk is only copied (nvcc copies an array of bytes byte by byte).
template <class T> constexpr bool is_narrow = sizeof(T) < 4;
template <class T> constexpr int in_a_word = 4 / sizeof(T);
template <class T, int N> using register_chunk =
    std::conditional_t<is_narrow<T>, pack<std::uint32_t, (static_cast<int>(sizeof(T)) * N + 3) / 4>,
                       pack<T, N>>;

template <int N, class T> AP_DEV register_chunk<T, N> load_aligned_chunk(const T* from) {
  return *reinterpret_cast<const register_chunk<T, N>*>(from);
}
template <int N, class T> AP_DEV void store_aligned_chunk(T* to, const register_chunk<T, N>& v) {
  *reinterpret_cast<register_chunk<T, N>*>(to) = v;
}

template <class T, int N> AP_DEV T element_at(const register_chunk<T, N>& v, int e) {
  if constexpr (is_narrow<T>) {
    using bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
    const auto narrow = static_cast<bits>(v.element[e / in_a_word<T>] >> (e % in_a_word<T> * 8 * sizeof(T)));
    T x;
    memcpy(&x, &narrow, sizeof x);
    return x;
  } else {
    return v.element[e];
  }
}
// A chunk of the elements make(e).
template <class T, int N, class Make> AP_DEV register_chunk<T, N> chunk_of(Make make) {
  register_chunk<T, N> v{};
  AP_UNROLL
  for (int e = 0; e < N; ++e) {
    const T x = make(e);
    if constexpr (is_narrow<T>) {
      std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t> narrow;
      memcpy(&narrow, &x, sizeof x);
      v.element[e / in_a_word<T>] |= std::uint32_t{narrow} << (e % in_a_word<T> * 8 * sizeof(T));
    } else {
      v.element[e] = x;
    }
  }
  return v;
}

template <class T, int N> AP_DEV register_chunk<T, N> reversed(const register_chunk<T, N>& v) {
  constexpr int last = static_cast<int>(sizeof v / sizeof v.element[0]) - 1;
  register_chunk<T, N> w;
  AP_UNROLL
  for (int i = 0; i <= last; ++i) {
    if constexpr (is_narrow<T>)
      w.element[i] = pick_bytes(v.element[last - i], 0, sizeof(T) == 1 ? 0x0123 : 0x1032);
    else
      w.element[i] = v.element[last - i];
  }
  return w;
}

// An element's bits repeated in every element of a word.
template <class T> AP_DEV std::uint32_t in_every_element(std::uint64_t mask) {
  return static_cast<std::uint32_t>(mask) * (sizeof(T) == 1   ? 0x01010101u
                                             : sizeof(T) == 2 ? 0x00010001u
                                                              : 1u);
}
// The chunk with these bits of every element flipped.
template <class T, int N>
AP_DEV register_chunk<T, N> flipped(const register_chunk<T, N>& v, std::uint64_t flip) {
  using word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  word part[sizeof v / sizeof(word)];
  memcpy(part, &v, sizeof v);
  const word mask = sizeof(T) == 8 ? static_cast<word>(flip) : in_every_element<T>(flip);
  AP_UNROLL
  for (word& w : part) w ^= mask;
  register_chunk<T, N> result;
  memcpy(&result, part, sizeof result);
  return result;
}

// Makes the compiler unpack narrow elements again from here on. Otherwise each would stay in a register of
// its own from its first use to its last.
template <class T, int N> AP_DEV void keep_packed(register_chunk<T, N>& v) {
  if constexpr (is_narrow<T>) {
    AP_UNROLL
    for (std::uint32_t& w : v.element) rematerialise(w);
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
