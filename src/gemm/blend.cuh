// SPDX-License-Identifier: Apache-2.0
// From a sum to C.
#pragma once
#include <antiphase/device/math.cuh>
#include <antiphase/gemm/problem.hpp>

namespace antiphase::gemms {
inline namespace AP_TARGET {

// C is read only where beta is not zero: it may hold anything, NaN included, where beta is 0 or -0.
AP_DEV float blend(float alpha, float beta, float sum, const float* c) {
  const float scaled = alpha * sum;
  return beta == 0 ? scaled : multiply_add(beta, *c, scaled);
}
AP_DEV float blend(const problem& p, float sum, const float* c) { return blend(p.alpha, p.beta, sum, c); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
