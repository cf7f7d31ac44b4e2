// SPDX-License-Identifier: Apache-2.0
// Kernels of sums and products; signed integers share the kernels of unsigned ones.
#include <cstdint>

#include "kernel_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

template <class Op, class... T> void add_items(std::vector<instance>& list, scan_operation operation) {
  (add<T, Op, items_policy>(list, items_names, operation), ...);
}

std::vector<instance> arithmetic_kernels() {
  std::vector<instance> list;
  add_items<sum, float, double, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      list, scan_operation::sum);
  add_items<product, float, double, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      list, scan_operation::product);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
