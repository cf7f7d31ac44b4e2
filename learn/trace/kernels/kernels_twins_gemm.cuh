// SPDX-License-Identifier: Apache-2.0
// Recording twins of Tensor Core products with asynchronous copies by all threads (sm_80).
#include <antiphase/channel/recorded.cuh>
#include <antiphase/channel/recorder.cuh>
#include <antiphase/executor/pipeline_cost.hpp>
#include <vector>
#include "learn/trace/twins/twin.hpp"
#include "library/gemm/fp16/split_mma_product.cuh"
#include "library/linear/mma_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// The same as tensor_core_work() for mma.sync, which reaches a third of the rate of wgmma.
constexpr int warp_multiply_work(std::int64_t macs, int threads) {
  return static_cast<int>(static_cast<double>(macs) / fitted::warp_multiplies * 128 / threads);
}

// The recorder needs registers of its own, so no second block per multiprocessor is requested: spills would
// show up as time.
template <linears::mma_policy P> struct traced_mma_product {
  using plain = linears::mma_product<P>;
  static constexpr int threads = plain::threads;
  static constexpr shared_kind shared = plain::shared;
  using params = recorded_params<typename plain::params>;
  using storage = typename plain::storage;

  AP_DEV void operator()(const params& p) const {
    recorder<step_work{.multiply_adds = warp_multiply_work(std::int64_t{P.tile} * P.tile * P.step, threads)}>
        spans(p.log);
    plain::run(p.params, spans);
    spans.finish(p.log);
  }
};

template <int Stages> twin tensor_core_twin(const char* of, const char* name) {
  constexpr linears::mma_policy how = linears::large_mma(false, Stages, true);
  return {.kernel_name = of,
          .code = kernel_of<traced_mma_product<how>>(name),
          .stages = Stages,
          .step_bytes = std::int64_t{2} * how.tile * how.step * static_cast<int>(sizeof(f16)),
          .spans_are = twin::spans::complete,
          .tile_k = how.step,
          .step_work = std::int64_t{how.tile} * how.tile * how.step};
}

inline twin split_mma_twin() {
  constexpr product_policy how = split_mma_policy;
  using plain = split_mma_product<how>;
  constexpr int warps = plain::threads / 32,
                work = warp_multiply_work(std::int64_t{3} * split_tile * split_tile * split_step,
                                          plain::threads);
  using ring = recorded_copies<async_copies<how.stages>, typename plain::storage, warps, work>;
  return {.kernel_name = "gemm.fp16-mma",
          .code = kernel_of<recording_copies<split_mma_product<how, ring>, warps>>("gemm.fp16-mma, recorded"),
          .stages = how.stages,
          .step_bytes = 2 * static_cast<std::int64_t>(sizeof(typename plain::part)),
          .step_work = std::int64_t{split_tile} * split_tile * split_step};
}

std::vector<twin> twins_by_threads() {
  return {tensor_core_twin<2>("gemm.tensor-core-2", "gemm.tensor-core-2, recorded"),
          tensor_core_twin<3>("gemm.tensor-core-3", "gemm.tensor-core-3, recorded"),
          tensor_core_twin<4>("gemm.tensor-core-4", "gemm.tensor-core-4, recorded"), split_mma_twin()};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
