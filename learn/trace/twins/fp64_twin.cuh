// SPDX-License-Identifier: Apache-2.0
// The recording twin of a streaming product fed by a ring.
#pragma once
#include <antiphase/channel/recorded.cuh>
#include <vector>
#include "learn/trace/twins/twin.hpp"
#include "library/gemm/fp64/fp64_kernels.hpp"
#include "library/gemm/fp64/ring/ring_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Work of a step for the clock of the CPU executor, in instructions per thread: in a cycle, a
// multiprocessor's FP64 Tensor Cores do 128 multiply-adds and it issues an instruction for 128 threads.
template <fp64_policy P> struct recorded_fp64 {
  static constexpr int of_step = P.tile.m * P.tile.n * slab_k * P.slabs / (P.computing_warps() * warp_size);
  template <class Channel, int Warps> using ring = recorded<Channel, Warps, of_step>;
  using kernel_type = ring_product<P, ring>;
};

template <fp64_policy P> twin fp64_twin(const char* of, const char* name) {
  using kernel_type = typename recorded_fp64<P>::kernel_type;
  return {
      .kernel_name = of,
      .code = kernel_of<recording<kernel_type>>(name),
      .stages = P.stages,
      .step_bytes = std::int64_t{P.tile.m + P.tile.n} * slab_k * P.slabs * static_cast<int>(sizeof(float)),
      .roles = {{.name = "compute", .first = 0, .count = P.computing_warps(), .computes = true},
                {.name = "load",
                 .first = P.computing_warps(),
                 .count = kernel_type::loading_warps,
                 .loads = true}},
      .step_work = std::int64_t{P.tile.m} * P.tile.n * slab_k * P.slabs};
}
template <auto P> struct fp64_twins {
  static twin make(const char* of, const char* name) { return fp64_twin<P>(of, name); }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
