// SPDX-License-Identifier: Apache-2.0
// The recording twins of streaming products that the copy engine feeds (sm_90a).
#include <antiphase/channel/recorded.cuh>
#include <vector>
#include "src/gemm/stream/stream_product.cuh"
#include "src/trace/twin.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// FP64 Tensor Cores of a multiprocessor do 128 multiply-adds in a cycle, in which it issues an instruction of 128 threads.
template <stream_policy P> struct recorded_stream {
  static constexpr int of_step = P.tile.m * P.tile.n * stream_step * P.slabs / (P.computing_warps() * warp_size);
  template <class Channel, int Warps> using ring = recorded<Channel, Warps, of_step>;
  using kernel_type = stream_product<P, ring>;
};

template <stream_policy P> twin stream_twin(const char* of, const char* name) {
  using kernel_type = typename recorded_stream<P>::kernel_type;
  return {.of = of,
          .code = kernel_of<recording<kernel_type>>(name),
          .stages = P.stages,
          .step_bytes = std::int64_t{P.tile.m + P.tile.n} * stream_step * P.slabs * static_cast<int>(sizeof(float)),
          .roles = {{.name = "compute", .first = 0, .count = P.computing_warps(), .computes = true},
                    {.name = "load", .first = P.computing_warps(), .loads = true}}};
}

std::vector<twin> twins_of_streams() {
  return {stream_twin<stream_policy{{32, 8}, {1, 1}, 8, 3, 1, true}>("gemm.stream-32x8-8", "gemm.stream-32x8-8, recorded"),
          stream_twin<stream_policy{{32, 16}, {1, 1}, 8, 3, 1, true}>("gemm.stream-32x16-8", "gemm.stream-32x16-8, recorded"),
          stream_twin<stream_policy{{32, 32}, {2, 1}, 4, 6, 1, true}>("gemm.stream-32x32-4", "gemm.stream-32x32-4, recorded"),
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
