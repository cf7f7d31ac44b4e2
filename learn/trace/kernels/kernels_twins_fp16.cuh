// SPDX-License-Identifier: Apache-2.0
// Recording twins of split products fed by TMA (sm_90a), with and without clusters that share a tile
// (split-K).
#include <antiphase/channel/recorded.cuh>
#include <utility>
#include <vector>
#include "learn/trace/twins/twin.hpp"
#include "library/gemm/fp16/fp16_kernels.hpp"
#include "library/gemm/fp16/split_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Work of a step, which multiplies a tile three times.
constexpr int split_work(int threads) {
  return tensor_core_work(std::int64_t{3} * split_tile * split_tile * split_step, threads);
}

template <product_policy P> struct recorded_product_waits : product_waits<P> {
  static constexpr int threads = 3 * warpgroup_size;
  using ring = recorded<typename product_waits<P>::ring, threads / 32, split_work(threads)>;
};
template <product_policy P, class Kernel>
twin twin_of_split(const char* of, const char* name, std::vector<timeline_role> roles) {
  return {.kernel_name = of,
          .code = kernel_of<recording<Kernel>>(name),
          .stages = P.stages,
          .step_bytes = sizeof(typename Kernel::slot),
          .roles = std::move(roles),
          .step_work = std::int64_t{split_tile} * split_tile * split_step};
}
template <product_policy P> twin split_twin(const char* of, const char* name) {
  return twin_of_split<P, split_product<P, recorded_product_waits<P>>>(
      of, name,
      {{.name = "load", .loads = true}, {.name = "compute", .first = 4, .count = 8, .computes = true}});
}
template <auto P> struct fp16_twins {
  static twin make(const char* of, const char* name) { return split_twin<P>(of, name); }
};
std::vector<twin> twins_of_fp16() { return twins_from_table<fp16::by_warpgroups, fp16_twins>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
