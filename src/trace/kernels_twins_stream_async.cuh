// SPDX-License-Identifier: Apache-2.0
// The recording twins of streaming products whose threads copy their operands themselves (sm_80).
#include <antiphase/channel/recorded.cuh>
#include <vector>
#include "src/gemm/stream/stream_product.cuh"
#include "src/trace/twin.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// FP64 Tensor Cores of a multiprocessor do 128 multiply-adds in a cycle, in which it issues an instruction of 128 threads.
template <stream_policy P> twin stream_async_twin(const char* of, const char* name) {
  using plain = stream_product<P>;
  constexpr int warps = P.computing_warps(), of_step = P.tile.m * P.tile.n * stream_step * P.slabs / (warps * warp_size);
  using records = recorder_of_tiles<typename plain::storage, warps, step_work{.multiply_adds = of_step}>;
  using kernel_type = stream_product<P, plain_ring, records>;
  return {.of = of,
          .code = kernel_of<recording_copies<kernel_type, warps>>(name),
          .stages = P.stages,
          .step_bytes = std::int64_t{P.tile.m + P.tile.n} * stream_step * P.slabs * static_cast<int>(sizeof(float)),
          .spans_are = twin::spans::complete};
}

std::vector<twin> twins_of_streams_by_threads() {
  using enum stream_loader;
  return {stream_async_twin<stream_policy{{32, 8}, {1, 1}, 8, 3, 1, true, threads}>("gemm.stream-async-32x8-8",
                                                                                    "gemm.stream-async-32x8-8, recorded"),
          stream_async_twin<stream_policy{{32, 32}, {1, 1}, 8, 3, 1, true, threads}>("gemm.stream-async-32x32-8",
                                                                                     "gemm.stream-async-32x32-8, recorded"),
          stream_async_twin<stream_policy{{32, 32}, {2, 1}, 4, 3, 1, true, threads}>("gemm.stream-async-32x32-4",
                                                                                     "gemm.stream-async-32x32-4, recorded"),
          stream_async_twin<stream_policy{{64, 64}, {2, 2}, 2, 3, 1, true, threads}>("gemm.stream-async-64x64-2",
                                                                                     "gemm.stream-async-64x64-2, recorded"),
          stream_async_twin<stream_policy{{32, 32}, {2, 2}, 1, 2, 4, true, threads}>("gemm.stream-async-32x32-1",
                                                                                     "gemm.stream-async-32x32-1, recorded"),
          stream_async_twin<stream_policy{{32, 32}, {2, 2}, 1, 2, 4, false, threads}>("gemm.stream-async-32x32",
                                                                                      "gemm.stream-async-32x32, recorded"),
          stream_async_twin<stream_policy{{64, 64}, {2, 2}, 1, 3, 2, false, threads}>("gemm.stream-async-64x64",
                                                                                      "gemm.stream-async-64x64, recorded")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
