// SPDX-License-Identifier: Apache-2.0
// Scales a sum and adds C: alpha and beta.
#pragma once
#include <antiphase/device/math.cuh>
#include <antiphase/gemm/problem.hpp>

namespace antiphase::gemms {
inline namespace AP_TARGET {

// C is read only where beta is not zero: it may hold anything, NaN included, where beta is 0 or -0. Problem:
// any type with alpha and beta.
template <class Problem> AP_DEV float blend(const Problem& p, float sum, const float* c) {
  const float scaled = p.alpha * sum;
  return p.beta == 0 ? scaled : multiply_add(p.beta, *c, scaled);
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
