// SPDX-License-Identifier: Apache-2.0
// Common parts of __half and __nv_bfloat16: 16-bit values, computed in float and rounded to nearest, ties to
// even.
#pragma once
#include "cuda_runtime.h"
#include "rounded.h"

#define __CUDA_ALIGN__(n) alignas(n)

// A type, its pair, and functions of both. `two`: the pair's name; `s`: suffix of its conversions.
#define AP_SMALL_FLOAT(type, two, s, to, from)                                                        \
  struct type##_raw {                                                                                 \
    unsigned short x;                                                                                 \
  };                                                                                                  \
  struct two##_raw {                                                                                  \
    unsigned short x, y;                                                                              \
  };                                                                                                  \
  struct alignas(2) type {                                                                            \
    unsigned short bits;                                                                              \
    type() = default;                                                                                 \
    type(type##_raw r) : bits(r.x) {}                                                                 \
    operator type##_raw() const { return {bits}; }                                                    \
    type(float x) : bits(antiphase::plain::to(x)) {}                                                  \
    type(double x) : type(static_cast<float>(x)) {}                                                   \
    type(int x) : type(static_cast<float>(x)) {}                                                      \
    type(unsigned x) : type(static_cast<float>(x)) {}                                                 \
    operator float() const { return antiphase::plain::from(bits); }                                   \
    type& operator+=(type b) { return *this = type(float(*this) + float(b)); }                        \
    type& operator-=(type b) { return *this = type(float(*this) - float(b)); }                        \
    type& operator*=(type b) { return *this = type(float(*this) * float(b)); }                        \
    type& operator/=(type b) { return *this = type(float(*this) / float(b)); }                        \
  };                                                                                                  \
  struct alignas(4) two {                                                                             \
    type x, y;                                                                                        \
    two() = default;                                                                                  \
    two(two##_raw r) : x(type##_raw{r.x}), y(type##_raw{r.y}) {}                                      \
    operator two##_raw() const { return {x.bits, y.bits}; }                                           \
    two(type a, type b) : x(a), y(b) {}                                                               \
  };                                                                                                  \
  inline type operator+(type a, type b) { return float(a) + float(b); }                               \
  inline type operator-(type a, type b) { return float(a) - float(b); }                               \
  inline type operator*(type a, type b) { return float(a) * float(b); }                               \
  inline type operator/(type a, type b) { return float(a) / float(b); }                               \
  inline type operator-(type a) { return -float(a); }                                                 \
  inline bool operator<(type a, type b) { return float(a) < float(b); }                               \
  inline bool operator>(type a, type b) { return float(a) > float(b); }                               \
  inline bool operator<=(type a, type b) { return float(a) <= float(b); }                             \
  inline bool operator>=(type a, type b) { return float(a) >= float(b); }                             \
  inline bool operator==(type a, type b) { return float(a) == float(b); }                             \
  inline two operator+(two a, two b) { return {a.x + b.x, a.y + b.y}; }                               \
  inline two operator-(two a, two b) { return {a.x - b.x, a.y - b.y}; }                               \
  inline two operator*(two a, two b) { return {a.x * b.x, a.y * b.y}; }                               \
  inline type __float2##s(float x) { return x; }                                                      \
  inline type __float2##s##_rn(float x) { return x; }                                                 \
  inline type __double2##s(double x) { return x; }                                                    \
  inline type __int2##s##_rn(int x) { return x; }                                                     \
  inline float __##s##2float(type x) { return x; }                                                    \
  inline two __floats2##s##2_rn(float a, float b) { return {a, b}; }                                  \
  inline two __float2##s##2_rn(float a) { return {a, a}; }                                            \
  inline float2 __##s##22float2(two a) { return {a.x, a.y}; }                                         \
  inline two __float22##s##2_rn(float2 a) { return {a.x, a.y}; }                                      \
  inline two __##s##2##s##2(type a) { return {a, a}; }                                                \
  inline int __##s##2int_rn(type x) { return static_cast<int>(std::nearbyint(float(x))); }            \
  inline type __hadd(type a, type b) { return a + b; }                                                \
  inline type __hsub(type a, type b) { return a - b; }                                                \
  inline type __hmul(type a, type b) { return a * b; }                                                \
  inline type __hdiv(type a, type b) { return a / b; }                                                \
  inline type __hneg(type a) { return -a; }                                                           \
  inline type __habs(type a) { return std::fabs(float(a)); }                                          \
  inline type __hmax(type a, type b) { return std::fmax(float(a), float(b)); }                        \
  inline type __hmin(type a, type b) { return std::fmin(float(a), float(b)); }                        \
  inline type __hfma(type a, type b, type c) { return std::fma(float(a), float(b), float(c)); }       \
  inline bool __hlt(type a, type b) { return a < b; }                                                 \
  inline bool __hgt(type a, type b) { return a > b; }                                                 \
  inline bool __hle(type a, type b) { return a <= b; }                                                \
  inline bool __hge(type a, type b) { return a >= b; }                                                \
  inline bool __heq(type a, type b) { return a == b; }                                                \
  inline bool __hisnan(type a) { return std::isnan(float(a)); }                                       \
  inline type hexp(type a) { return std::exp(float(a)); }                                             \
  inline type hexp2(type a) { return std::exp2(float(a)); }                                           \
  inline type hlog2(type a) { return std::log2(float(a)); }                                           \
  inline type hsin(type a) { return std::sin(float(a)); }                                             \
  inline type hcos(type a) { return std::cos(float(a)); }                                             \
  inline type hrcp(type a) { return 1 / float(a); }                                                   \
  inline two h2exp(two a) { return {hexp(a.x), hexp(a.y)}; }                                          \
  inline two h2exp2(two a) { return {hexp2(a.x), hexp2(a.y)}; }                                       \
  inline two h2rcp(two a) { return {hrcp(a.x), hrcp(a.y)}; }                                          \
  inline two __h2div(two a, two b) { return {a.x / b.x, a.y / b.y}; }                                 \
  inline two __hmin2(two a, two b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                   \
  inline two __hneg2(two a) { return {-a.x, -a.y}; }                                                  \
  inline type hlog(type a) { return std::log(float(a)); }                                             \
  inline type hsqrt(type a) { return std::sqrt(float(a)); }                                           \
  inline type hrsqrt(type a) { return rsqrtf(a); }                                                    \
  inline two __hadd2(two a, two b) { return a + b; }                                                  \
  inline two __hsub2(two a, two b) { return a - b; }                                                  \
  inline two __hmul2(two a, two b) { return a * b; }                                                  \
  inline two __hfma2(two a, two b, two c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }  \
  inline two __hmax2(two a, two b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                   \
  inline type __low2##s(two a) { return a.x; }                                                        \
  inline type __high2##s(two a) { return a.y; }                                                       \
  inline float __low2float(two a) { return a.x; }                                                     \
  inline float __high2float(two a) { return a.y; }                                                    \
  inline type htrunc(type a) { return std::trunc(float(a)); }                                         \
  inline type hfloor(type a) { return std::floor(float(a)); }                                         \
  inline type hceil(type a) { return std::ceil(float(a)); }                                           \
  inline type hrint(type a) { return std::nearbyint(float(a)); }                                      \
  inline type hlog10(type a) { return std::log10(float(a)); }                                         \
  inline type htanh(type a) { return std::tanh(float(a)); }                                           \
  inline type hexp10(type a) { return std::pow(10.0f, float(a)); }                                    \
  inline two h2sqrt(two a) { return {hsqrt(a.x), hsqrt(a.y)}; }                                       \
  inline two h2rsqrt(two a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }                                    \
  inline two h2log(two a) { return {hlog(a.x), hlog(a.y)}; }                                          \
  inline two h2log2(two a) { return {hlog2(a.x), hlog2(a.y)}; }                                       \
  inline two h2log10(two a) { return {hlog10(a.x), hlog10(a.y)}; }                                    \
  inline two h2sin(two a) { return {hsin(a.x), hsin(a.y)}; }                                          \
  inline two h2cos(two a) { return {hcos(a.x), hcos(a.y)}; }                                          \
  inline two h2exp10(two a) { return {hexp10(a.x), hexp10(a.y)}; }                                    \
  inline two h2trunc(two a) { return {htrunc(a.x), htrunc(a.y)}; }                                    \
  inline two h2floor(two a) { return {hfloor(a.x), hfloor(a.y)}; }                                    \
  inline two h2ceil(two a) { return {hceil(a.x), hceil(a.y)}; }                                       \
  inline two h2rint(two a) { return {hrint(a.x), hrint(a.y)}; }                                       \
  inline two h2tanh(two a) { return {htanh(a.x), htanh(a.y)}; }                                       \
  inline two __habs2(two a) { return {__habs(a.x), __habs(a.y)}; }                                    \
  inline bool __hne(type a, type b) { return float(a) < float(b) || float(a) > float(b); }            \
  inline int __hisinf(type a) { return std::isinf(float(a)) ? (float(a) < 0 ? -1 : 1) : 0; }          \
  inline two __hisnan2(two a) { return {float(__hisnan(a.x)), float(__hisnan(a.y))}; }                \
  inline two __heq2(two a, two b) { return {float(__heq(a.x, b.x)), float(__heq(a.y, b.y))}; }        \
  inline bool __hbeq2(two a, two b) { return __heq(a.x, b.x) && __heq(a.y, b.y); }                    \
  inline two __hne2(two a, two b) { return {float(__hne(a.x, b.x)), float(__hne(a.y, b.y))}; }        \
  inline bool __hbne2(two a, two b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }                    \
  inline two __hlt2(two a, two b) { return {float(__hlt(a.x, b.x)), float(__hlt(a.y, b.y))}; }        \
  inline bool __hblt2(two a, two b) { return __hlt(a.x, b.x) && __hlt(a.y, b.y); }                    \
  inline two __hle2(two a, two b) { return {float(__hle(a.x, b.x)), float(__hle(a.y, b.y))}; }        \
  inline bool __hble2(two a, two b) { return __hle(a.x, b.x) && __hle(a.y, b.y); }                    \
  inline two __hgt2(two a, two b) { return {float(__hgt(a.x, b.x)), float(__hgt(a.y, b.y))}; }        \
  inline bool __hbgt2(two a, two b) { return __hgt(a.x, b.x) && __hgt(a.y, b.y); }                    \
  inline two __hge2(two a, two b) { return {float(__hge(a.x, b.x)), float(__hge(a.y, b.y))}; }        \
  inline bool __hbge2(two a, two b) { return __hge(a.x, b.x) && __hge(a.y, b.y); }                    \
  inline type ap_held(type a) { return float(a) > 0 ? (float(a) < 1 ? a : type(1.0f)) : type(0.0f); } \
  inline type ap_positive(type a) { return float(a) < 0 ? type(0.0f) : a; }                           \
  inline type __hadd_sat(type a, type b) { return ap_held(__hadd(a, b)); }                            \
  inline two __hadd2_sat(two a, two b) { return {__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)}; }       \
  inline type __hadd_rn(type a, type b) { return __hadd(a, b); }                                      \
  inline two __hadd2_rn(two a, two b) { return __hadd2(a, b); }                                       \
  inline type __hsub_sat(type a, type b) { return ap_held(__hsub(a, b)); }                            \
  inline two __hsub2_sat(two a, two b) { return {__hsub_sat(a.x, b.x), __hsub_sat(a.y, b.y)}; }       \
  inline type __hsub_rn(type a, type b) { return __hsub(a, b); }                                      \
  inline two __hsub2_rn(two a, two b) { return __hsub2(a, b); }                                       \
  inline type __hmul_sat(type a, type b) { return ap_held(__hmul(a, b)); }                            \
  inline two __hmul2_sat(two a, two b) { return {__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)}; }       \
  inline type __hmul_rn(type a, type b) { return __hmul(a, b); }                                      \
  inline two __hmul2_rn(two a, two b) { return __hmul2(a, b); }                                       \
  inline type __hfma_sat(type a, type b, type c) { return ap_held(__hfma(a, b, c)); }                 \
  inline two __hfma2_sat(two a, two b, two c) {                                                       \
    return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};                                    \
  }                                                                                                   \
  inline type __hfma_relu(type a, type b, type c) { return ap_positive(__hfma(a, b, c)); }            \
  inline two __hfma2_relu(two a, two b, two c) {                                                      \
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};                                  \
  }                                                                                                   \
  inline type __hmax_nan(type a, type b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); } \
  inline two __hmax2_nan(two a, two b) { return {__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)}; }       \
  inline type __hmin_nan(type a, type b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); } \
  inline two __hmin2_nan(two a, two b) { return {__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)}; }       \
  inline two __low2##s##2(two a) { return {a.x, a.x}; }                                               \
  inline two __high2##s##2(two a) { return {a.y, a.y}; }                                              \
  inline two __lows2##s##2(two a, two b) { return {a.x, b.x}; }                                       \
  inline two __highs2##s##2(two a, two b) { return {a.y, b.y}; }                                      \
  inline two __lowhigh2highlow(two a) { return {a.y, a.x}; }                                          \
  inline int __##s##2int_rz(type x) { return static_cast<int>(std::trunc(float(x))); }                \
  inline int __##s##2int_rd(type x) { return static_cast<int>(std::floor(float(x))); }                \
  inline int __##s##2int_ru(type x) { return static_cast<int>(std::ceil(float(x))); }                 \
  inline unsigned __##s##2uint_rz(type x) { return static_cast<unsigned>(std::trunc(float(x))); }     \
  inline unsigned __##s##2uint_rd(type x) { return static_cast<unsigned>(std::floor(float(x))); }     \
  inline unsigned __##s##2uint_ru(type x) { return static_cast<unsigned>(std::ceil(float(x))); }      \
  inline unsigned __##s##2uint_rn(type x) { return static_cast<unsigned>(std::nearbyint(float(x))); } \
  inline type __uint2##s##_rn(unsigned x) { return static_cast<float>(x); }                           \
  inline short __##s##2short_rz(type x) { return static_cast<short>(std::trunc(float(x))); }          \
  inline short __##s##2short_rd(type x) { return static_cast<short>(std::floor(float(x))); }          \
  inline short __##s##2short_ru(type x) { return static_cast<short>(std::ceil(float(x))); }           \
  inline short __##s##2short_rn(type x) { return static_cast<short>(std::nearbyint(float(x))); }      \
  inline type __short2##s##_rn(short x) { return static_cast<float>(x); }                             \
  inline unsigned short __##s##2ushort_rz(type x) {                                                   \
    return static_cast<unsigned short>(std::trunc(float(x)));                                         \
  }                                                                                                   \
  inline unsigned short __##s##2ushort_rd(type x) {                                                   \
    return static_cast<unsigned short>(std::floor(float(x)));                                         \
  }                                                                                                   \
  inline unsigned short __##s##2ushort_ru(type x) {                                                   \
    return static_cast<unsigned short>(std::ceil(float(x)));                                          \
  }                                                                                                   \
  inline unsigned short __##s##2ushort_rn(type x) {                                                   \
    return static_cast<unsigned short>(std::nearbyint(float(x)));                                     \
  }                                                                                                   \
  inline type __ushort2##s##_rn(unsigned short x) { return static_cast<float>(x); }                   \
  inline long long __##s##2ll_rz(type x) { return static_cast<long long>(std::trunc(float(x))); }     \
  inline long long __##s##2ll_rd(type x) { return static_cast<long long>(std::floor(float(x))); }     \
  inline long long __##s##2ll_ru(type x) { return static_cast<long long>(std::ceil(float(x))); }      \
  inline long long __##s##2ll_rn(type x) { return static_cast<long long>(std::nearbyint(float(x))); } \
  inline type __ll2##s##_rn(long long x) { return static_cast<float>(x); }                            \
  inline unsigned long long __##s##2ull_rz(type x) {                                                  \
    return static_cast<unsigned long long>(std::trunc(float(x)));                                     \
  }                                                                                                   \
  inline unsigned long long __##s##2ull_rd(type x) {                                                  \
    return static_cast<unsigned long long>(std::floor(float(x)));                                     \
  }                                                                                                   \
  inline unsigned long long __##s##2ull_ru(type x) {                                                  \
    return static_cast<unsigned long long>(std::ceil(float(x)));                                      \
  }                                                                                                   \
  inline unsigned long long __##s##2ull_rn(type x) {                                                  \
    return static_cast<unsigned long long>(std::nearbyint(float(x)));                                 \
  }                                                                                                   \
  inline type __ull2##s##_rn(unsigned long long x) { return static_cast<float>(x); }                  \
  inline two& operator+=(two& a, two b) { return a = {a.x + b.x, a.y + b.y}; }                        \
  inline two& operator-=(two& a, two b) { return a = {a.x - b.x, a.y - b.y}; }                        \
  inline two& operator*=(two& a, two b) { return a = {a.x * b.x, a.y * b.y}; }                        \
  inline two& operator/=(two& a, two b) { return a = {a.x / b.x, a.y / b.y}; }                        \
  inline two operator/(two a, two b) { return {a.x / b.x, a.y / b.y}; }                               \
  inline two operator-(two a) { return {-a.x, -a.y}; }                                                \
  inline bool operator!=(type a, type b) { return float(a) != float(b); }                             \
  inline bool operator==(two a, two b) { return a.x == b.x && a.y == b.y; }                           \
  inline type __ushort_as_##s(unsigned short x) { return std::bit_cast<type>(x); }                    \
  inline type __short_as_##s(short x) { return std::bit_cast<type>(x); }                              \
  inline unsigned short __##s##_as_ushort(type x) { return std::bit_cast<unsigned short>(x); }        \
  inline short __##s##_as_short(type x) { return std::bit_cast<short>(x); }                           \
  inline two __halves2##s##2(type a, type b) { return {a, b}; }
