// SPDX-License-Identifier: Apache-2.0
// Recording twins of linear layers, as the ladder has them, and of the rings of tf32 (sm_90a).
#include <antiphase/channel/recorded.cuh>
#include <vector>
#include "learn/trace/twins/twin.hpp"
#include "library/gemm/tf32/tf32_kernels.hpp"
#include "library/gemm/tf32/tf32_product.cuh"
#include "library/linear/tile_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <linears::tile_policy P, int Slots> struct recorded_tile_waits : linears::tile_waits<P, Slots> {
  static constexpr int threads = 128 * (P.groups + 1);
  using ring = recorded<typename linears::tile_waits<P, Slots>::ring, threads / 32,
                        tensor_core_work(std::int64_t{64} * P.groups * P.columns * linears::depth, threads)>;
  AP_DEV static void first_round(ring& r, cursor<Slots> at) { r.acquire(at); }
};
// Its ring is used before any barrier of the block.
template <class K> struct recording_at_once : recording<K> {
  AP_DEV void operator()(const typename recording<K>::params& p) const {
    auto& spans = antiphase::shared<typename K::storage, K::shared>().ring.spans;
    if (thread_index() == 0) spans.begin(p.log);
    block_barrier();
    K::operator()(p.params);
    spans.finish();
  }
};
template <int Slots> twin linear_twin(const char* of, const char* name) {
  constexpr linears::tile_policy how = linears::ladder_tile(Slots);
  using kernel_type = linears::tile_product<how, recorded_tile_waits>;
  constexpr int computing = 4 * how.groups;
  return {.kernel_name = of,
          .code = kernel_of<recording_at_once<kernel_type>>(name),
          .stages = Slots,
          .step_bytes = kernel_type::slot_bytes,
          .roles = {{.name = "compute", .first = 0, .count = computing, .computes = true},
                    {.name = "load", .first = computing, .loads = true}},
          .step_work = std::int64_t{64} * how.groups * how.columns * linears::depth};
}

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
  return {linear_twin<1>("gemm.tensor-core-tma-1", "gemm.tensor-core-tma-1, recorded"),
          linear_twin<2>("gemm.tensor-core-tma-2", "gemm.tensor-core-tma-2, recorded"),
          linear_twin<4>("gemm.tensor-core-tma", "gemm.tensor-core-tma, recorded")};
}
template <auto P> struct tf32_twins {
  static twin make(const char* of, const char* name) { return tf32_twin<P>(of, name); }
};
std::vector<twin> twins_of_tf32() { return twins_from_table<tf32::rings, tf32_twins>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
