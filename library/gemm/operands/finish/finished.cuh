// SPDX-License-Identifier: Apache-2.0
// Epilogues as device functions: from a sum to the value stored in C.
#pragma once
#include <antiphase/device/math.cuh>
#include <cmath>
#include "library/gemm/operands/finish/ending.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Phi by erfc, and (1 + tanh(u)) / 2 by exp: neither cancels where v is far below 0.
AP_DEV float normal_distribution(float v) { return 0.5f * std::erfc(v * -0.70710678f); }
AP_DEV float normal_density(float v) { return 0.39894228f * std::exp(-0.5f * v * v); }
constexpr float gelu_slope = 0.79788456f, gelu_cubic = 0.044715f;  // sqrt(2 / pi)
AP_DEV float logistic_of_gelu(float v) {
  return 1 / (1 + std::exp(-2 * gelu_slope * (v + gelu_cubic * v * v * v)));
}

// v * share; 0 where the share is 0, as v may be infinite there.
AP_DEV float times_share(float v, float share) { return share == 0 ? share : v * share; }
// The derivative of the activation at x.
AP_DEV float slope_of(activation function, float x) {
  if (function == activation::relu_gradient) return x > 0 ? 1.f : x <= 0 ? 0.f : x;
  if (function == activation::gelu_gradient)
    return normal_distribution(x) + times_share(x, normal_density(x));
  const float share = logistic_of_gelu(x), inner = 2 * gelu_slope * (1 + 3 * gelu_cubic * x * x);
  return share + times_share(x, times_share(inner, share * (1 - share)));
}
AP_DEV float activated(activation function, float v) {
  switch (function) {
    case activation::relu: return v > 0 || v != v ? v : 0;
    case activation::gelu: return times_share(v, normal_distribution(v));
    case activation::gelu_tanh: return times_share(v, logistic_of_gelu(v));
    default: return v;
  }
}

// The value to store for a brief ending (is_brief()): so little code that it may be inlined for each of a
// thread's outputs. The callables read what is added; `before`: C or the residual. The two biases are added
// to each other first, so that the transposed product has the same bits.
template <class Ending>
AP_DEV float briefly_finished(const Ending& e, float sum, auto before, auto row_bias, auto column_bias) {
  float v = e.alpha * sum;
  if (e.beta != 0) v = multiply_add(e.beta, before(), v);
  if (e.row_bias != nullptr || e.column_bias != nullptr)
    v += (e.row_bias != nullptr ? row_bias() : 0) + (e.column_bias != nullptr ? column_bias() : 0);
  return e.scale * (e.function == activation::relu ? activated(activation::relu, v) : v);
}

// The value to store at (i, j) of member n. `c`: its address in C, which is read if beta is not 0 and there
// is no residual. Not inlined on the GPU: it is much code, and a call is little work next to a sum. A
// template, so that several files of kernels can define it.
template <class Ending> AP_DEV_APART float finished(const Ending& e, float sum, std::int64_t i,
                                                    std::int64_t j, std::int64_t n, const float* c) {
  // The additions of briefly_finished(), repeated: shared through callables, they would take a few bytes of
  // stack here.
  float v = e.alpha * sum;
  if (e.beta != 0) v = multiply_add(e.beta, e.residual.data != nullptr ? *e.residual.at(i, j, n) : *c, v);
  if (e.row_bias != nullptr || e.column_bias != nullptr) {
    const float of_row = e.row_bias != nullptr ? e.row_bias[i + n * e.row_bias_stride] : 0;
    v += of_row + (e.column_bias != nullptr ? e.column_bias[j + n * e.column_bias_stride] : 0);
  }
  if (e.before.data != nullptr) *e.before.at(i, j, n) = v;
  v = is_gradient(e.function) ? v * slope_of(e.function, *e.input.at(i, j, n)) : activated(e.function, v);
  return e.scale * v;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
