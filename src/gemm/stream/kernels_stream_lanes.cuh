// SPDX-License-Identifier: Apache-2.0
// The kernels of policy stream whose lanes read straight into registers (sm_80).
#pragma once
#include <type_traits>
#include "src/gemm/stream/stream_alone.cuh"
#include "src/gemm/stream/stream_direct.cuh"
#include "src/gemm/stream/stream_instances.cuh"
#include "src/gemm/stream/stream_kept.cuh"
#include "src/gemm/stream/stream_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <stream_policy P> using register_kernel = std::conditional_t<
    P.by == stream_loader::kept, stream_kept<P>,
    std::conditional_t<P.by == stream_loader::direct, stream_direct<P>,
                       std::conditional_t<P.by == stream_loader::alone, stream_alone<P>, stream_product<P>>>>;
std::vector<stream_instance> stream_lanes_kernels() {
  return stream_instances_of<streams::kernels_in_registers, register_kernel>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
