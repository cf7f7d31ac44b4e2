// SPDX-License-Identifier: Apache-2.0
// Limits of an NVIDIA H200, the device with the most measurements, for tests without one.
#pragma once
#include <antiphase/executor/published.hpp>

namespace antiphase::gemm_test {

inline device_limits an_h200() {
  device_limits d = published_device("9.0");
  d.name = "NVIDIA H200";
  return d;
}

}  // namespace antiphase::gemm_test
