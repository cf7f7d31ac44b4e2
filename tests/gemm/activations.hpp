// SPDX-License-Identifier: Apache-2.0
// The activations of epilogues by their definitions, in FP64.
#pragma once
#include <antiphase/gemm.hpp>
#include <cmath>

namespace antiphase::gemm_test {

inline double phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.)); }
inline double share_of(double x) {
  return 1 / (1 + std::exp(-2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}
inline double by_definition(activation f, double v, double x) {
  const double slope = std::sqrt(2 / 3.14159265358979323846) * 2 * (1 + 3 * 0.044715 * x * x);
  switch (f) {
    case activation::none: return v;
    case activation::relu: return v > 0 ? v : 0;
    case activation::gelu: return v * phi(v);
    case activation::gelu_tanh: return v * share_of(v);
    case activation::relu_gradient: return x > 0 ? v : 0;
    case activation::gelu_gradient:
      return v * (phi(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846));
    case activation::gelu_tanh_gradient:
      return v * (share_of(x) + x * share_of(x) * (1 - share_of(x)) * slope);
  }
  return v;
}

}  // namespace antiphase::gemm_test
