// SPDX-License-Identifier: Apache-2.0
// The kernels of policy tf32 (sm_90a).
#pragma once
#include <vector>
#include "library/gemm/operands/tiled/from_table.cuh"
#include "library/gemm/tf32/tf32_kept.cuh"
#include "library/gemm/tf32/tf32_kernels.hpp"
#include "library/gemm/tf32/tf32_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <auto P> using tf32_ring = tf32_product<P>;
template <auto P> using tf32_keeping = tf32_kept<P>;
std::vector<tf32_instance> tf32_kernels() {
  std::vector<tf32_instance> all = from_table<tf32::rings, tf32_ring>();
  const std::vector<tf32_instance> keeping = from_table<tf32::keeping, tf32_keeping>();
  all.insert(all.end(), keeping.begin(), keeping.end());
  return all;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
