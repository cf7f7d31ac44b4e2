// SPDX-License-Identifier: Apache-2.0
// The two 16-bit floating-point formats: storage and conversion, no arithmetic.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>

namespace antiphase {

// 1 sign, 5 exponent and 10 fraction bits. Tensor Cores multiply it; everything else converts first.
struct f16 {
  std::uint16_t bits;
  AP_FN constexpr bool operator==(const f16& other) const { return bits == other.bits; }
};

AP_FN constexpr float to_float(f16 x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16, exponent = x.bits >> 10 & 31u,
                      fraction = x.bits & 0x3FFu;
  if (exponent == 31) return bit_cast<float>(sign | 0x7F800000u | fraction << 13);
  if (exponent > 0) return bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

// To the nearest, ties to even; from 65520 on infinite.
AP_FN constexpr f16 to_f16(float value) {
  const auto bits = bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t half;
  if (magnitude > 0x7F800000u) {
    half = 0x7E00u;
  } else if (magnitude >= 0x477FF000u) {
    half = 0x7C00u;
  } else if (magnitude >= 0x38800000u) {  // normal
    half = (magnitude + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
    half -= 112u << 10;
  } else if (magnitude < 0x33000000u) {  // less than half of the smallest
    half = 0;
  } else {
    // 14 ... 24
    const std::uint32_t significand = (magnitude & 0x7FFFFFu) | 0x800000u, shift = 126 - (magnitude >> 23);
    half = (significand + (1u << (shift - 1)) - 1 + (significand >> shift & 1u)) >> shift;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

// The upper half of an FP32 number: 8 exponent and 7 fraction bits.
struct bf16 {
  std::uint16_t bits;
  AP_FN constexpr bool operator==(const bf16& other) const { return bits == other.bits; }
};

AP_FN constexpr float to_float(bf16 x) { return bit_cast<float>(std::uint32_t{x.bits} << 16); }

// To the nearest, ties to even; half a unit or more above the largest finite number becomes infinite.
AP_FN constexpr bf16 to_bf16(float value) {
  const auto bits = bit_cast<std::uint32_t>(value);
  // still a NaN
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16)};
}

}  // namespace antiphase
