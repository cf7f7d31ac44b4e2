// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <antiphase/device/math.cuh>

namespace antiphase::gemms {
inline namespace AP_TARGET {

// The lower part of an element of which `rest` is left after the upper part, larger by the share `lost` of
// the element (mean_loss). An element without a lower part stays so: its products may be exact.
AP_DEV float lower_part(float element, float rest, float lost) {
  return multiply_add(element, rest != 0 ? lost : 0, rest);
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
