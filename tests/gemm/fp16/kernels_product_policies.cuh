// SPDX-License-Identifier: Apache-2.0
// Products of split operands by other policies than the library's, for the tests.
#include "library/gemm/fp16/split_product.cuh"
#include "tests/gemm/fp16/product_policies.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <product_policy P> product_instance product_of_policy(const char* name) {
  return {P, kernel_of<split_product<P>>(name)};
}

std::vector<product_instance> product_policies() {
  return {product_of_policy<product_policy{.stages = 4}>("gemm.fp16.stages-4"),
          product_of_policy<product_policy{.stages = 5}>("gemm.fp16.stages-5"),
          product_of_policy<product_policy{.stages = 6}>("gemm.fp16.stages-6")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
