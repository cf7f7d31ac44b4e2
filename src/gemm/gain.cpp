// SPDX-License-Identifier: Apache-2.0
#include <antiphase/gemm/gain.hpp>

#include "src/gemm/cost.hpp"

namespace antiphase {

double multiply_adds_seconds(const device_limits& device, const gemms::problem& p, const gemms::batch& of) {
  constexpr double reached = 0.8;
  const auto m = static_cast<double>(p.m()), n = static_cast<double>(p.n()), k = static_cast<double>(p.k()),
             count = static_cast<double>(of.count);
  const double elements = m * k + k * n + (p.beta == 0 ? 1 : 2) * m * n;
  return gemms::predicted({.fp32 = count * m * n * k / reached, .bytes = count * elements * sizeof(float)}, device);
}

}  // namespace antiphase
