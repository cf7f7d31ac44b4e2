// SPDX-License-Identifier: Apache-2.0
// Kernels for many short lines, for the CPU executor only. On GPUs the list is empty: idle threads of a block
// cost next to nothing there.
#include <antiphase/scan/ladder.hpp>
#include <cstdint>
#include <iterator>
#include <utility>

#include "kernel_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

template <policy P, class Op, class... T> void add_types([[maybe_unused]] std::vector<instance>& list,
                                                         [[maybe_unused]] const names& called,
                                                         [[maybe_unused]] scan_operation operation) {
  if constexpr (AP_ON_GPU == 0) (add<T, Op, P>(list, called, operation), ...);
}
template <policy P> void add_operations(std::vector<instance>& list, const names& called) {
  add_types<P, sum, float, double, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      list, called, scan_operation::sum);
  add_types<P, product, float, double, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      list, called, scan_operation::product);
  add_types<P, minimum, float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
            std::uint16_t, std::uint32_t, std::uint64_t>(list, called, scan_operation::min);
  add_types<P, maximum, float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
            std::uint16_t, std::uint32_t, std::uint64_t>(list, called, scan_operation::max);
}

std::vector<instance> short_line_kernels() {
  std::vector<instance> list;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (add_operations<short_line_steps[I].how>(list, names_of_kernels<short_line_steps, I>), ...);
  }
  (std::make_index_sequence<std::size(short_line_steps)>());
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
