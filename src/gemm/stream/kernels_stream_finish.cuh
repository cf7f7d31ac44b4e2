// SPDX-License-Identifier: Apache-2.0
// The kernels of policy stream that know epilogues: those whose threads copy their operands, which take all of them (sm_80).
#pragma once
#include <vector>
#include "src/gemm/stream/stream_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<stream_instance> stream_finish_kernels() {
  using enum stream_loader;
  return {stream_instance_of<stream_policy{{32, 8}, {1, 1}, 8, 3, 1, true, threads, true}>("gemm.stream-finish-32x8-8"),
          stream_instance_of<stream_policy{{32, 32}, {1, 1}, 8, 3, 1, true, threads, true}>("gemm.stream-finish-32x32-8"),
          stream_instance_of<stream_policy{{32, 32}, {2, 1}, 4, 3, 1, true, threads, true}>("gemm.stream-finish-32x32-4"),
          stream_instance_of<stream_policy{{64, 64}, {2, 2}, 2, 3, 1, true, threads, true}>("gemm.stream-finish-64x64-2"),
          stream_instance_of<stream_policy{{32, 32}, {2, 2}, 1, 2, 4, true, threads, true}>("gemm.stream-finish-32x32-1"),
          stream_instance_of<stream_policy{{32, 32}, {2, 2}, 1, 2, 4, false, threads, true}>("gemm.stream-finish-32x32"),
          stream_instance_of<stream_policy{{64, 64}, {2, 2}, 1, 3, 2, false, threads, true}>("gemm.stream-finish-64x64")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
