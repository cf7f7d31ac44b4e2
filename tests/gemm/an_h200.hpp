// SPDX-License-Identifier: Apache-2.0
// The device of which most was measured, for tests without it.
#pragma once
#include <antiphase/executor/published.hpp>

namespace antiphase::gemm_test {

inline device_limits an_h200() {
  device_limits d = published_device("9.0");
  d.name = "NVIDIA H200";
  return d;
}

}  // namespace antiphase::gemm_test
