// SPDX-License-Identifier: Apache-2.0
// The kernels of policy stream that know epilogues (sm_80).
#pragma once
#include "src/gemm/stream/stream_instances.cuh"
#include "src/gemm/stream/stream_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <stream_policy P> using ring_kernel = stream_product<P>;
std::vector<stream_instance> stream_finish_kernels() {
  return stream_instances_of<streams::kernels_that_finish, ring_kernel>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
