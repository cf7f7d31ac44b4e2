// SPDX-License-Identifier: Apache-2.0
// The kernels of linear layers by whole warps (sm_80).
#pragma once
#include <vector>
#include "library/linear/mma_product.cuh"

namespace antiphase::linears {
inline namespace AP_TARGET {

template <mma_policy P> mma_instance mma_kernel(const char* name) {
  return {P, kernel_of<mma_product<P>>(name)};
}

std::vector<mma_instance> linear_mma_kernels() {
  return {mma_kernel<mma_policy{true}>("linear.bf16-mma"),
          mma_kernel<large_mma(true, 3, false)>("linear.bf16-mma-128"),
          mma_kernel<large_mma(true, 3, true)>("linear.bf16-mma-128-kn"),
          mma_kernel<mma_policy{false}>("linear.f16-mma"),
          mma_kernel<large_mma(false, 3, false)>("linear.f16-mma-128"),
          mma_kernel<large_mma(false, 3, true)>("linear.f16-mma-128-kn")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::linears
