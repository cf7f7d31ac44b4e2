// SPDX-License-Identifier: Apache-2.0
// The kernels of policy split-inside: products that split A themselves (sm_90a).
#include <vector>
#include "src/gemm/split/split_inside_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <int Cluster> product_instance split_inside_instance_of(const char* name) {
  constexpr product_policy how{.stages = 7, .cluster = Cluster, .by = multiplier::split_inside};
  return {how, kernel_of<split_inside_product<how>>(name)};
}

std::vector<product_instance> split_inside_kernels() {
  return {split_inside_instance_of<1>("gemm.split-inside"), split_inside_instance_of<2>("gemm.split-inside-2"),
          split_inside_instance_of<4>("gemm.split-inside-4"), split_inside_instance_of<8>("gemm.split-inside-8")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
