// SPDX-License-Identifier: Apache-2.0
// The kernel of policy split-mma: products of split operands for devices without warpgroup operations
// (sm_80).
#include <vector>
#include "src/gemm/fp16/split_mma_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<product_instance> split_mma_kernels() {
  return {{split_mma_policy, kernel_of<split_mma_product<split_mma_policy>>("gemm.split-mma")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
