// SPDX-License-Identifier: Apache-2.0
// The kernels of linear layers by whole warps (sm_80).
#pragma once
#include <vector>
#include "src/linear/mma_product.cuh"

namespace antiphase::linears {
inline namespace AP_TARGET {

std::vector<mma_instance> linear_mma_kernels() {
  return {{{true}, kernel_of<mma_product<mma_policy{true}>>("linear.bf16-mma")},
          {{false}, kernel_of<mma_product<mma_policy{false}>>("linear.f16-mma")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::linears
