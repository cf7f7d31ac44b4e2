// SPDX-License-Identifier: Apache-2.0
// The kernels of linear layers by warpgroups (sm_90a).
#pragma once
#include <vector>
#include "library/gemm/operands/tiled/from_table.cuh"
#include "library/linear/linear_kernels.hpp"
#include "library/linear/tile_product.cuh"

namespace antiphase::linears {
inline namespace AP_TARGET {

template <auto P> using tile_kernel = tile_product<P>;
std::vector<tile_instance> linear_tile_kernels() { return gemms::from_table<tiles, tile_kernel>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::linears
