// SPDX-License-Identifier: Apache-2.0
// The kernels of policy split: products of split operands (sm_90a).
#include <vector>
#include "src/gemm/fp16/split_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <product_policy P> product_instance split_instance_of(const char* name) {
  return {P, kernel_of<split_product<P>>(name)};
}

std::vector<product_instance> split_kernels() {
  return {split_instance_of<product_policy{}>("gemm.split"),
          split_instance_of<product_policy{.stages = 6, .cluster = 2}>("gemm.split-2"),
          split_instance_of<product_policy{.stages = 5, .cluster = 4}>("gemm.split-4"),
          split_instance_of<product_policy{.stages = 5, .cluster = 8}>("gemm.split-8")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
