// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/math.cuh>
#include <cstdint>

namespace antiphase::gemms {
inline namespace AP_TARGET {

// The lower part of an element of which `rest` is left after the upper part, larger by the share `lost` of
// the element (mean_loss). Not of elements of up to 22 bits, such as integers: their products may be exact.
AP_DEV float lower_part(float element, float rest, float lost) {
  return multiply_add(element, (bit_cast<std::uint32_t>(element) & 3) != 0 ? lost : 0, rest);
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
