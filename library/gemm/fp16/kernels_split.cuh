// SPDX-License-Identifier: Apache-2.0
// The kernels of policy fp16: products of split operands (sm_90a).
#include <vector>
#include "library/gemm/fp16/fp16_kernels.hpp"
#include "library/gemm/fp16/split_product.cuh"
#include "library/gemm/operands/tiled/from_table.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <auto P> using product_of = split_product<P>;
std::vector<product_instance> split_kernels() { return from_table<fp16::by_warpgroups, product_of>(); }
std::vector<product_instance> split_kernels_in_order() {
  return from_table<fp16::ordered_by_warpgroups, product_of>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
