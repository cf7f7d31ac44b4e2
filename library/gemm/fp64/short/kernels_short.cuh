// SPDX-License-Identifier: Apache-2.0
// The kernels of policy fp64-short (sm_75).
#include <vector>
#include "library/gemm/fp64/short/short_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<short_instance> short_kernels() {
  return {{false, kernel_of<short_product<false>>("gemm.fp64-short")},
          {true, kernel_of<short_product<true>>("gemm.fp64-short-finish")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
