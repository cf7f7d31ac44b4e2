// SPDX-License-Identifier: Apache-2.0
// Floating numbers of 8, 6 and 4 bits and powers of two of 8, their pairs and fours, and conversions. Plain
// CUDA under the checker.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

#include "letters.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
typedef unsigned char __nv_fp6_storage_t;
typedef unsigned short __nv_fp6x2_storage_t;
typedef unsigned __nv_fp6x4_storage_t;
typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
typedef unsigned short __nv_fp4x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
enum __nv_fp6_interpretation_t { __NV_E2M3, __NV_E3M2 };
enum __nv_fp4_interpretation_t { __NV_E2M1 };
enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };

namespace antiphase::plain {
constexpr small_float small_of(__nv_fp8_interpretation_t as) {
  return as == __NV_E4M3 ? small_float::e4m3 : small_float::e5m2;
}
constexpr small_float small_of(__nv_fp6_interpretation_t as) {
  return as == __NV_E2M3 ? small_float::e2m3 : small_float::e3m2;
}
constexpr small_float small_of(__nv_fp4_interpretation_t) { return small_float::e2m1; }
// From a number of a pair or of four to the next one.
constexpr int small_step(small_float of) { return of == small_float::e2m1 ? 4 : 8; }
inline unsigned small_pair(double2 x, bool saturates, small_float of) {
  return to_small(x.x, saturates, of) | to_small(x.y, saturates, of) << small_step(of);
}
inline float small_at(unsigned all, int i, small_float of) {
  return from_small(all >> small_step(of) * i, of);
}
}  // namespace antiphase::plain

#define AP_OF_FP8 __nv_saturation_t how, __nv_fp8_interpretation_t as
#define AP_OF_FP6 __nv_fp6_interpretation_t as, cudaRoundMode how
#define AP_OF_FP4 __nv_fp4_interpretation_t as, cudaRoundMode how
// `of` declares `how` and `as`, which come as `a` and `b`.
#define AP_CONVERSIONS(fp, of, saturates, a, b)                                                              \
  inline __nv_##fp##_storage_t __nv_cvt_double_to_##fp(double x, of) {                                       \
    (void)how;                                                                                               \
    return static_cast<unsigned char>(                                                                       \
        antiphase::plain::to_small(x, saturates, antiphase::plain::small_of(as)));                           \
  }                                                                                                          \
  inline __nv_##fp##_storage_t __nv_cvt_float_to_##fp(float x, of) {                                         \
    return __nv_cvt_double_to_##fp(x, a, b);                                                                 \
  }                                                                                                          \
  inline __nv_##fp##_storage_t __nv_cvt_halfraw_to_##fp(__half_raw x, of) {                                  \
    return __nv_cvt_double_to_##fp(float(__half(x)), a, b);                                                  \
  }                                                                                                          \
  inline __nv_##fp##_storage_t __nv_cvt_bfloat16raw_to_##fp(__nv_bfloat16_raw x, of) {                       \
    return __nv_cvt_double_to_##fp(float(__nv_bfloat16(x)), a, b);                                           \
  }                                                                                                          \
  inline __nv_##fp##x2_storage_t __nv_cvt_double2_to_##fp##x2(double2 x, of) {                               \
    (void)how;                                                                                               \
    return static_cast<__nv_##fp##x2_storage_t>(                                                             \
        antiphase::plain::small_pair(x, saturates, antiphase::plain::small_of(as)));                         \
  }                                                                                                          \
  inline __nv_##fp##x2_storage_t __nv_cvt_float2_to_##fp##x2(float2 x, of) {                                 \
    return __nv_cvt_double2_to_##fp##x2({x.x, x.y}, a, b);                                                   \
  }                                                                                                          \
  inline __nv_##fp##x2_storage_t __nv_cvt_halfraw2_to_##fp##x2(__half2_raw x, of) {                          \
    return __nv_cvt_float2_to_##fp##x2({float(__half(__half_raw{x.x})), float(__half(__half_raw{x.y}))}, a,  \
                                       b);                                                                   \
  }                                                                                                          \
  inline __nv_##fp##x2_storage_t __nv_cvt_bfloat16raw2_to_##fp##x2(__nv_bfloat162_raw x, of) {               \
    return __nv_cvt_float2_to_##fp##x2(                                                                      \
        {float(__nv_bfloat16(__nv_bfloat16_raw{x.x})), float(__nv_bfloat16(__nv_bfloat16_raw{x.y}))}, a, b); \
  }                                                                                                          \
  inline __half_raw __nv_cvt_##fp##_to_halfraw(__nv_##fp##_storage_t x, __nv_##fp##_interpretation_t as) {   \
    return {antiphase::plain::to_half(antiphase::plain::from_small(x, antiphase::plain::small_of(as)))};     \
  }                                                                                                          \
  inline __half2_raw __nv_cvt_##fp##x2_to_halfraw2(__nv_##fp##x2_storage_t x,                                \
                                                   __nv_##fp##_interpretation_t as) {                        \
    const auto half = [&](int i) {                                                                           \
      return antiphase::plain::to_half(antiphase::plain::small_at(x, i, antiphase::plain::small_of(as)));    \
    };                                                                                                       \
    return {half(0), half(1)};                                                                               \
  }
AP_CONVERSIONS(fp8, AP_OF_FP8, how == __NV_SATFINITE, how, as)
AP_CONVERSIONS(fp6, AP_OF_FP6, true, as, how)
AP_CONVERSIONS(fp4, AP_OF_FP4, true, as, how)
#undef AP_CONVERSIONS
#undef AP_OF_FP8
#undef AP_OF_FP6
#undef AP_OF_FP4

#define AP_SMALL(fp, name, two, four, of)                                                                    \
  struct alignas(1) name {                                                                                   \
    __nv_##fp##_storage_t __x;                                                                               \
    name() = default;                                                                                        \
    template <class T>                                                                                       \
    requires std::is_arithmetic_v<T>                                                                         \
    explicit name(T v)                                                                                       \
        : __x(static_cast<unsigned char>(antiphase::plain::to_small(static_cast<double>(v), true,            \
                                                                    antiphase::plain::small_float::of))) {}  \
    explicit name(__half v) : name(float(v)) {}                                                              \
    explicit name(__nv_bfloat16 v) : name(float(v)) {}                                                       \
    explicit operator float() const {                                                                        \
      return antiphase::plain::from_small(__x, antiphase::plain::small_float::of);                           \
    }                                                                                                        \
    explicit operator double() const { return float(*this); }                                                \
    explicit operator __half() const { return float(*this); }                                                \
    explicit operator __nv_bfloat16() const { return float(*this); }                                         \
    explicit operator bool() const { return float(*this) != 0; }                                             \
    template <class T>                                                                                       \
    requires std::is_integral_v<T>                                                                           \
    explicit operator T() const { return static_cast<T>(float(*this)); }                                     \
  };                                                                                                         \
  struct alignas(sizeof(__nv_##fp##x2_storage_t)) two {                                                      \
    __nv_##fp##x2_storage_t __x;                                                                             \
    two() = default;                                                                                         \
    explicit two(double2 v)                                                                                  \
        : __x(static_cast<__nv_##fp##x2_storage_t>(                                                          \
              antiphase::plain::small_pair(v, true, antiphase::plain::small_float::of))) {}                  \
    explicit two(float2 v) : two(double2{v.x, v.y}) {}                                                       \
    explicit two(__half2 v) : two(__half22float2(v)) {}                                                      \
    explicit two(__nv_bfloat162 v) : two(__bfloat1622float2(v)) {}                                           \
    explicit operator float2() const {                                                                       \
      return {antiphase::plain::small_at(__x, 0, antiphase::plain::small_float::of),                         \
              antiphase::plain::small_at(__x, 1, antiphase::plain::small_float::of)};                        \
    }                                                                                                        \
    explicit operator __half2() const { return __float22half2_rn(float2(*this)); }                           \
    explicit operator __nv_bfloat162() const { return __float22bfloat162_rn(float2(*this)); }                \
  };                                                                                                         \
  struct alignas(sizeof(__nv_##fp##x4_storage_t)) four {                                                     \
    __nv_##fp##x4_storage_t __x;                                                                             \
    four() = default;                                                                                        \
    explicit four(double4 v) : four(two(double2{v.x, v.y}), two(double2{v.z, v.w})) {}                       \
    explicit four(float4 v) : four(two(float2{v.x, v.y}), two(float2{v.z, v.w})) {}                          \
    four(__half2 low, __half2 high) : four(two(low), two(high)) {}                                           \
    four(__nv_bfloat162 low, __nv_bfloat162 high) : four(two(low), two(high)) {}                             \
    explicit operator float4() const {                                                                       \
      const auto at = [&](int i) {                                                                           \
        return antiphase::plain::small_at(__x, i, antiphase::plain::small_float::of);                        \
      };                                                                                                     \
      return {at(0), at(1), at(2), at(3)};                                                                   \
    }                                                                                                        \
                                                                                                             \
   private:                                                                                                  \
    four(two low, two high)                                                                                  \
        : __x(static_cast<__nv_##fp##x4_storage_t>(                                                          \
              low.__x | high.__x << 2 * antiphase::plain::small_step(antiphase::plain::small_float::of))) {} \
  };
AP_SMALL(fp8, __nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3, e4m3)
AP_SMALL(fp8, __nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2, e5m2)
AP_SMALL(fp6, __nv_fp6_e2m3, __nv_fp6x2_e2m3, __nv_fp6x4_e2m3, e2m3)
AP_SMALL(fp6, __nv_fp6_e3m2, __nv_fp6x2_e3m2, __nv_fp6x4_e3m2, e3m2)
AP_SMALL(fp4, __nv_fp4_e2m1, __nv_fp4x2_e2m1, __nv_fp4x4_e2m1, e2m1)
#undef AP_SMALL

// Powers of two: the next smaller one (cudaRoundZero) or the next larger one (cudaRoundPosInf).
inline __nv_fp8_storage_t __nv_cvt_double_to_e8m0(double x, __nv_saturation_t how, cudaRoundMode to) {
  return static_cast<unsigned char>(
      antiphase::plain::to_power(x, to == cudaRoundPosInf, how == __NV_SATFINITE));
}
inline __nv_fp8_storage_t __nv_cvt_float_to_e8m0(float x, __nv_saturation_t how, cudaRoundMode to) {
  return __nv_cvt_double_to_e8m0(x, how, to);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16_raw x, __nv_saturation_t how,
                                                       cudaRoundMode to) {
  return __nv_cvt_double_to_e8m0(float(__nv_bfloat16(x)), how, to);
}
inline __nv_fp8x2_storage_t __nv_cvt_double2_to_e8m0x2(double2 x, __nv_saturation_t how, cudaRoundMode to) {
  return static_cast<unsigned short>(__nv_cvt_double_to_e8m0(x.x, how, to) |
                                     __nv_cvt_double_to_e8m0(x.y, how, to) << 8);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_e8m0x2(float2 x, __nv_saturation_t how, cudaRoundMode to) {
  return __nv_cvt_double2_to_e8m0x2({x.x, x.y}, how, to);
}
inline __nv_fp8x2_storage_t __nv_cvt_bfloat162raw_to_e8m0x2(__nv_bfloat162_raw x, __nv_saturation_t how,
                                                            cudaRoundMode to) {
  return static_cast<unsigned short>(__nv_cvt_bfloat16raw_to_e8m0({x.x}, how, to) |
                                     __nv_cvt_bfloat16raw_to_e8m0({x.y}, how, to) << 8);
}
inline __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(__nv_fp8_storage_t x) {
  return {antiphase::plain::to_bfloat(antiphase::plain::from_power(x))};
}
inline __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(__nv_fp8x2_storage_t x) {
  return {__nv_cvt_e8m0_to_bf16raw(static_cast<unsigned char>(x)).x,
          __nv_cvt_e8m0_to_bf16raw(static_cast<unsigned char>(x >> 8)).x};
}
struct alignas(1) __nv_fp8_e8m0 {
  __nv_fp8_storage_t __x;
  __nv_fp8_e8m0() = default;
  template <class T>
  requires std::is_arithmetic_v<T>
  explicit __nv_fp8_e8m0(T v)
      : __x(__nv_cvt_double_to_e8m0(static_cast<double>(v), __NV_SATFINITE, cudaRoundPosInf)) {}
  explicit __nv_fp8_e8m0(__half v) : __nv_fp8_e8m0(float(v)) {}
  explicit __nv_fp8_e8m0(__nv_bfloat16 v) : __nv_fp8_e8m0(float(v)) {}
  explicit operator float() const { return antiphase::plain::from_power(__x); }
  explicit operator double() const { return float(*this); }
  explicit operator __half() const { return float(*this); }
  explicit operator __nv_bfloat16() const { return float(*this); }
};
struct alignas(2) __nv_fp8x2_e8m0 {
  __nv_fp8x2_storage_t __x;
  __nv_fp8x2_e8m0() = default;
  explicit __nv_fp8x2_e8m0(float2 v) : __x(__nv_cvt_float2_to_e8m0x2(v, __NV_SATFINITE, cudaRoundPosInf)) {}
  explicit operator __nv_bfloat162() const { return __nv_bfloat162(__nv_cvt_e8m0x2_to_bf162raw(__x)); }
  explicit operator float2() const {
    return {antiphase::plain::from_power(__x & 255u), antiphase::plain::from_power(__x >> 8u)};
  }
};

#include "letters.h"
