// SPDX-License-Identifier: Apache-2.0
// How inner products read their operands: a few neighbours at once, in one access where they begin at
// multiples of 16 bytes.
#pragma once
#include <antiphase/device/vector.cuh>
#include <cstdint>
#include "src/gemm/fp64/dots_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Whether dots_step neighbours can be read in one access, anywhere in rows that are so long: all begin at
// multiples of 16 bytes.
AP_DEV bool is_wide(const line_operand& o, const float* data, std::int64_t row) {
  return o.width == dots_step && row % dots_step == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}
// Elements that are `apart` from each other, of which `left` are there; zeros behind. Wide: in one access,
// all or none. Without a branch, so that many of them are in flight at once.
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
