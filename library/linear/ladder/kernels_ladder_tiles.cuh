// SPDX-License-Identifier: Apache-2.0
// The steps of the ladder by warpgroups (sm_90a): linear layers by number of slots.
#pragma once
#include <vector>
#include "library/linear/tile_product.cuh"

namespace antiphase::linears {
inline namespace AP_TARGET {

std::vector<tensor_core_instance> ladder_tile_kernels() {
  return {{"tensor-core-tma-1", kernel_of<tile_product<ladder_tile(1)>>("gemm.tensor-core-tma-1")},
          {"tensor-core-tma-2", kernel_of<tile_product<ladder_tile(2)>>("gemm.tensor-core-tma-2")},
          {"tensor-core-tma", kernel_of<tile_product<ladder_tile(4)>>("gemm.tensor-core-tma")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::linears
