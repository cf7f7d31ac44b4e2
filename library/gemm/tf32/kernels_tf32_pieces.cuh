// SPDX-License-Identifier: Apache-2.0
// The kernels of policy tf32 that add up K in pieces (sm_90a).
#pragma once
#include <vector>
#include "library/gemm/operands/tiled/from_table.cuh"
#include "library/gemm/tf32/tf32_kernels.hpp"
#include "library/gemm/tf32/tf32_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <auto P> using tf32_in_pieces = tf32_product<P>;
std::vector<tf32_instance> tf32_pieces_kernels() { return from_table<tf32::in_pieces, tf32_in_pieces>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
