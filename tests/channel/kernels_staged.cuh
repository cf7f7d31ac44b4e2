// SPDX-License-Identifier: Apache-2.0
// Rings of staged copies with one to eight stages.
#include <utility>
#include "tests/channel/ring_kernels.cuh"

namespace antiphase::test {
inline namespace AP_TARGET {

std::vector<ring_case> staged_rings() {
  return []<int... N>(std::integer_sequence<int, N...>) {
    return std::vector<ring_case>{
        {N + 1, kernel_of<registers_through<N + 1, staged_copies>>("staged-copies")}...};
  }
  (std::make_integer_sequence<int, 8>{});
}

}  // namespace AP_TARGET
}  // namespace antiphase::test
