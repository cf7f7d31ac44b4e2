// SPDX-License-Identifier: Apache-2.0
// The recording twins of products whose blocks share tiles, as those of few tiles do (sm_90a).
#include <vector>
#include "src/trace/split_twins.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<twin> twins_of_shared_tiles() {
  constexpr auto by = multiplier::split_inside;
  return {split_twin<product_policy{.stages = 6, .cluster = 2}>("gemm.split-2", "gemm.split-2, recorded"),
          split_twin<product_policy{.stages = 5, .cluster = 4}>("gemm.split-4", "gemm.split-4, recorded"),
          split_twin<product_policy{.stages = 5, .cluster = 8}>("gemm.split-8", "gemm.split-8, recorded"),
          split_inside_twin<product_policy{.stages = 7, .cluster = 2, .by = by}>("gemm.split-inside-2", "gemm.split-inside-2, recorded")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
