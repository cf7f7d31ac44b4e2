// SPDX-License-Identifier: Apache-2.0
// Powers of two with real exponents.
#pragma once
#include <antiphase/device/math.cuh>

namespace antiphase {
inline namespace AP_TARGET {

//   exp2_near       2^x by the special function unit: 2 units in the last place; results below 2^-126 are 0
//                   (ex2.approx.ftz). The CPU executor's may differ in the last places
//   exp2_accurate   2^x by multiply-adds: 1 unit; below 2^-126 it is 0, for x = 0 exactly 1. Thirteen
//   instructions
AP_DEV float exp2_near(float x) {
#if AP_ON_GPU
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  const float y = std::exp2(x);
  return y < 0x1p-126f ? 0 : y;
#endif
}
AP_DEV float exp2_accurate(float x) {
  if (!(x > -126)) return x <= -126 ? 0 : x;  // which keeps NaN
  if (x >= 128) return INFINITY;
  constexpr float to_integer = 0x1.8p23f;  // added to x, it leaves the nearest integer in the last places
  const float shifted = x + to_integer, rest = x - (shifted - to_integer);
  // Taylor's series of 2^rest for |rest| <= 1/2
  float y = 1.52527338e-5f;
  y = multiply_add(y, rest, 1.54035304e-4f);
  y = multiply_add(y, rest, 1.33335581e-3f);
  y = multiply_add(y, rest, 9.61812911e-3f);
  y = multiply_add(y, rest, 5.55041087e-2f);
  y = multiply_add(y, rest, 0.240226507f);
  y = multiply_add(y, rest, 0.693147181f);
  y = multiply_add(y, rest, 1.f);
  return bit_cast<float>(bit_cast<std::uint32_t>(y) + (bit_cast<std::uint32_t>(shifted) << 23));
}

}  // namespace AP_TARGET
}  // namespace antiphase
