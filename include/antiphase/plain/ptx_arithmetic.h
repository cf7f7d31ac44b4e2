// SPDX-License-Identifier: Apache-2.0
// Operands and arithmetic of PTX, for the code that the pre-pass writes. Part of ptx.h, after device.h.
#pragma once
#include <cmath>
#include <limits>
#include <utility>

#include "rounded.h"

// Names are long, because programs define N, M and K as macros.
namespace antiphase::plain::ptx {

// operands
// -----------------------------------------------------------------------------------------------------------
// Registers are untyped bits. A C++ operand of the same size is taken bit by bit; others are truncated or
// zero-extended, as in a wider register.
template <class T, class Held> AP_VERB T get(const Held& x) {
  if constexpr (std::is_same_v<Held, T>)
    return x;
  else if constexpr (std::is_same_v<T, bool>)
    return x != 0;
  else if constexpr (std::is_pointer_v<Held>)
    return get<T>(reinterpret_cast<unsigned long>(x));
  else if constexpr (std::is_enum_v<Held>)
    return get<T>(static_cast<std::underlying_type_t<Held>>(x));
  else if constexpr (sizeof(Held) == sizeof(T))
    return std::bit_cast<T>(x);
  else if constexpr (std::is_same_v<Held, bool>)
    return get<T>(static_cast<unsigned>(x));
  else if constexpr (std::is_integral_v<Held> && std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<Held>>(x));
  else if constexpr (std::is_arithmetic_v<Held> && std::is_arithmetic_v<T>)
    return static_cast<T>(x);
  else
    return get<T>(std::bit_cast<word_of<Held>>(x));
}
struct {
} constexpr nowhere;  // the operand _
template <class Held, class Value> AP_VERB void put(Held&& to, Value v) {
  using type = std::remove_cvref_t<Held>;
  if constexpr (std::is_same_v<type, std::remove_cv_t<decltype(nowhere)>>)
    return;
  else if constexpr (std::is_pointer_v<type>)
    to = reinterpret_cast<type>(static_cast<unsigned long>(v));
  else if constexpr (std::is_same_v<type, Value> || (std::is_integral_v<type> && std::is_integral_v<Value>))
    to = static_cast<type>(v);
  else if constexpr (sizeof(type) == sizeof(Value))
    to = std::bit_cast<type>(v);
  else
    to = static_cast<type>(v);
}
template <class T, int Count> struct several { T x[Count]; };
struct with_predicate {
  unsigned value;
  bool valid;
};

// arithmetic
// -----------------------------------------------------------------------------------------------------------
template <class T> using twice =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int, unsigned>,
                       std::conditional_t<std::is_signed_v<T>, long, unsigned long>>;
template <class T> AP_VERB T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(word_of<T>(a) + word_of<T>(b));
  else
    return a + b;
}
template <class T> AP_VERB T sub(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(word_of<T>(a) - word_of<T>(b));
  else
    return a - b;
}
template <class T> AP_VERB T mul(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<unsigned long>(a) * static_cast<unsigned long>(b));
  else
    return a * b;
}
template <class T> AP_VERB T mul_hi(T a, T b) {
  __extension__ typedef std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128> wide;
  return static_cast<T>(static_cast<wide>(a) * static_cast<wide>(b) >> 8 * sizeof(T));
}
template <class T> AP_VERB twice<T> mul_wide(T a, T b) {
  return static_cast<twice<T>>(a) * static_cast<twice<T>>(b);
}
template <class T> AP_VERB T mad(T a, T b, T c) { return add(mul(a, b), c); }
template <class T> AP_VERB T mad_hi(T a, T b, T c) { return add(mul_hi(a, b), c); }
template <class T> AP_VERB twice<T> mad_wide(T a, T b, twice<T> c) { return add(mul_wide(a, b), c); }
template <class T> AP_VERB T fma(T a, T b, T c) { return std::fma(a, b, c); }
// The result of an integer division by zero is any value: PTX does not stop. GPUs of today give these.
template <class T> AP_VERB T div(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return static_cast<T>(~T{0});
    if (static_cast<T>(-1) < 0 && b == static_cast<T>(-1))
      return static_cast<T>(word_of<T>(0) - word_of<T>(a));
  }
  return static_cast<T>(a / b);
}
template <class T> AP_VERB T rem(T a, T b) {
  if (b == 0) return a;
  return static_cast<T>(-1) < 0 && b == static_cast<T>(-1) ? T{0} : static_cast<T>(a % b);
}
template <class T> AP_VERB T min(T a, T b) { return b < a || a != a ? b : a; }
template <class T> AP_VERB T max(T a, T b) { return a < b || a != a ? b : a; }
template <class T> AP_VERB T min_nan(T a, T b) {
  return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : min(a, b);
}
template <class T> AP_VERB T max_nan(T a, T b) {
  return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : max(a, b);
}
template <class T> AP_VERB T neg(T a) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(word_of<T>(0) - word_of<T>(a));
  else
    return -a;
}
template <class T> AP_VERB T abs(T a) {
  if constexpr (std::is_integral_v<T>)
    return a < 0 ? neg(a) : a;
  else
    return std::fabs(a);
}
template <class T> AP_VERB T copysign(T sign, T a) { return std::copysign(a, sign); }
// .sat: of integers within their type, of others within [0, 1], where NaN is 0.
template <class T> AP_VERB T saturated(T a) { return a > 0 ? (a < 1 ? a : T{1}) : T{0}; }
template <class T> AP_VERB T add_sat(T a, T b) {
  T sum;
  return __builtin_add_overflow(a, b, &sum)
             ? (a < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max())
             : sum;
}
template <class T> AP_VERB T sub_sat(T a, T b) {
  T sum;
  return __builtin_sub_overflow(a, b, &sum)
             ? (a < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max())
             : sum;
}
// With the carry of .cc instructions, which is 1 for a borrow too.
template <class T> AP_VERB T add_carry(T a, T b, unsigned in, unsigned& out) {
  word_of<T> sum, all;
  const bool first = __builtin_add_overflow(word_of<T>(a), word_of<T>(b), &sum);
  out = first | __builtin_add_overflow(sum, word_of<T>(in), &all);
  return static_cast<T>(all);
}
template <class T> AP_VERB T sub_carry(T a, T b, unsigned in, unsigned& out) {
  word_of<T> rest, all;
  const bool first = __builtin_sub_overflow(word_of<T>(a), word_of<T>(b), &rest);
  out = first | __builtin_sub_overflow(rest, word_of<T>(in), &all);
  return static_cast<T>(all);
}
template <class T> AP_VERB T mul24(T a, T b) {
  const auto low = [](T x) { return static_cast<T>(static_cast<T>(x << 8) >> 8); };
  return mul(low(a), low(b));
}
template <class T> AP_VERB T mad24(T a, T b, T c) { return add(mul24(a, b), c); }
template <class T> AP_VERB T sad(T a, T b, T c) { return add(c, static_cast<T>(a < b ? b - a : a - b)); }
template <class T> AP_VERB T sin(T a) { return std::sin(a); }
template <class T> AP_VERB T cos(T a) { return std::cos(a); }
template <class T> AP_VERB bool is_number(T a) { return a == a; }
template <class T> AP_VERB bool is_finite(T a) { return a - a == 0; }
template <class T> AP_VERB bool is_normal(T a) {
  return is_finite(a) && std::fabs(a) >= std::numeric_limits<T>::min();
}
AP_VERB unsigned bit_mask(unsigned at, unsigned count, bool wraps) {
  if (wraps) at &= 31, count &= 31;
  if (at > 31 || count == 0) return 0;
  return (count > 31 ? ~0u : (1u << count) - 1) << at;
}
// Position of the n-th set bit of mask, from `base` on, upwards if n > 0; ~0: there is none.
AP_VERB unsigned nth_set_bit(unsigned mask, unsigned base, int n) {
  if (n == 0) return base < 32 && (mask >> base & 1) != 0 ? base : ~0u;
  for (int at = static_cast<int>(base), left = n < 0 ? -n : n; at >= 0 && at < 32; at += n < 0 ? -1 : 1)
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<unsigned>(at);
  return ~0u;
}
// dp4a and dp2a: c plus the products of 4 bytes, or of 2 halves of a with 2 bytes of b from `first` on.
template <bool SignedA, bool SignedB>
AP_VERB unsigned dot_of_bytes(unsigned a, unsigned b, unsigned c, int wide, int first) {
  for (int k = 0; k < (wide == 2 ? 2 : 4); ++k) {
    const unsigned x = a >> 8 * wide * k, y = b >> 8 * (k + first);
    const int left = wide == 2 ? (SignedA ? static_cast<short>(x) : static_cast<unsigned short>(x))
                               : (SignedA ? static_cast<signed char>(x) : static_cast<unsigned char>(x));
    c +=
        static_cast<unsigned>(left * (SignedB ? static_cast<signed char>(y) : static_cast<unsigned char>(y)));
  }
  return c;
}
// |a - b| of two or four numbers in a word, or the sum of all with c.
template <int Count, bool Signed, bool Adds>
AP_VERB unsigned absolute_differences(unsigned a, unsigned b, unsigned c) {
  constexpr int bits = 32 / Count;
  unsigned all = 0;
  for (int k = 0; k < 32; k += bits) {
    const auto one = [&](unsigned x) -> long {
      const int upper = static_cast<int>(x << (32 - bits - k));
      if (Signed) return upper >> (32 - bits);
      return static_cast<unsigned>(upper) >> (32 - bits);
    };
    const long difference = one(a) - one(b);
    const auto size = static_cast<unsigned>(difference < 0 ? -difference : difference);
    if (Adds)
      c += size;
    else
      all |= (size & (~0u >> (32 - bits))) << k;
  }
  return Adds ? c : all;
}
// Arithmetic of numbers in a word: one or two of 16 bits, two of f32.
struct half_number {
  using held = unsigned short;
  static float from(held x) { return plain::from_half(x); }
  static held to(float x) { return plain::to_half(x); }
};
struct bfloat_number {
  using held = unsigned short;
  static float from(held x) { return plain::from_bfloat(x); }
  static held to(float x) { return plain::to_bfloat(x); }
};
template <class T> struct integer_number {  // s16x2, u16x2
  using held = unsigned short;
  static T from(held x) { return static_cast<T>(x); }
  static held to(T x) { return static_cast<held>(x); }
};
struct float_number {
  using held = unsigned;
  static float from(held x) { return std::bit_cast<float>(x); }
  static held to(float x) { return std::bit_cast<unsigned>(x); }
};
template <class Number, class Word, class Function, class... Words>
AP_VERB Word of_each(Function f, Words... words) {
  using held = typename Number::held;
  Word all = 0;
  for (unsigned at = 0; at < 8 * sizeof(Word); at += 8 * sizeof(held))
    all |= static_cast<Word>(static_cast<Word>(Number::to(f(Number::from(static_cast<held>(words >> at))...)))
                             << at);
  return all;
}
template <class T> AP_VERB T bit_and(T a, T b) { return a & b; }
template <class T> AP_VERB T bit_or(T a, T b) { return a | b; }
template <class T> AP_VERB T bit_xor(T a, T b) { return a ^ b; }
template <class T> AP_VERB T bit_not(T a) {
  if constexpr (std::is_same_v<T, bool>)
    return !a;
  else
    return static_cast<T>(~a);
}
// Bits [at, at + count) of a; beyond its last bit there are copies of the sign, or zeros.
template <class T> AP_VERB T bfe(T a, unsigned at, unsigned count) {
  constexpr unsigned width = 8 * sizeof(T);
  at &= 0xFF, count &= 0xFF;
  const bool sign = static_cast<T>(-1) < 0 && count > 0 &&
                    (a >> (at + count - 1 < width - 1 ? at + count - 1 : width - 1) & 1) != 0;
  T all = 0;
  for (unsigned k = 0; k < width; ++k)
    if (k < count && at + k < width ? (a >> (at + k) & 1) != 0 : sign) all |= static_cast<T>(T{1} << k);
  return all;
}
// b with its bits [at, at + count) replaced by the low ones of a.
template <class T> AP_VERB T bfi(T a, T b, unsigned at, unsigned count) {
  at &= 0xFF, count &= 0xFF;
  for (unsigned k = 0; k < count && at + k < 8 * sizeof(T); ++k)
    b = static_cast<T>((b & ~(T{1} << (at + k))) | ((a >> k & 1) << (at + k)));
  return b;
}
// prmt: of the 8 bytes of b:a; bit 3 of a selector spreads the byte's sign.
AP_VERB unsigned permuted(unsigned a, unsigned b, unsigned how) {
  const unsigned long both = static_cast<unsigned long>(b) << 32 | a;
  unsigned all = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned which = how >> 4 * k, byte = static_cast<unsigned>(both >> (which & 7) * 8) & 0xFF;
    all |= ((which & 8) == 0 ? byte : (byte & 0x80) != 0 ? 0xFFu : 0u) << 8 * k;
  }
  return all;
}
template <class T> AP_VERB T shl(T a, unsigned by) {
  return by >= 8 * sizeof(T) ? 0 : static_cast<T>(word_of<T>(a) << by);
}
template <class T> AP_VERB T shr(T a, unsigned by) {
  if (by >= 8 * sizeof(T)) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : 0;
  return static_cast<T>(a >> by);
}
template <class T> AP_VERB unsigned popc(T a) { return static_cast<unsigned>(std::popcount(a)); }
template <class T> AP_VERB unsigned clz(T a) { return static_cast<unsigned>(std::countl_zero(a)); }
// Of a negative number, the highest zero.
template <class T> AP_VERB unsigned bfind(T a) {
  const auto bits = word_of<T>(a < 0 ? static_cast<T>(~a) : a);
  return static_cast<unsigned>(8 * sizeof(T) - 1) - static_cast<unsigned>(std::countl_zero(bits));
}
template <class T> AP_VERB T brev(T a) {
  T all = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); ++i) all |= (a >> i & 1) << (8 * sizeof(T) - 1 - i);
  return all;
}
AP_VERB unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned all = 0;
  for (int i = 0; i < 8; ++i)
    if ((table >> i & 1) != 0) all |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return all;
}
template <class T> AP_VERB T rcp(T a) { return 1 / a; }
template <class T> AP_VERB T sqrt(T a) { return std::sqrt(a); }
template <class T> AP_VERB T rsqrt(T a) { return 1 / std::sqrt(a); }
template <class T> AP_VERB T ex2(T a) { return std::exp2(a); }
template <class T> AP_VERB T lg2(T a) { return std::log2(a); }
template <class T> AP_VERB T tanh(T a) { return std::tanh(a); }
// rounding: n, z, m or p, for conversion to integers. Values out of range saturate, NaN becomes 0.
template <class To, class From> AP_VERB To converted(From a, char rounding) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const From whole = rounding == 'n'   ? std::nearbyint(a)
                       : rounding == 'm' ? std::floor(a)
                       : rounding == 'p' ? std::ceil(a)
                                         : std::trunc(a);
    if (whole != whole) return 0;
    if (whole <= static_cast<From>(std::numeric_limits<To>::lowest()))
      return std::numeric_limits<To>::lowest();
    if (whole >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(whole);
  } else {
    return static_cast<To>(a);
  }
}
// f32 to f32 and the like, to a whole number.
template <class T> AP_VERB T whole(T a, char rounding) {
  return rounding == 'n'   ? std::nearbyint(a)
         : rounding == 'm' ? std::floor(a)
         : rounding == 'p' ? std::ceil(a)
                           : std::trunc(a);
}
template <class To, class From> AP_VERB To clamped(From a) {  // .sat between integers
  if (std::cmp_less(a, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return std::cmp_greater(a, std::numeric_limits<To>::max()) ? std::numeric_limits<To>::max()
                                                             : static_cast<To>(a);
}
using plain::from_bfloat;
using plain::from_half;
using plain::from_power;
using plain::to_bfloat;
using plain::to_half;
using plain::to_tf32;
AP_VERB unsigned halves(float upper, float lower) {
  return static_cast<unsigned>(to_half(upper)) << 16 | to_half(lower);
}
AP_VERB unsigned bfloats(float upper, float lower) {
  return static_cast<unsigned>(to_bfloat(upper)) << 16 | to_bfloat(lower);
}
// Pairs of small floating numbers: of 4 bits in a byte, else each in a byte.
template <small_float Of> constexpr int small_bits = Of == small_float::e2m1 ? 4 : 8;
template <small_float Of> AP_VERB unsigned short small_pair(float upper, float lower) {
  return static_cast<unsigned short>(to_small(upper, true, Of) << small_bits<Of> | to_small(lower, true, Of));
}
template <small_float Of> AP_VERB float upper_small(unsigned short pair) {
  return from_small(static_cast<unsigned>(pair) >> small_bits<Of>, Of);
}
template <small_float Of> AP_VERB float lower_small(unsigned short pair) { return from_small(pair, Of); }
AP_VERB unsigned short power_pair(float upper, float lower, bool up, bool saturates) {
  return static_cast<unsigned short>(to_power(upper, up, saturates) << 8 | to_power(lower, up, saturates));
}

template <class T, class... Held> AP_VERB T packed(const Held&... x) {
  constexpr unsigned bits = 8 * sizeof(T) / sizeof...(Held);
  using part =
      std::conditional_t<bits == 64, unsigned long,
                         std::conditional_t<bits == 32, unsigned,
                                            std::conditional_t<bits == 16, unsigned short, unsigned char>>>;
  T all = 0;
  unsigned at = 0;
  ((all |= static_cast<T>(static_cast<T>(get<part>(x)) << at), at += bits), ...);
  return all;
}
template <int Count, class T> AP_VERB auto unpacked(T value) {
  constexpr unsigned bits = 8 * sizeof(T) / Count;
  using part =
      std::conditional_t<bits == 64, unsigned long,
                         std::conditional_t<bits == 32, unsigned,
                                            std::conditional_t<bits == 16, unsigned short, unsigned char>>>;
  several<part, Count> all;
  for (unsigned i = 0; i < Count; ++i) all.x[i] = static_cast<part>(value >> i * bits);
  return all;
}

}  // namespace antiphase::plain::ptx
