// SPDX-License-Identifier: Apache-2.0
// The kernels of policy stream whose lanes read straight into registers (sm_80).
#pragma once
#include <type_traits>
#include "src/gemm/fp64/warp_tile.cuh"
#include "src/gemm/fp64/block_tile.cuh"
#include "src/gemm/fp64/fp64_instances.cuh"
#include "src/gemm/fp64/kept_lines.cuh"
#include "src/gemm/fp64/ring_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <fp64_policy P> using register_kernel = std::conditional_t<
    P.by == loader::kept, kept_lines<P>,
    std::conditional_t<P.by == loader::direct, block_tile<P>,
                       std::conditional_t<P.by == loader::alone, warp_tile<P>, ring_product<P>>>>;
std::vector<fp64_instance> fp64_lanes_kernels() {
  return fp64_instances_of<streams::kernels_in_registers, register_kernel>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
