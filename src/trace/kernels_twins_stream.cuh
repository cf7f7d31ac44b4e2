// SPDX-License-Identifier: Apache-2.0
// The recording twins of streaming products that the copy engine feeds (sm_90a).
#include <vector>
#include "src/trace/stream_twin.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<twin> twins_of_streams() {
  return {stream_twin<stream_policy{{32, 8}, {1, 1}, 8, 3, 1, true}>("gemm.stream-32x8-8", "gemm.stream-32x8-8, recorded"),
          stream_twin<stream_policy{{32, 16}, {1, 1}, 8, 3, 1, true}>("gemm.stream-32x16-8", "gemm.stream-32x16-8, recorded"),
          stream_twin<stream_policy{{32, 32}, {2, 1}, 4, 6, 1, true}>("gemm.stream-32x32-4", "gemm.stream-32x32-4, recorded"),
          stream_twin<stream_policy{{32, 32}, {1, 1}, 8, 3, 1, true}>("gemm.stream-32x32-8", "gemm.stream-32x32-8, recorded"),
          stream_twin<stream_policy{{64, 64}, {2, 2}, 2, 5, 1, true}>("gemm.stream-64x64-2", "gemm.stream-64x64-2, recorded"),
          stream_twin<stream_policy{{128, 16}, {4, 1}, 1, 4, 2}>("gemm.stream-128x16", "gemm.stream-128x16, recorded"),
          stream_twin<stream_policy{{64, 32}, {4, 2}, 1, 4, 2}>("gemm.stream-64x32", "gemm.stream-64x32, recorded"),
          stream_twin<stream_policy{{64, 64}, {2, 2}, 1, 4, 2}>("gemm.stream-64x64", "gemm.stream-64x64, recorded"),
          stream_twin<stream_policy{{32, 32}, {2, 2}, 1, 4, 4}>("gemm.stream-32x32", "gemm.stream-32x32, recorded"),
          stream_twin<stream_policy{{32, 16}, {2, 1}, 4, 3, 2, true}>("gemm.stream-32x16-4", "gemm.stream-32x16-4, recorded"),
          stream_twin<stream_policy{{32, 32}, {2, 1}, 4, 3, 2, true}>("gemm.stream-32x32-4-pair", "gemm.stream-32x32-4-pair, recorded")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
