// SPDX-License-Identifier: Apache-2.0
// Element types that are chosen at run time.
#pragma once
#include <antiphase/core/half.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace antiphase {

enum class element { f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16 };
constexpr element last_element = element::bf16;

constexpr std::string_view name(element e) {
  constexpr std::string_view names[] = {"f32", "f64", "i8",  "i16", "i32", "i64",
                                        "u8",  "u16", "u32", "u64", "f16", "bf16"};
  return names[static_cast<int>(e)];
}
constexpr std::size_t size_of(element e) {
  constexpr std::size_t sizes[] = {4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2};
  return sizes[static_cast<int>(e)];
}
// Types for storage and conversion only: with_element() does not take them.
constexpr bool is_half(element e) { return e == element::f16 || e == element::bf16; }
constexpr bool is_floating(element e) { return e == element::f32 || e == element::f64 || is_half(e); }
constexpr bool is_unsigned(element e) { return e >= element::u8 && e <= element::u64; }
constexpr std::optional<element> parse_element(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(last_element); ++i)
    if (text == name(static_cast<element>(i))) return static_cast<element>(i);
  return std::nullopt;
}

template <class T> struct element_traits;
template <> struct element_traits<float> { static constexpr element value = element::f32; };
template <> struct element_traits<double> { static constexpr element value = element::f64; };
template <> struct element_traits<std::int8_t> { static constexpr element value = element::i8; };
template <> struct element_traits<std::int16_t> { static constexpr element value = element::i16; };
template <> struct element_traits<std::int32_t> { static constexpr element value = element::i32; };
template <> struct element_traits<std::int64_t> { static constexpr element value = element::i64; };
template <> struct element_traits<std::uint8_t> { static constexpr element value = element::u8; };
template <> struct element_traits<std::uint16_t> { static constexpr element value = element::u16; };
template <> struct element_traits<std::uint32_t> { static constexpr element value = element::u32; };
template <> struct element_traits<std::uint64_t> { static constexpr element value = element::u64; };
template <> struct element_traits<f16> { static constexpr element value = element::f16; };
template <> struct element_traits<bf16> { static constexpr element value = element::bf16; };
template <class T> constexpr element element_of = element_traits<T>::value;

// Calls f.operator()<T>() with the C++ type of `e`; not for f16 and bf16.
//
//   with_element(e, [&]<class T>() { run(static_cast<const T*>(in)); });
//
template <class F> constexpr decltype(auto) with_element(element e, F&& f) {
  switch (e) {
    case element::f32: return f.template operator()<float>();
    case element::f64: return f.template operator()<double>();
    case element::i8: return f.template operator()<std::int8_t>();
    case element::i16: return f.template operator()<std::int16_t>();
    case element::i32: return f.template operator()<std::int32_t>();
    case element::i64: return f.template operator()<std::int64_t>();
    case element::u8: return f.template operator()<std::uint8_t>();
    case element::u16: return f.template operator()<std::uint16_t>();
    case element::u32: return f.template operator()<std::uint32_t>();
    default: break;
  }
  return f.template operator()<std::uint64_t>();
}
// The same, f16 and bf16 included.
template <class F> constexpr decltype(auto) with_stored_element(element e, F&& f) {
  switch (e) {
    case element::f16: return f.template operator()<f16>();
    case element::bf16: return f.template operator()<bf16>();
    default: return with_element(e, f);
  }
}

}  // namespace antiphase
