// SPDX-License-Identifier: Apache-2.0
// The kernels of policy stream with warps that copy (sm_80).
#pragma once
#include "src/gemm/stream/stream_instances.cuh"
#include "src/gemm/stream/stream_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <stream_policy P> using ring_kernel = stream_product<P>;
std::vector<stream_instance> stream_async_kernels() {
  return stream_instances_of<streams::kernels_by_copiers, ring_kernel>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
