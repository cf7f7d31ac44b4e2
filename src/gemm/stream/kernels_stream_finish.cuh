// SPDX-License-Identifier: Apache-2.0
// The kernels of policy stream that know epilogues: those with copying warps, which take all operands (sm_80).
#pragma once
#include <vector>
#include "src/gemm/stream/stream_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<stream_instance> stream_finish_kernels() {
  using enum stream_loader;
  return {stream_instance_of<stream_policy{{32, 8}, {1, 1}, 8, 3, 1, true, copiers, true, 8}>("gemm.stream-finish-32x8-8"),
          stream_instance_of<stream_policy{{32, 16}, {1, 1}, 8, 3, 1, true, copiers, true, 8}>("gemm.stream-finish-32x16-8"),
          stream_instance_of<stream_policy{{32, 32}, {1, 1}, 8, 3, 1, true, copiers, true, 8}>("gemm.stream-finish-32x32-8"),
          stream_instance_of<stream_policy{{32, 32}, {2, 1}, 4, 3, 2, true, copiers, true, 2}>("gemm.stream-finish-32x32-4"),
          stream_instance_of<stream_policy{{64, 64}, {2, 2}, 2, 5, 1, true, copiers, true, 4}>("gemm.stream-finish-64x64-2"),
          stream_instance_of<stream_policy{{32, 32}, {2, 2}, 1, 4, 4, true, copiers, true, 2}>("gemm.stream-finish-32x32-1"),
          stream_instance_of<stream_policy{{32, 32}, {2, 2}, 1, 4, 4, false, copiers, true, 2}>("gemm.stream-finish-32x32"),
          stream_instance_of<stream_policy{{64, 64}, {2, 2}, 1, 4, 2, false, copiers, true, 2}>("gemm.stream-finish-64x64")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
