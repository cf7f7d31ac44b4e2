// SPDX-License-Identifier: Apache-2.0
// The kernels of policy fp16-mma, for devices without warpgroup operations (sm_80).
#include <vector>
#include "library/gemm/fp16/fp16_kernels.hpp"
#include "library/gemm/fp16/split_mma_product.cuh"
#include "library/gemm/operands/tiled/from_table.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <auto P> using mma_product_of = split_mma_product<P>;
std::vector<product_instance> split_mma_kernels() { return from_table<fp16::by_warps, mma_product_of>(); }
std::vector<product_instance> split_mma_kernels_in_order() {
  return from_table<fp16::ordered_by_warps, mma_product_of>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
