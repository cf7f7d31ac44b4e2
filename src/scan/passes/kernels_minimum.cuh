// SPDX-License-Identifier: Apache-2.0
// Kernels of minima.
#include <cstdint>

#include "kernel_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

template <class... T> std::vector<instance> list_of_minima() {
  std::vector<instance> list;
  (add<T, minimum, items_policy>(list, items_names, scan_operation::min), ...);
  return list;
}

std::vector<instance> minimum_kernels() {
  return list_of_minima<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                        std::uint16_t, std::uint32_t, std::uint64_t>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
