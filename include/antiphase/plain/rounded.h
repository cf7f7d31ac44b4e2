// SPDX-License-Identifier: Apache-2.0
// Conversions of f16, bf16 and numbers of 8 bits as bits, rounded to nearest, ties to even.
#pragma once
#include <bit>
#include <cmath>

namespace antiphase::plain {

inline unsigned short to_half(float x) {
  const unsigned bits = std::bit_cast<unsigned>(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7FFFFFFFu;
  if (rest > 0x7F800000u) return static_cast<unsigned short>(sign | 0x7E00u);
  if (rest >= 0x477FF000u) return static_cast<unsigned short>(sign | 0x7C00u);
  if (rest < 0x38800000u) {  // subnormal: a multiple of 2^-24
    const float scaled = std::nearbyint(std::bit_cast<float>(rest) * 16777216.0f);
    return static_cast<unsigned short>(sign | static_cast<unsigned>(scaled));
  }
  return static_cast<unsigned short>(sign | (((rest + 0xFFFu + (rest >> 13 & 1u)) >> 13) - (112u << 10)));
}
inline float from_half(unsigned short h) {
  const unsigned sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 0x3FFu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
  if (exponent == 0)
    return std::bit_cast<float>(std::bit_cast<unsigned>(static_cast<float>(fraction) / 16777216.0f) | sign);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}
inline unsigned short to_bfloat(float x) {
  const unsigned bits = std::bit_cast<unsigned>(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<unsigned short>(bits >> 16 | 0x40u);
  return static_cast<unsigned short>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}
inline float from_bfloat(unsigned short b) { return std::bit_cast<float>(static_cast<unsigned>(b) << 16); }

// Numbers of 8 bits. e4m3 has no infinities; its NaN is S.1111.111.
inline float from_e5m2(unsigned char x) { return from_half(static_cast<unsigned short>(x << 8)); }
inline float from_e4m3(unsigned char x) {
  const int exponent = x >> 3 & 15, fraction = x & 7;
  const float size = (x & 0x7F) == 0x7F ? std::bit_cast<float>(0x7FC00000u)
                     : exponent == 0    ? std::ldexp(static_cast<float>(fraction), -9)
                                        : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return (x & 0x80) != 0 ? -size : size;
}

// To the nearest, ties to even. Numbers that are too large become the largest one, or NaN (e5m2: infinity).
// `wide`: e5m2, not e4m3.
inline unsigned char to_fp8(double x, bool saturates, bool wide) {
  const int fraction_bits = wide ? 2 : 3, least = wide ? -14 : -6;
  const double most = wide ? 57344 : 448, size = std::fabs(x);
  const unsigned sign = std::signbit(x) ? 0x80 : 0, largest = wide ? 0x7B : 0x7E, beyond = wide ? 0x7C : 0x7F;
  if (std::isnan(x)) return static_cast<unsigned char>(wide ? 0x7E | sign : 0x7F | sign);
  if (std::isinf(x)) return static_cast<unsigned char>(sign | (saturates ? largest : beyond));
  const int exponent = size < std::ldexp(1.0, least) ? least : std::ilogb(size);
  const double units =
      std::nearbyint(std::ldexp(size, fraction_bits - exponent));  // a carry moves on by itself
  if (std::ldexp(units, exponent - fraction_bits) > most)
    return static_cast<unsigned char>(sign | (saturates ? largest : beyond));
  const int bits = ((exponent - least) << fraction_bits) + static_cast<int>(units);
  return static_cast<unsigned char>(sign | static_cast<unsigned>(bits));
}

// to 10 fraction bits; ties away from zero
inline float to_tf32(float x) {
  const unsigned bits = std::bit_cast<unsigned>(x);
  return (bits & 0x7F800000u) == 0x7F800000u ? x : std::bit_cast<float>((bits + 0x1000u) & 0xFFFFE000u);
}

}  // namespace antiphase::plain
