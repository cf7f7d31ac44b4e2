// SPDX-License-Identifier: Apache-2.0
// Products of operands in two FP16 parts, x = hi + lo: hi hi, and the mixed products lo hi + hi lo.
#pragma once
#include <antiphase/device/wgmma.cuh>
#include <type_traits>

namespace antiphase {
inline namespace AP_TARGET {

template <int Number> using part_number = std::integral_constant<int, Number>;  // 0: hi, 1: lo

// Start the wgmma of `steps` times 16 k; sum = ..., or sum += ... if `add`. a(part_number, step) and
// b(part_number, step) are descriptors, or registers of A. `Majors`: as wgmma takes them.
template <major... Majors, int Registers, class A, class B>
AP_DEV void multiply_mixed(float (&sum)[Registers], int steps, const A& a, const B& b, bool add) {
  AP_UNROLL
  for (int i = 0; i < steps; ++i) {
    wgmma<Majors...>(sum, a(part_number<1>(), i), b(part_number<0>(), i), add || i > 0);
    wgmma<Majors...>(sum, a(part_number<0>(), i), b(part_number<1>(), i), true);
  }
}
template <major... Majors, int Registers, class A, class B>
AP_DEV void multiply_main(float (&sum)[Registers], int steps, const A& a, const B& b, bool add) {
  AP_UNROLL
  for (int i = 0; i < steps; ++i)
    wgmma<Majors...>(sum, a(part_number<0>(), i), b(part_number<0>(), i), add || i > 0);
}

}  // namespace AP_TARGET
}  // namespace antiphase
