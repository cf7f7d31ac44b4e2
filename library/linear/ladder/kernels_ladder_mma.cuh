// SPDX-License-Identifier: Apache-2.0
// The steps of the ladder by whole warps (sm_80): linear layers by number of stages.
#pragma once
#include <vector>
#include "library/linear/mma_product.cuh"

namespace antiphase::linears {
inline namespace AP_TARGET {

std::vector<tensor_core_instance> ladder_mma_kernels() {
  return {{"tensor-core-2", kernel_of<mma_product<large_mma(false, 2, true)>>("gemm.tensor-core-2")},
          {"tensor-core-3", kernel_of<mma_product<large_mma(false, 3, true)>>("gemm.tensor-core-3")},
          {"tensor-core-4", kernel_of<mma_product<large_mma(false, 4, true)>>("gemm.tensor-core-4")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::linears
