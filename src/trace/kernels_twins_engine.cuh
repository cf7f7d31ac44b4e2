// SPDX-License-Identifier: Apache-2.0
// The recording twins of products that the copy engine feeds (sm_90a): tensor-core-tma and narrow.
#include <antiphase/channel/recorded.cuh>
#include <vector>
#include "src/gemm/narrow/narrow_product.cuh"
#include "src/gemm/tensor_core/tensor_core_tma.cuh"
#include "src/trace/twin.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <warpgroup_policy P> struct recorded_warpgroup_waits : warpgroup_waits<P> {
  static constexpr int threads = 3 * warpgroup_size;
  using ring =
      recorded<typename warpgroup_waits<P>::ring, threads / 32, tensor_core_work(std::int64_t{128} * P.columns * warpgroup_depth, threads)>;
};

// Three products of TF32, which a multiprocessor does at half the rate.
template <class Channel, int Warps> using recorded_narrow_ring =
    recorded<Channel, Warps, 2 * tensor_core_work(std::int64_t{3} * narrow_tile.m * narrow_tile.n * narrow_step, Warps* warp_size)>;

std::vector<twin> twins_by_engine() {
  constexpr warpgroup_policy tensors{};
  using tensor_core = tensor_core_tma<tensors, recorded_warpgroup_waits<tensors>>;
  using narrow = narrow_product<narrow_policy{true, false}, recorded_narrow_ring>;
  const timeline_role loads{.name = "load", .loads = true};
  return {{.of = "gemm.tensor-core-tma",
           .code = kernel_of<recording<tensor_core>>("gemm.tensor-core-tma, recorded"),
           .stages = tensors.stages,
           .step_bytes = sizeof(tensor_core::slot),
           .roles = {loads, {.name = "compute", .first = 4, .count = 8, .computes = true}}},
          {.of = "gemm.narrow-kn",
           .code = kernel_of<recording<narrow>>("gemm.narrow-kn, recorded"),
           .stages = narrow::stages,
           .step_bytes = std::int64_t{narrow_tile.m + narrow_tile.n} * narrow_step * static_cast<int>(sizeof(float)),
           .phases = {"load", "prepare", "compute"},
           .roles = {{.name = "prepare", .count = narrow::preparing_warps},
                     {.name = "load", .first = narrow::preparing_warps, .loads = true},
                     {.name = "compute", .first = 4, .count = narrow::computing_warps, .computes = true}}}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
