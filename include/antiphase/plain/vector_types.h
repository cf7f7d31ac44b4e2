// SPDX-License-Identifier: Apache-2.0
// CUDA's vector types, for plain CUDA under the checker.
#pragma once

#define AP_VECTORS(type, name, align2, align4)                                   \
  struct name##1 {                                                               \
    type x;                                                                      \
  };                                                                             \
  struct alignas(align2) name##2 {                                               \
    type x, y;                                                                   \
  };                                                                             \
  struct name##3 {                                                               \
    type x, y, z;                                                                \
  };                                                                             \
  struct alignas(align4) name##4 {                                               \
    type x, y, z, w;                                                             \
  };                                                                             \
  constexpr name##1 make_##name##1(type x) { return {x}; }                       \
  constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
AP_VECTORS(signed char, char, 2, 4)
AP_VECTORS(unsigned char, uchar, 2, 4)
AP_VECTORS(short, short, 4, 8)
AP_VECTORS(unsigned short, ushort, 4, 8)
AP_VECTORS(int, int, 8, 16)
AP_VECTORS(unsigned, uint, 8, 16)
AP_VECTORS(long, long, 16, 16)
AP_VECTORS(unsigned long, ulong, 16, 16)
AP_VECTORS(long long, longlong, 16, 16)
AP_VECTORS(unsigned long long, ulonglong, 16, 16)
AP_VECTORS(float, float, 8, 16)
AP_VECTORS(double, double, 16, 16)
#undef AP_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
