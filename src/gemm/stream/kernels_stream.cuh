// SPDX-License-Identifier: Apache-2.0
// The kernels of policy stream that the copy engine feeds (sm_90a).
#pragma once
#include <vector>
#include "src/gemm/stream/stream_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<stream_instance> stream_kernels() {
  return {stream_instance_of<stream_policy{{32, 8}, {1, 1}, 8, 3, 1, true}>("gemm.stream-32x8-8"),
          stream_instance_of<stream_policy{{32, 16}, {1, 1}, 8, 3, 1, true}>("gemm.stream-32x16-8"),
          stream_instance_of<stream_policy{{32, 32}, {2, 1}, 4, 6, 1, true}>("gemm.stream-32x32-4"),
          stream_instance_of<stream_policy{{32, 32}, {1, 1}, 8, 3, 1, true}>("gemm.stream-32x32-8"),
          stream_instance_of<stream_policy{{64, 64}, {2, 2}, 2, 5, 1, true}>("gemm.stream-64x64-2"),
          stream_instance_of<stream_policy{{128, 16}, {4, 1}, 1, 4, 2}>("gemm.stream-128x16"),
          stream_instance_of<stream_policy{{64, 32}, {4, 2}, 1, 4, 2}>("gemm.stream-64x32"),
          stream_instance_of<stream_policy{{64, 64}, {2, 2}, 1, 4, 2}>("gemm.stream-64x64"),
          stream_instance_of<stream_policy{{32, 32}, {2, 2}, 1, 4, 4}>("gemm.stream-32x32"),
          stream_instance_of<stream_policy{{32, 16}, {2, 1}, 4, 3, 2, true}>("gemm.stream-32x16-4"),
          stream_instance_of<stream_policy{{32, 32}, {2, 1}, 4, 3, 2, true}>("gemm.stream-32x32-4-pair")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
