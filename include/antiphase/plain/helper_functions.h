// SPDX-License-Identifier: Apache-2.0
// Stands in for the header of CUDA's samples of this name, for plain CUDA under the checker.
#pragma once
#include <cmath>

#include "helper_string.h"
#include "helper_timer.h"

template <class T> bool compareData(const T* expected, const T* is, unsigned n, float within, float share) {
  unsigned differ = 0;
  for (unsigned i = 0; i < n; ++i)
    differ += !(std::fabs(static_cast<double>(expected[i]) - static_cast<double>(is[i])) <= within);
  return static_cast<float>(differ) <= share * static_cast<float>(n);
}
inline bool sdkCompareL2fe(const float* expected, const float* is, unsigned n, float within) {
  double difference = 0, all = 0;
  for (unsigned i = 0; i < n; ++i) {
    difference += (expected[i] - is[i]) * (expected[i] - is[i]);
    all += expected[i] * expected[i];
  }
  return std::sqrt(difference) < within * std::sqrt(all);
}
