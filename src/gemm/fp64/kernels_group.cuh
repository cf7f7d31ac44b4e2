// SPDX-License-Identifier: Apache-2.0
// The kernels of groups of products (sm_80).
#pragma once
#include <vector>
#include "src/gemm/fp64/fp64_kernels.hpp"
#include "src/gemm/fp64/group_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// The rings of fp64 that walk over tiles and are filled by copying warps.
std::vector<group_instance> group_kernels() {
  using namespace fp64;
  return {group_instance_of<by_cp_async(2, ring_32x32)>("gemm.group-32x32"),
          group_instance_of<by_cp_async(2, ring_64x64)>("gemm.group-64x64"),
          group_instance_of<by_cp_async(4, ring_128x16)>("gemm.group-128x16")};
}
std::vector<group_table_instance> group_table_kernels() {
  return {{kernel_of<group_table>("gemm.group-table")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
