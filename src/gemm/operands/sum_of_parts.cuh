// SPDX-License-Identifier: Apache-2.0
// The sum of an output from the sums of its operands' parts on Tensor Cores.
#pragma once
#include <antiphase/device/math.cuh>

namespace antiphase::gemms {

inline namespace AP_TARGET {

// main + scale (mixed + lost main). lost: mean_loss / scale. A main product whose operands have no lower
// parts stays as it is, since it may be exact.
AP_DEV float sum_of_parts(float main, float mixed, float scale, float lost) {
  return multiply_add(multiply_add(main, mixed != 0 ? lost : 0, mixed), scale, main);
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
