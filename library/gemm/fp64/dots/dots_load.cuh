// SPDX-License-Identifier: Apache-2.0
// How dot products load their operands: a few adjacent elements at once, in one access where they are aligned
// to 16 bytes.
#pragma once
#include <antiphase/device/vector.cuh>
#include <cstdint>
#include "library/gemm/fp64/dots/dots_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Whether groups of dots_step elements can be read in one access throughout rows of that length: all rows are
// aligned to 16 bytes.
AP_DEV bool is_wide(const line_operand& o, const float* data, std::int64_t row) {
  return o.width == dots_step && row % dots_step == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}
// Loads elements with the stride `apart`, of which `left` exist, and zeros past them. Wide: in one access,
// all or none. Branch-free, so that many loads are in flight at once.
template <bool Wide, int Count>
AP_DEV void load_neighbours(float (&to)[Count], const float* from, const std::int64_t& apart, int left) {
  if constexpr (Wide) {
    pack<float, Count> all{};
    if (left > 0) all = load_pack<Count>(from);
    AP_UNROLL
    for (int e = 0; e < Count; ++e) to[e] = all.element[e];
  } else {
    AP_UNROLL
    for (int e = 0; e < Count; ++e) to[e] = e < left ? from[e * apart] : 0;
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
