// SPDX-License-Identifier: Apache-2.0
// Kernels of operators without order: sums, products.
#include "kernel_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

std::vector<instance> arithmetic_kernels() {
  std::vector<instance> list;
  add_operators<items_policy, false>(list, items_names);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
