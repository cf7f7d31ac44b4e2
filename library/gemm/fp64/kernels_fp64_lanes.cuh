// SPDX-License-Identifier: Apache-2.0
// The kernels of policy fp64 whose lanes load operands straight into registers (sm_80).
#pragma once
#include <type_traits>
#include <vector>
#include "library/gemm/fp64/fp64_kernels.hpp"
#include "library/gemm/fp64/tiles/block_tile.cuh"
#include "library/gemm/fp64/tiles/kept_lines.cuh"
#include "library/gemm/fp64/tiles/warp_tile.cuh"
#include "library/gemm/operands/tiled/from_table.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <auto P> using register_kernel =
    std::conditional_t<P.kind == kernel_kind::kept_lines, kept_lines<P>,
                       std::conditional_t<P.kind == kernel_kind::block_tile, block_tile<P>, warp_tile<P>>>;
std::vector<fp64_instance> fp64_lanes_kernels() {
  return from_table<fp64::kernels_in_registers, register_kernel>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
