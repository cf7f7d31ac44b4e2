// SPDX-License-Identifier: Apache-2.0
// Stands in for the header of CUDA's samples of this name, for plain CUDA under the checker: arithmetic of
// vectors, element by element.
#pragma once
#include <algorithm>
#include <cmath>
#include <concepts>

#include <antiphase/plain/cuda_runtime.h>

#include <antiphase/plain/letters.h>

using uint = unsigned;
using ushort = unsigned short;

namespace antiphase::plain {
template <class V> struct elements {};
#define AP_ELEMENTS(type, name)                                                      \
  template <> struct elements<name##2> {                                             \
    using of = type;                                                                 \
    template <class F> static name##2 each(F f) { return {f(0), f(1)}; }             \
    static constexpr int count = 2;                                                  \
  };                                                                                 \
  template <> struct elements<name##3> {                                             \
    using of = type;                                                                 \
    template <class F> static name##3 each(F f) { return {f(0), f(1), f(2)}; }       \
    static constexpr int count = 3;                                                  \
  };                                                                                 \
  template <> struct elements<name##4> {                                             \
    using of = type;                                                                 \
    template <class F> static name##4 each(F f) { return {f(0), f(1), f(2), f(3)}; } \
    static constexpr int count = 4;                                                  \
  };
AP_ELEMENTS(float, float)
AP_ELEMENTS(int, int)
AP_ELEMENTS(unsigned, uint)
#undef AP_ELEMENTS
template <class V>
concept vector = requires {
  typename elements<V>::of;
};
template <class V> using element = typename elements<V>::of;
template <vector V> element<V> element_of(const V& v, int i) {
  if constexpr (elements<V>::count > 3)
    if (i == 3) return v.w;
  if constexpr (elements<V>::count > 2)
    if (i == 2) return v.z;
  return i == 0 ? v.x : v.y;
}
template <class T> T element_of(const T& v, int) { return v; }  // a number stands for each
}  // namespace antiphase::plain

#define AP_EACH(expression)                     \
  return ::antiphase::plain::elements<V>::each( \
      [&](int i) -> ::antiphase::plain::element<V> { return expression; })
#define AP_OF(v) ::antiphase::plain::element_of(v, i)
#define AP_VECTOR template <::antiphase::plain::vector V>
#define AP_NUMBER ::antiphase::plain::element<V>
#define AP_OPERATOR(sign)                                                   \
  AP_VECTOR V operator sign(V a, V b) { AP_EACH(AP_OF(a) sign AP_OF(b)); }  \
  AP_VECTOR V operator sign(V a, AP_NUMBER b) { AP_EACH(AP_OF(a) sign b); } \
  AP_VECTOR V operator sign(AP_NUMBER a, V b) { AP_EACH(a sign AP_OF(b)); } \
  AP_VECTOR void operator sign##=(V& a, V b) { a = a sign b; }              \
  AP_VECTOR void operator sign##=(V& a, AP_NUMBER b) { a = a sign b; }
AP_OPERATOR(+)
AP_OPERATOR(-)
AP_OPERATOR(*)
AP_OPERATOR(/)
#undef AP_OPERATOR
AP_VECTOR V operator-(const V& a) { AP_EACH(-AP_OF(a)); }

// A header's float4 from a float3 and a number, and the like.
inline float2 make_float2(float s) { return {s, s}; }
inline float2 make_float2(float3 a) { return {a.x, a.y}; }
inline float2 make_float2(float4 a) { return {a.x, a.y}; }
inline float2 make_float2(int2 a) { return {float(a.x), float(a.y)}; }
inline float2 make_float2(uint2 a) { return {float(a.x), float(a.y)}; }
inline float3 make_float3(float s) { return {s, s, s}; }
inline float3 make_float3(float2 a, float s = 0) { return {a.x, a.y, s}; }
inline float3 make_float3(float4 a) { return {a.x, a.y, a.z}; }
inline float3 make_float3(int3 a) { return {float(a.x), float(a.y), float(a.z)}; }
inline float3 make_float3(uint3 a) { return {float(a.x), float(a.y), float(a.z)}; }
inline float4 make_float4(float s) { return {s, s, s, s}; }
inline float4 make_float4(float3 a, float w = 0) { return {a.x, a.y, a.z, w}; }
inline float4 make_float4(int4 a) { return {float(a.x), float(a.y), float(a.z), float(a.w)}; }
inline float4 make_float4(uint4 a) { return {float(a.x), float(a.y), float(a.z), float(a.w)}; }
inline int2 make_int2(int s) { return {s, s}; }
inline int2 make_int2(float2 a) { return {int(a.x), int(a.y)}; }
inline int3 make_int3(int s) { return {s, s, s}; }
inline int3 make_int3(float3 a) { return {int(a.x), int(a.y), int(a.z)}; }
inline int4 make_int4(int s) { return {s, s, s, s}; }
inline int4 make_int4(float4 a) { return {int(a.x), int(a.y), int(a.z), int(a.w)}; }
inline uint2 make_uint2(uint s) { return {s, s}; }
inline uint3 make_uint3(uint s) { return {s, s, s}; }
inline uint4 make_uint4(uint s) { return {s, s, s, s}; }

AP_VECTOR V fminf(V a, V b) { AP_EACH(std::fmin(AP_OF(a), AP_OF(b))); }
AP_VECTOR V fmaxf(V a, V b) { AP_EACH(std::fmax(AP_OF(a), AP_OF(b))); }
AP_VECTOR V min(V a, V b) { AP_EACH(std::min(AP_OF(a), AP_OF(b))); }
AP_VECTOR V max(V a, V b) { AP_EACH(std::max(AP_OF(a), AP_OF(b))); }
AP_VECTOR V fabs(V a) { AP_EACH(std::fabs(AP_OF(a))); }
AP_VECTOR V abs(V a) { AP_EACH(std::abs(AP_OF(a))); }
AP_VECTOR V floorf(V a) { AP_EACH(std::floor(AP_OF(a))); }
AP_VECTOR V fracf(V a) { AP_EACH(AP_OF(a) - std::floor(AP_OF(a))); }
AP_VECTOR V fmodf(V a, V b) { AP_EACH(std::fmod(AP_OF(a), AP_OF(b))); }
inline float fracf(float v) { return v - std::floor(v); }
inline float lerp(float a, float b, float t) { return a + t * (b - a); }
AP_VECTOR V lerp(V a, V b, float t) { return a + (b - a) * t; }
inline float clamp(float f, float a, float b) { return std::fmax(a, std::fmin(f, b)); }
inline int clamp(int f, int a, int b) { return std::max(a, std::min(f, b)); }
inline uint clamp(uint f, uint a, uint b) { return std::max(a, std::min(f, b)); }
AP_VECTOR V clamp(V v, AP_NUMBER a, AP_NUMBER b) { AP_EACH(std::max(a, std::min(AP_OF(v), b))); }
AP_VECTOR V clamp(V v, V a, V b) { return max(a, min(v, b)); }
inline float smoothstep(float a, float b, float x) {
  const float y = clamp((x - a) / (b - a), 0.0f, 1.0f);
  return y * y * (3 - 2 * y);
}
AP_VECTOR V smoothstep(V a, V b, V x) { AP_EACH(smoothstep(AP_OF(a), AP_OF(b), AP_OF(x))); }
AP_VECTOR AP_NUMBER dot(V a, V b) {
  AP_NUMBER sum = 0;
  for (int i = 0; i < ::antiphase::plain::elements<V>::count; ++i) sum += AP_OF(a) * AP_OF(b);
  return sum;
}
AP_VECTOR float length(V v) { return std::sqrt(dot(v, v)); }
AP_VECTOR V normalize(V v) { return v * (1 / std::sqrt(dot(v, v))); }
inline float3 reflect(float3 i, float3 n) { return i - 2.0f * n * dot(n, i); }
inline float3 cross(float3 a, float3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
#undef AP_EACH
#undef AP_OF
#undef AP_VECTOR
#undef AP_NUMBER

#include <antiphase/plain/letters.h>
