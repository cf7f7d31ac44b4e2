// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels_product_policies.cuh, for each target.
#pragma once
#include <vector>
#include "library/gemm/fp16/split_product.hpp"

namespace antiphase::gemms {

namespace cpu {
std::vector<product_instance> product_policies();
}
namespace cuda {
std::vector<product_instance> product_policies();
}
namespace checked {
std::vector<product_instance> product_policies();
}

}  // namespace antiphase::gemms
