// SPDX-License-Identifier: Apache-2.0
// The kernels of policy stream that the copy engine feeds (sm_90a).
#pragma once
#include "src/gemm/fp64/fp64_instances.cuh"
#include "src/gemm/fp64/ring_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <fp64_policy P> using ring_kernel = ring_product<P>;
std::vector<fp64_instance> fp64_kernels() {
  return fp64_instances_of<streams::kernels_by_tma, ring_kernel>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
