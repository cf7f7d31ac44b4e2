// SPDX-License-Identifier: Apache-2.0
// Kernels of the ladder's steps with several passes that have sums only, to limit compilation.
#include <cstdint>
#include <iterator>
#include <utility>

#include "kernel_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

template <std::size_t I> void add_sums(std::vector<instance>& list) {
  if constexpr (!is_single_pass(steps[I]) && !has_all_types(steps[I])) {
    add<float, sum, steps[I].policy>(list, names_of_kernels<steps, I>, scan_operation::sum);
    add<double, sum, steps[I].policy>(list, names_of_kernels<steps, I>, scan_operation::sum);
    add<std::uint32_t, sum, steps[I].policy>(list, names_of_kernels<steps, I>, scan_operation::sum);
  }
}

std::vector<instance> ladder_kernels() {
  std::vector<instance> list;
  [&]<std::size_t... I>(std::index_sequence<I...>) { (add_sums<I>(list), ...); }
  (std::make_index_sequence<std::size(steps)>());
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
