// SPDX-License-Identifier: Apache-2.0
// Arithmetic whose instruction matters.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/core/portable.hpp>
#include <cmath>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// a * b + c. On the GPU always one rounding (FFMA). On the CPU one rounding where the processor the code is
// compiled for has the instruction, else two: a software fused multiply-add would be a hundred times slower,
// and no result here depends on it.
template <class T> AP_DEV T multiply_add(T a, T b, T c) {
#if AP_ON_GPU || defined(__FP_FAST_FMAF)
  return fma(a, b, c);
#else
  return a * b + c;
#endif
}

//   larger_magnitude         max(a, |b|) for a >= 0; NaN if either is NaN
//   add_rounded_up           sum + a * b, rounded once, up. Only for sums that stay in [2^23, 2^24), where it
//                            adds the product rounded up to an integer
//   to_halves                both as f16, to the nearest, `lower` in the lower 16 bits
//   lower_half, upper_half   a half of that as float
//   to_bf16s                 both as bf16, as to_halves
#if AP_ON_GPU
AP_DEV float larger_magnitude(float a, float b) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(fabsf(b)));
  return larger;
}
AP_DEV float add_rounded_up(float sum, float a, float b) { return __fmaf_ru(a, b, sum); }
AP_DEV std::uint32_t to_halves(float lower, float upper) {
  std::uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(upper), "f"(lower));
  return both;
}
AP_DEV std::uint32_t to_bf16s(float lower, float upper) {
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(upper), "f"(lower));
  return both;
}
AP_DEV float half_in(std::uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
#else
AP_DEV float larger_magnitude(float a, float b) { return std::isnan(a) || a > std::abs(b) ? a : std::abs(b); }
AP_DEV float add_rounded_up(float sum, float a, float b) {
  return sum + static_cast<float>(std::ceil(double{a} * double{b}));
}
AP_DEV std::uint32_t to_halves(float lower, float upper) {
  return std::uint32_t{to_f16(upper).bits} << 16 | to_f16(lower).bits;
}
AP_DEV std::uint32_t to_bf16s(float lower, float upper) {
  return std::uint32_t{to_bf16(upper).bits} << 16 | to_bf16(lower).bits;
}
AP_DEV float half_in(std::uint16_t bits) { return to_float(f16{bits}); }
#endif
AP_DEV float lower_half(std::uint32_t both) { return half_in(static_cast<std::uint16_t>(both)); }
AP_DEV float upper_half(std::uint32_t both) { return half_in(static_cast<std::uint16_t>(both >> 16)); }

}  // namespace AP_TARGET
}  // namespace antiphase
