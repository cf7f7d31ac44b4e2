// SPDX-License-Identifier: Apache-2.0
// The kernels of policy stream whose lanes read operands straight into registers (sm_80).
#pragma once
#include <vector>
#include "src/gemm/stream/stream_alone.cuh"
#include "src/gemm/stream/stream_direct.cuh"
#include "src/gemm/stream/stream_kept.cuh"
#include "src/gemm/stream/stream_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<stream_instance> stream_lanes_kernels() {
  using enum stream_loader;
  return {stream_instance_of<stream_policy{{64, 8}, {4, 1}, 1, 2, 4, false, lanes}>("gemm.stream-lanes-64x8"),
          stream_kept_of<stream_policy{{16, 32}, {1, 1}, 1, 1, kept_blocks(1), false, kept}>("gemm.stream-kept-16"),
          stream_kept_of<stream_policy{{16, 32}, {1, 1}, 1, 2, kept_blocks(2), false, kept}>("gemm.stream-kept-32"),
          stream_kept_of<stream_policy{{16, 32}, {1, 1}, 1, 1, kept_blocks(1), false, kept, true}>("gemm.stream-kept-finish-16"),
          stream_kept_of<stream_policy{{16, 32}, {1, 1}, 1, 2, kept_blocks(2), false, kept, true}>("gemm.stream-kept-finish-32"),
          stream_kept_of<stream_policy{{16, 32}, {1, 1}, 1, 1, kept_blocks(1), false, kept, false, 0, true}>("gemm.stream-kept-whole-16"),
          stream_kept_of<stream_policy{{16, 32}, {1, 1}, 1, 2, kept_blocks(2), false, kept, false, 0, true}>("gemm.stream-kept-whole-32"),
          stream_direct_of<stream_policy{{16, 8}, {1, 1}, 8, 1, 2, false, direct}>("gemm.stream-direct-16x8"),
          stream_direct_of<stream_policy{{32, 8}, {1, 1}, 8, 1, 2, false, direct}>("gemm.stream-direct-32x8"),
          stream_direct_of<stream_policy{{16, 16}, {1, 1}, 8, 1, 2, false, direct}>("gemm.stream-direct-16x16"),
          stream_direct_of<stream_policy{{16, 16}, {1, 1}, 8, 1, 2, false, direct, true}>("gemm.stream-direct-finish-16x16"),
          stream_alone_of<stream_policy{{32, 32}, {2, 2}, 1, 1, 6, false, alone}>("gemm.stream-alone-32x32"),
          stream_alone_of<stream_policy{{32, 64}, {2, 2}, 1, 1, 4, false, alone}>("gemm.stream-alone-32x64"),
          stream_alone_of<stream_policy{{64, 64}, {2, 2}, 1, 1, 3, false, alone}>("gemm.stream-alone-64x64"),
          stream_alone_of<stream_policy{{32, 64}, {2, 2}, 1, 1, 3, false, alone, true}>("gemm.stream-alone-finish-32x64")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
