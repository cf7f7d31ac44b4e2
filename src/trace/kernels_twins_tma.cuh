// SPDX-License-Identifier: Apache-2.0
// Recording twins of tensor-core-tma and of the rings of tf32 (sm_90a).
#include <antiphase/channel/recorded.cuh>
#include <vector>
#include "src/gemm/f16_ladder/tensor_core_tma.cuh"
#include "src/gemm/tf32/tf32_kernels.hpp"
#include "src/gemm/tf32/tf32_product.cuh"
#include "src/trace/twin.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <warpgroup_policy P> struct recorded_warpgroup_waits : warpgroup_waits<P> {
  static constexpr int threads = 3 * warpgroup_size;
  using ring = recorded<typename warpgroup_waits<P>::ring, threads / 32,
                        tensor_core_work(std::int64_t{128} * P.columns * warpgroup_depth, threads)>;
};

// Three TF32 products per step, at half the rate of f16.
template <class Channel, int Warps> using recorded_tf32_ring =
    recorded<Channel, Warps,
             2 * tensor_core_work(std::int64_t{3} * tf32_tile.m * tf32_tile.n * tf32_stage_k,
                                  Warps* warp_size)>;

template <tf32_policy P> twin tf32_twin(const char* of, const char* name) {
  using kernel_type = tf32_product<P, recorded_tf32_ring>;
  twin t{
      .kernel_name = of,
      .code = kernel_of<recording<kernel_type>>(name),
      .stages = kernel_type::stages,
      .step_bytes = std::int64_t{tf32_tile.m + tf32_tile.n} * tf32_stage_k * static_cast<int>(sizeof(float))};
  t.step_work = std::int64_t{tf32_tile.m} * tf32_tile.n * tf32_stage_k;
  const timeline_role computes{
      .name = "compute", .first = 4, .count = kernel_type::computing_warps, .computes = true};
  if constexpr (kernel_type::by_tma) {
    constexpr int preparing = kernel_type::preparing_warps;
    t.phases = {"load", "prepare", "compute"};
    t.roles = {{.name = "prepare", .first = 0, .count = preparing},
               {.name = "load", .first = preparing, .loads = true},
               computes};
  } else {  // copying warps also prepare, and commit both as one event
    // .first = 0 is written out: without it, nvcc's host code initialises .first with .count
    t.roles = {{.name = "load and prepare", .first = 0, .count = kernel_type::preparing_warps, .loads = true},
               computes};
  }
  return t;
}

std::vector<twin> twins_by_tma() {
  constexpr warpgroup_policy tensors{};
  using tensor_core = tensor_core_tma<tensors, recorded_warpgroup_waits<tensors>>;
  const timeline_role loads{.name = "load", .loads = true};
  return {{.kernel_name = "gemm.tensor-core-tma",
           .code = kernel_of<recording<tensor_core>>("gemm.tensor-core-tma, recorded"),
           .stages = tensors.stages,
           .step_bytes = sizeof(tensor_core::slot),
           .roles = {loads, {.name = "compute", .first = 4, .count = 8, .computes = true}},
           .step_work = std::int64_t{128} * tensors.columns * warpgroup_depth}};
}
template <auto P> struct tf32_twins {
  static twin make(const char* of, const char* name) { return tf32_twin<P>(of, name); }
};
std::vector<twin> twins_of_tf32() { return twins_from_table<tf32::rings, tf32_twins>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
