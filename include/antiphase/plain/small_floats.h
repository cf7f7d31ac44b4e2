// SPDX-License-Identifier: Apache-2.0
// Common parts of __half and __nv_bfloat16: 16-bit values, computed in float and rounded to nearest, ties to
// even.
#pragma once
#include "cuda_runtime.h"
#include "rounded.h"

// A type, its pair, and functions of both. `two`: the pair's name; `s`: suffix of its conversions.
#define AP_SMALL_FLOAT(type, two, s, to, from)                                                       \
  struct alignas(2) type {                                                                           \
    unsigned short bits;                                                                             \
    type() = default;                                                                                \
    type(float x) : bits(antiphase::plain::to(x)) {}                                                 \
    type(double x) : type(static_cast<float>(x)) {}                                                  \
    type(int x) : type(static_cast<float>(x)) {}                                                     \
    type(unsigned x) : type(static_cast<float>(x)) {}                                                \
    operator float() const { return antiphase::plain::from(bits); }                                  \
    type& operator+=(type b) { return *this = type(float(*this) + float(b)); }                       \
    type& operator-=(type b) { return *this = type(float(*this) - float(b)); }                       \
    type& operator*=(type b) { return *this = type(float(*this) * float(b)); }                       \
    type& operator/=(type b) { return *this = type(float(*this) / float(b)); }                       \
  };                                                                                                 \
  struct alignas(4) two {                                                                            \
    type x, y;                                                                                       \
    two() = default;                                                                                 \
    two(type a, type b) : x(a), y(b) {}                                                              \
  };                                                                                                 \
  inline type operator+(type a, type b) { return float(a) + float(b); }                              \
  inline type operator-(type a, type b) { return float(a) - float(b); }                              \
  inline type operator*(type a, type b) { return float(a) * float(b); }                              \
  inline type operator/(type a, type b) { return float(a) / float(b); }                              \
  inline type operator-(type a) { return -float(a); }                                                \
  inline bool operator<(type a, type b) { return float(a) < float(b); }                              \
  inline bool operator>(type a, type b) { return float(a) > float(b); }                              \
  inline bool operator<=(type a, type b) { return float(a) <= float(b); }                            \
  inline bool operator>=(type a, type b) { return float(a) >= float(b); }                            \
  inline bool operator==(type a, type b) { return float(a) == float(b); }                            \
  inline two operator+(two a, two b) { return {a.x + b.x, a.y + b.y}; }                              \
  inline two operator-(two a, two b) { return {a.x - b.x, a.y - b.y}; }                              \
  inline two operator*(two a, two b) { return {a.x * b.x, a.y * b.y}; }                              \
  inline type __float2##s(float x) { return x; }                                                     \
  inline type __float2##s##_rn(float x) { return x; }                                                \
  inline type __double2##s(double x) { return x; }                                                   \
  inline type __int2##s##_rn(int x) { return x; }                                                    \
  inline float __##s##2float(type x) { return x; }                                                   \
  inline two __floats2##s##2_rn(float a, float b) { return {a, b}; }                                 \
  inline two __float2##s##2_rn(float a) { return {a, a}; }                                           \
  inline float2 __##s##22float2(two a) { return {a.x, a.y}; }                                        \
  inline two __float22##s##2_rn(float2 a) { return {a.x, a.y}; }                                     \
  inline two __##s##2##s##2(type a) { return {a, a}; }                                               \
  inline int __##s##2int_rn(type x) { return static_cast<int>(std::nearbyint(float(x))); }           \
  inline type __hadd(type a, type b) { return a + b; }                                               \
  inline type __hsub(type a, type b) { return a - b; }                                               \
  inline type __hmul(type a, type b) { return a * b; }                                               \
  inline type __hdiv(type a, type b) { return a / b; }                                               \
  inline type __hneg(type a) { return -a; }                                                          \
  inline type __habs(type a) { return std::fabs(float(a)); }                                         \
  inline type __hmax(type a, type b) { return std::fmax(float(a), float(b)); }                       \
  inline type __hmin(type a, type b) { return std::fmin(float(a), float(b)); }                       \
  inline type __hfma(type a, type b, type c) { return std::fma(float(a), float(b), float(c)); }      \
  inline bool __hlt(type a, type b) { return a < b; }                                                \
  inline bool __hgt(type a, type b) { return a > b; }                                                \
  inline bool __hle(type a, type b) { return a <= b; }                                               \
  inline bool __hge(type a, type b) { return a >= b; }                                               \
  inline bool __heq(type a, type b) { return a == b; }                                               \
  inline bool __hisnan(type a) { return std::isnan(float(a)); }                                      \
  inline type hexp(type a) { return std::exp(float(a)); }                                            \
  inline type hexp2(type a) { return std::exp2(float(a)); }                                          \
  inline type hlog2(type a) { return std::log2(float(a)); }                                          \
  inline type hsin(type a) { return std::sin(float(a)); }                                            \
  inline type hcos(type a) { return std::cos(float(a)); }                                            \
  inline type hrcp(type a) { return 1 / float(a); }                                                  \
  inline two h2exp(two a) { return {hexp(a.x), hexp(a.y)}; }                                         \
  inline two h2exp2(two a) { return {hexp2(a.x), hexp2(a.y)}; }                                      \
  inline two h2rcp(two a) { return {hrcp(a.x), hrcp(a.y)}; }                                         \
  inline two __h2div(two a, two b) { return {a.x / b.x, a.y / b.y}; }                                \
  inline two __hmin2(two a, two b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                  \
  inline two __hneg2(two a) { return {-a.x, -a.y}; }                                                 \
  inline type hlog(type a) { return std::log(float(a)); }                                            \
  inline type hsqrt(type a) { return std::sqrt(float(a)); }                                          \
  inline type hrsqrt(type a) { return rsqrtf(a); }                                                   \
  inline two __hadd2(two a, two b) { return a + b; }                                                 \
  inline two __hsub2(two a, two b) { return a - b; }                                                 \
  inline two __hmul2(two a, two b) { return a * b; }                                                 \
  inline two __hfma2(two a, two b, two c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  inline two __hmax2(two a, two b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                  \
  inline type __low2##s(two a) { return a.x; }                                                       \
  inline type __high2##s(two a) { return a.y; }                                                      \
  inline float __low2float(two a) { return a.x; }                                                    \
  inline float __high2float(two a) { return a.y; }
