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

// Floating numbers of 4 to 8 bits, in the order of small_formats. With infinities, the largest exponent is
// that of infinity and NaN; with NaN alone, all ones are NaN.
enum class small_float : unsigned char { e5m2, e4m3, e3m2, e2m3, e2m1 };
struct small_format {
  int exponent_bits, fraction_bits;
  bool has_infinities, has_nan;
  constexpr int least() const { return 2 - (1 << (exponent_bits - 1)); }  // exponent of normal numbers
  constexpr unsigned ones() const { return (1u << (exponent_bits + fraction_bits)) - 1; }
  constexpr unsigned sign() const { return ones() + 1; }
  constexpr unsigned infinity() const { return ones() >> fraction_bits << fraction_bits; }
  constexpr unsigned largest() const {
    return has_infinities ? infinity() - 1 : has_nan ? ones() - 1 : ones();
  }
};
constexpr small_format small_formats[] = {{5, 2, true, true},
                                          {4, 3, false, true},
                                          {3, 2, false, false},
                                          {2, 3, false, false},
                                          {2, 1, false, false}};
constexpr small_format format_of(small_float of) { return small_formats[static_cast<int>(of)]; }

inline float from_small(unsigned x, small_float of) {
  const small_format f = format_of(of);
  const unsigned size = x & f.ones();
  const int exponent = static_cast<int>(size >> f.fraction_bits),
            fraction = static_cast<int>(size & ((1u << f.fraction_bits) - 1));
  float value = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + (1 << f.fraction_bits)),
                           (exponent == 0 ? 0 : exponent - 1) + f.least() - f.fraction_bits);
  if (size > f.largest())
    value = f.has_infinities && size == f.infinity() ? INFINITY : std::bit_cast<float>(0x7FC00000u);
  return (x & f.sign()) != 0 ? -value : value;
}
inline float from_e5m2(unsigned char x) { return from_small(x, small_float::e5m2); }
inline float from_e4m3(unsigned char x) { return from_small(x, small_float::e4m3); }

// To the nearest, ties to even. Numbers that are too large become the largest one, or infinity or NaN where
// the format has them; NaN, where it has none, becomes the largest number.
inline unsigned to_small(double x, bool saturates, small_float of) {
  const small_format f = format_of(of);
  const double size = std::fabs(x);
  const unsigned sign = std::signbit(x) ? f.sign() : 0, beyond = saturates || !f.has_nan ? f.largest()
                                                                 : f.has_infinities      ? f.infinity()
                                                                                         : f.ones();
  if (std::isnan(x)) return !f.has_nan ? f.largest() : sign | (f.has_infinities ? f.ones() - 1 : f.ones());
  if (std::isinf(x)) return sign | beyond;
  const int exponent = size < std::ldexp(1.0, f.least()) ? f.least() : std::ilogb(size);
  const double units =
      std::nearbyint(std::ldexp(size, f.fraction_bits - exponent));  // a carry moves on by itself
  if (std::ldexp(units, exponent - f.fraction_bits) > from_small(f.largest(), of)) return sign | beyond;
  return sign | static_cast<unsigned>(((exponent - f.least()) << f.fraction_bits) + static_cast<int>(units));
}

// ue8m0, powers of two from 2^-127 on: the next smaller one, or `up` the next larger one. 255 is NaN.
inline unsigned to_power(double x, bool up, bool saturates) {
  const double size = std::fabs(x);
  if (std::isnan(size)) return 255;
  if (size <= std::ldexp(1.0, -127)) return 0;
  const int exponent = std::isinf(size) ? 128 : std::ilogb(size),
            power = exponent + 127 + (up && size > std::ldexp(1.0, exponent) ? 1 : 0);
  return power > 254 ? (saturates ? 254 : 255) : static_cast<unsigned>(power);
}
inline float from_power(unsigned x) {
  return x == 255 ? std::bit_cast<float>(0x7FC00000u) : std::ldexp(1.0f, static_cast<int>(x) - 127);
}

// to 10 fraction bits; ties away from zero
inline float to_tf32(float x) {
  const unsigned bits = std::bit_cast<unsigned>(x);
  return (bits & 0x7F800000u) == 0x7F800000u ? x : std::bit_cast<float>((bits + 0x1000u) & 0xFFFFE000u);
}

}  // namespace antiphase::plain
