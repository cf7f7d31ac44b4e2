// SPDX-License-Identifier: Apache-2.0
// The kernels of groups of products (sm_80).
#pragma once
#include <vector>
#include "src/gemm/fp64/group_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<group_instance> group_kernels() {
  using enum loader;
  return {group_instance_of<fp64_policy{{32, 32}, {2, 2}, 1, 4, 4, false, copiers, false, 2}>(
              "gemm.group-32x32"),
          group_instance_of<fp64_policy{{64, 64}, {2, 2}, 1, 4, 2, false, copiers, false, 2}>(
              "gemm.group-64x64"),
          group_instance_of<fp64_policy{{128, 16}, {4, 1}, 1, 4, 2, false, copiers, false, 4}>(
              "gemm.group-128x16")};
}
std::vector<group_table_instance> group_table_kernels() {
  return {{kernel_of<group_table>("gemm.group-table")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
