// SPDX-License-Identifier: Apache-2.0
// CUDA's mathematical functions that C++ lacks or names differently. Plain CUDA under the checker.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

using std::isfinite;
using std::isinf;
using std::isnan;
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a < b ? b : a; }
#define AP_LEAST(type)                                      \
  inline type min(type a, type b) { return a < b ? a : b; } \
  inline type max(type a, type b) { return a < b ? b : a; }
AP_LEAST(unsigned)
AP_LEAST(long)
AP_LEAST(unsigned long)
AP_LEAST(long long)
AP_LEAST(unsigned long long)
#undef AP_LEAST
inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
inline double min(float a, double b) { return std::fmin(static_cast<double>(a), b); }
inline double min(double a, float b) { return std::fmin(a, static_cast<double>(b)); }
inline double max(float a, double b) { return std::fmax(static_cast<double>(a), b); }
inline double max(double a, float b) { return std::fmax(a, static_cast<double>(b)); }

inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rsqrt(float x) { return 1 / std::sqrt(x); }
inline void sincospif(float x, float* s, float* c) {
  *s = std::sin(x * 3.14159265f), *c = std::cos(x * 3.14159265f);
}
inline float normcdff(float x) { return 0.5f * std::erfc(-x * 0.70710678f); }
inline double normcdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752); }
inline float __saturatef(float x) { return x < 0 || std::isnan(x) ? 0 : x > 1 ? 1 : x; }
#define AP_FAST(name, of) \
  inline float name(float x) { return of(x); }
AP_FAST(__expf, std::exp)
AP_FAST(__logf, std::log)
AP_FAST(__log2f, std::log2)
AP_FAST(__log10f, std::log10)
AP_FAST(__sinf, std::sin)
AP_FAST(__cosf, std::cos)
AP_FAST(__tanf, std::tan)
AP_FAST(__fsqrt_rn, std::sqrt)
AP_FAST(__frsqrt_rn, rsqrtf)
#undef AP_FAST
inline float __frcp_rn(float x) { return 1 / x; }
inline float __exp10f(float x) { return std::pow(10.0f, x); }
inline float exp10f(float x) { return std::pow(10.0f, x); }
inline double exp10(double x) { return std::pow(10.0, x); }
inline void __sincosf(float x, float* s, float* c) { *s = std::sin(x), *c = std::cos(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float fdividef(float x, float y) { return x / y; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __fma_rn(double x, double y, double z) { return std::fma(x, y, z); }

inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline int __float2int_rd(float x) { return static_cast<int>(std::floor(x)); }
inline int __float2int_ru(float x) { return static_cast<int>(std::ceil(x)); }
inline unsigned __float2uint_rn(float x) { return static_cast<unsigned>(std::nearbyint(x)); }
inline unsigned __float2uint_rz(float x) { return static_cast<unsigned>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline int __double2int_rn(double x) { return static_cast<int>(std::nearbyint(x)); }
inline int __double2hiint(double x) { return static_cast<int>(std::bit_cast<long long>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(std::bit_cast<long long>(x)); }

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __ffsll(long long x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1;
}
inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= (x >> i & 1u) << (31 - i);
  return r;
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
inline int __mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xFFFFFF) * (y & 0xFFFFFF); }
inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  __extension__ using wide = unsigned __int128;
  return static_cast<unsigned long long>(static_cast<wide>(x) * y >> 64);
}
inline long long __mul64hi(long long x, long long y) {
  __extension__ using wide = __int128;
  return static_cast<long long>(static_cast<wide>(x) * y >> 64);
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned by) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) << (by & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned by) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) >> (by & 31));
}
inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned by) {
  return by < 32 ? __funnelshift_l(lo, hi, by) : lo;
}
inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned by) {
  return by < 32 ? __funnelshift_r(lo, hi, by) : hi;
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  const unsigned long long all = static_cast<unsigned long long>(y) << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i) r |= static_cast<unsigned>(all >> ((s >> 4 * i & 7) * 8) & 0xFF) << 8 * i;
  return r;
}
inline unsigned __usad(unsigned x, unsigned y, unsigned z) { return z + (x > y ? x - y : y - x); }
inline unsigned __sad(int x, int y, unsigned z) {
  return z + (x > y ? static_cast<unsigned>(x) - static_cast<unsigned>(y)
                    : static_cast<unsigned>(y) - static_cast<unsigned>(x));
}
inline int __rhadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1); }
inline unsigned __uhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y) >> 1);
}
inline unsigned __urhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y + 1) >> 1);
}
inline int __dp4a(int x, int y, int sum) {
  for (int i = 0; i < 32; i += 8) sum += static_cast<signed char>(x >> i) * static_cast<signed char>(y >> i);
  return sum;
}
inline unsigned __dp4a(unsigned x, unsigned y, unsigned sum) {
  for (int i = 0; i < 32; i += 8) sum += (x >> i & 0xFF) * (y >> i & 0xFF);
  return sum;
}
inline int __dp2a_lo(int x, int y, int sum) {
  return sum + static_cast<short>(x) * static_cast<signed char>(y) +
         (x >> 16) * static_cast<signed char>(y >> 8);
}
inline int __dp2a_hi(int x, int y, int sum) { return __dp2a_lo(x, y >> 16, sum); }
inline unsigned __dp2a_lo(unsigned x, unsigned y, unsigned sum) {
  return sum + (x & 0xFFFF) * (y & 0xFF) + (x >> 16) * (y >> 8 & 0xFF);
}
inline unsigned __dp2a_hi(unsigned x, unsigned y, unsigned sum) { return __dp2a_lo(x, y >> 16, sum); }

// Operations on the 2 halves or 4 bytes of a word: each on its own, wrapping around.
namespace antiphase::plain {
template <class Lane, class Do> inline unsigned by_lanes(unsigned x, unsigned y, Do op) {
  constexpr int bits = 8 * sizeof(Lane);
  constexpr unsigned mask = (1u << bits) - 1;
  unsigned all = 0;
  for (int i = 0; i < 32; i += bits)
    all |= (static_cast<unsigned>(op(static_cast<Lane>(x >> i), static_cast<Lane>(y >> i))) & mask) << i;
  return all;
}
template <class Lane> inline unsigned sum_of_differences(unsigned x, unsigned y) {
  unsigned sum = 0;
  by_lanes<Lane>(x, y, [&](int a, int b) { return sum += static_cast<unsigned>(a > b ? a - b : b - a), 0; });
  return sum;
}
template <class Lane> inline int held(int x) {  // the nearest number that a lane can hold
  const int least = static_cast<Lane>(-1) < 0 ? -(1 << (8 * sizeof(Lane) - 1)) : 0,
            most = static_cast<Lane>(-1) < 0 ? -(least + 1) : (1 << 8 * sizeof(Lane)) - 1;
  return x < least ? least : x > most ? most : x;
}
}  // namespace antiphase::plain
#define AP_LANES_OF(name, type, expression)                                                     \
  inline unsigned name(unsigned x, unsigned y) {                                                \
    using lane = type;                                                                          \
    return antiphase::plain::by_lanes<lane>(x, y, [](int a, int b) {                            \
      [[maybe_unused]] const auto held = [](int v) { return antiphase::plain::held<lane>(v); }; \
      return expression;                                                                        \
    });                                                                                         \
  }
#define AP_LANES(name, sign, expression)            \
  AP_LANES_OF(__v##name##2, sign short, expression) \
  AP_LANES_OF(__v##name##4, sign char, expression)
#define AP_COMPARED(name, sign, expression)        \
  AP_LANES(cmp##name, sign, (expression) ? -1 : 0) \
  AP_LANES(set##name, sign, (expression) ? 1 : 0)
#define AP_OF_ONE(name, sign, expression)                                                       \
  inline unsigned __v##name##2(unsigned x) {                                                    \
    return antiphase::plain::by_lanes<sign short>(x, 0, [](int a, int) { return expression; }); \
  }                                                                                             \
  inline unsigned __v##name##4(unsigned x) {                                                    \
    return antiphase::plain::by_lanes<sign char>(x, 0, [](int a, int) { return expression; });  \
  }
AP_LANES(add, unsigned, a + b)
AP_LANES(sub, unsigned, a - b)
AP_LANES(addss, signed, held(a + b))
AP_LANES(addus, unsigned, held(a + b))
AP_LANES(subss, signed, held(a - b))
AP_LANES(subus, unsigned, held(a - b))
AP_LANES(maxs, signed, a > b ? a : b)
AP_LANES(maxu, unsigned, a > b ? a : b)
AP_LANES(mins, signed, a < b ? a : b)
AP_LANES(minu, unsigned, a < b ? a : b)
AP_LANES(absdiffs, signed, a > b ? a - b : b - a)
AP_LANES(absdiffu, unsigned, a > b ? a - b : b - a)
AP_LANES(avgu, unsigned, (a + b + 1) >> 1)
AP_LANES(haddu, unsigned, (a + b) >> 1)
AP_COMPARED(eq, unsigned, a == b)
AP_COMPARED(ne, unsigned, a != b)
AP_COMPARED(gts, signed, a > b)
AP_COMPARED(gtu, unsigned, a > b)
AP_COMPARED(ges, signed, a >= b)
AP_COMPARED(geu, unsigned, a >= b)
AP_COMPARED(lts, signed, a < b)
AP_COMPARED(ltu, unsigned, a < b)
AP_COMPARED(les, signed, a <= b)
AP_COMPARED(leu, unsigned, a <= b)
AP_OF_ONE(abs, signed, a < 0 ? -a : a)
AP_OF_ONE(neg, signed, -a)
#undef AP_LANES_OF
#undef AP_LANES
#undef AP_COMPARED
#undef AP_OF_ONE
inline unsigned __vsads2(unsigned x, unsigned y) { return antiphase::plain::sum_of_differences<short>(x, y); }
inline unsigned __vsadu2(unsigned x, unsigned y) {
  return antiphase::plain::sum_of_differences<unsigned short>(x, y);
}
inline unsigned __vsads4(unsigned x, unsigned y) {
  return antiphase::plain::sum_of_differences<signed char>(x, y);
}
inline unsigned __vsadu4(unsigned x, unsigned y) {
  return antiphase::plain::sum_of_differences<unsigned char>(x, y);
}
