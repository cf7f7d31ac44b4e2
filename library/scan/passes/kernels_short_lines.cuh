// SPDX-License-Identifier: Apache-2.0
// Kernels for many short lines, for the CPU executor only. On GPUs the list is empty: idle threads of a block
// cost next to nothing there.
#include <antiphase/scan/ladder.hpp>
#include <iterator>
#include <utility>

#include "kernel_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

template <policy P>
void add_operations([[maybe_unused]] std::vector<instance>& list, [[maybe_unused]] const names& called) {
  if constexpr (AP_ON_GPU == 0) add_operators<P, false>(list, called), add_operators<P, true>(list, called);
}

std::vector<instance> short_line_kernels() {
  std::vector<instance> list;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (add_operations<short_line_steps[I].policy>(list, names_of_kernels<short_line_steps, I>), ...);
  }
  (std::make_index_sequence<std::size(short_line_steps)>());
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
