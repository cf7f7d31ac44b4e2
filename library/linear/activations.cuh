// SPDX-License-Identifier: Apache-2.0
// The activations of linear layers, in few instructions: a tile's sums wait for them.
#pragma once
#include <antiphase/device/exponential.cuh>
#include "library/gemm/operands/finish/finished.cuh"

namespace antiphase::linears {
inline namespace AP_TARGET {

// 1 / x by the special function unit: 1 unit in the last place (rcp.approx.ftz).
AP_DEV float reciprocal_near(float x) {
#if AP_ON_GPU
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1 / x;
#endif
}

// The probability that a normal number is below v, to 3 10^-7 of itself for |v| < 1 and to 2 10^-6 down to
// v = -5: exp(-v^2 / 2) times a polynomial of t = 1 / (1 + c |v|), as in Abramowitz and Stegun 7.1.26, with
// degree 8 and coefficients fitted to the relative error up to |v| = 13.5. std::erfc takes 50 instructions.
AP_DEV float normal_distribution_near(float v) {
  constexpr float log2_e = 1.44269504f;
  const float t = reciprocal_near(multiply_add(0.29698485f, std::abs(v), 1.f));
  float p = 0.0350671113f;
  p = multiply_add(p, t, -0.159924150f);
  p = multiply_add(p, t, 0.219980359f);
  p = multiply_add(p, t, -0.0649309233f);
  p = multiply_add(p, t, 0.134192765f);
  p = multiply_add(p, t, 0.0974181294f);
  p = multiply_add(p, t, 0.119783916f);
  p = multiply_add(p, t, 0.118412718f);
  const float beyond = p * t * exp2_near(v * v * (-0.5f * log2_e));
  return v < 0 ? beyond : 1 - beyond;
}
AP_DEV float logistic_of_gelu_near(float v) {
  constexpr float factor = -2 * 1.44269504f * gemms::gelu_slope;
  return reciprocal_near(1 + exp2_near(factor * multiply_add(gemms::gelu_cubic * v * v, v, v)));
}

// f(v) of a GELU. Apart, so that its code is there once.
template <class Four> AP_DEV_APART Four activated_apart(gemms::activation function, Four v) {
  const auto apply = [&](auto share) {  // one branch for all four, whose instructions then overlap
    AP_UNROLL
    for (float& x : v.element) x = gemms::times_share(x, share(x));
  };
  if (function == gemms::activation::gelu)
    apply([](float x) { return normal_distribution_near(x); });
  else
    apply([](float x) { return logistic_of_gelu_near(x); });
  return v;
}

}  // namespace AP_TARGET
}  // namespace antiphase::linears
