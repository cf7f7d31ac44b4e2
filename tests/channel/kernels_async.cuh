// SPDX-License-Identifier: Apache-2.0
// Rings of asynchronous copies with one to eight stages (sm_80).
#include <utility>
#include "tests/channel/ring_kernels.cuh"

namespace antiphase::test {
inline namespace AP_TARGET {

std::vector<ring_case> async_rings() {
  return []<int... N>(std::integer_sequence<int, N...>) {
    return std::vector<ring_case>{
        {N + 1, kernel_of<copies_through<N + 1, async_copies<N + 1>>>("async-copies")}...};
  }
  (std::make_integer_sequence<int, 8>{});
}

}  // namespace AP_TARGET
}  // namespace antiphase::test
