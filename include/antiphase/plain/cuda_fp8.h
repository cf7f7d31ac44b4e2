// SPDX-License-Identifier: Apache-2.0
// Floating numbers of 8 bits: __nv_fp8_e4m3 and __nv_fp8_e5m2, their pairs and fours, and conversions. Plain
// CUDA under the checker.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

#include "letters.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace antiphase::plain {
inline float from_fp8(unsigned char x, __nv_fp8_interpretation_t as) {
  return as == __NV_E4M3 ? from_e4m3(x) : from_e5m2(x);
}
}  // namespace antiphase::plain

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t how,
                                                 __nv_fp8_interpretation_t as) {
  return antiphase::plain::to_fp8(x, how == __NV_SATFINITE, as == __NV_E5M2);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t how,
                                                __nv_fp8_interpretation_t as) {
  return __nv_cvt_double_to_fp8(x, how, as);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t how,
                                                  __nv_fp8_interpretation_t as) {
  return __nv_cvt_double_to_fp8(float(__half(x)), how, as);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t how,
                                                      __nv_fp8_interpretation_t as) {
  return __nv_cvt_double_to_fp8(float(__nv_bfloat16(x)), how, as);
}
namespace antiphase::plain {
inline unsigned short fp8_pair(unsigned char low, unsigned char high) {
  return static_cast<unsigned short>(low | high << 8);
}
}  // namespace antiphase::plain
inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t how,
                                                      __nv_fp8_interpretation_t as) {
  return antiphase::plain::fp8_pair(__nv_cvt_double_to_fp8(x.x, how, as),
                                    __nv_cvt_double_to_fp8(x.y, how, as));
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t how,
                                                     __nv_fp8_interpretation_t as) {
  return __nv_cvt_double2_to_fp8x2({x.x, x.y}, how, as);
}
inline __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t how,
                                                       __nv_fp8_interpretation_t as) {
  return antiphase::plain::fp8_pair(__nv_cvt_halfraw_to_fp8({x.x}, how, as),
                                    __nv_cvt_halfraw_to_fp8({x.y}, how, as));
}
inline __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x, __nv_saturation_t how,
                                                           __nv_fp8_interpretation_t as) {
  return antiphase::plain::fp8_pair(__nv_cvt_bfloat16raw_to_fp8({x.x}, how, as),
                                    __nv_cvt_bfloat16raw_to_fp8({x.y}, how, as));
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t as) {
  return {antiphase::plain::to_half(antiphase::plain::from_fp8(x, as))};
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t as) {
  return {__nv_cvt_fp8_to_halfraw(static_cast<unsigned char>(x), as).x,
          __nv_cvt_fp8_to_halfraw(static_cast<unsigned char>(x >> 8), as).x};
}

#define AP_FP8(name, two, four, as)                                                                      \
  struct alignas(1) name {                                                                               \
    __nv_fp8_storage_t __x;                                                                              \
    name() = default;                                                                                    \
    template <class T>                                                                                   \
    requires std::is_arithmetic_v<T>                                                                     \
    explicit name(T v) : __x(__nv_cvt_double_to_fp8(static_cast<double>(v), __NV_SATFINITE, as)) {}      \
    explicit name(__half v) : name(float(v)) {}                                                          \
    explicit name(__nv_bfloat16 v) : name(float(v)) {}                                                   \
    explicit operator float() const { return antiphase::plain::from_fp8(__x, as); }                      \
    explicit operator double() const { return float(*this); }                                            \
    explicit operator __half() const { return float(*this); }                                            \
    explicit operator __nv_bfloat16() const { return float(*this); }                                     \
    explicit operator bool() const { return (__x & 0x7F) != 0; }                                         \
    template <class T>                                                                                   \
    requires std::is_integral_v<T>                                                                       \
    explicit operator T() const { return static_cast<T>(float(*this)); }                                 \
  };                                                                                                     \
  struct alignas(2) two {                                                                                \
    __nv_fp8x2_storage_t __x;                                                                            \
    two() = default;                                                                                     \
    explicit two(float2 v) : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, as)) {}                     \
    explicit two(double2 v) : __x(__nv_cvt_double2_to_fp8x2(v, __NV_SATFINITE, as)) {}                   \
    explicit two(__half2 v) : two(__half22float2(v)) {}                                                  \
    explicit two(__nv_bfloat162 v) : two(__bfloat1622float2(v)) {}                                       \
    explicit operator float2() const {                                                                   \
      return {antiphase::plain::from_fp8(static_cast<unsigned char>(__x), as),                           \
              antiphase::plain::from_fp8(static_cast<unsigned char>(__x >> 8), as)};                     \
    }                                                                                                    \
    explicit operator __half2() const { return __float22half2_rn(float2(*this)); }                       \
    explicit operator __nv_bfloat162() const { return __float22bfloat162_rn(float2(*this)); }            \
  };                                                                                                     \
  struct alignas(4) four {                                                                               \
    __nv_fp8x4_storage_t __x;                                                                            \
    four() = default;                                                                                    \
    explicit four(float4 v) : four(float2{v.x, v.y}, float2{v.z, v.w}) {}                                \
    explicit four(double4 v)                                                                             \
        : __x(__nv_cvt_double2_to_fp8x2({v.x, v.y}, __NV_SATFINITE, as) |                                \
              static_cast<unsigned>(__nv_cvt_double2_to_fp8x2({v.z, v.w}, __NV_SATFINITE, as)) << 16) {} \
    four(__half2 low, __half2 high) : four(__half22float2(low), __half22float2(high)) {}                 \
    four(__nv_bfloat162 low, __nv_bfloat162 high)                                                        \
        : four(__bfloat1622float2(low), __bfloat1622float2(high)) {}                                     \
    explicit operator float4() const {                                                                   \
      const auto at = [&](int i) {                                                                       \
        return antiphase::plain::from_fp8(static_cast<unsigned char>(__x >> 8 * i), as);                 \
      };                                                                                                 \
      return {at(0), at(1), at(2), at(3)};                                                               \
    }                                                                                                    \
                                                                                                         \
   private:                                                                                              \
    four(float2 low, float2 high)                                                                        \
        : __x(__nv_cvt_float2_to_fp8x2(low, __NV_SATFINITE, as) |                                        \
              static_cast<unsigned>(__nv_cvt_float2_to_fp8x2(high, __NV_SATFINITE, as)) << 16) {}        \
  };
AP_FP8(__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3)
AP_FP8(__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2)
#undef AP_FP8

#include "letters.h"
