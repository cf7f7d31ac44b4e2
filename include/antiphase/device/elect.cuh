// SPDX-License-Identifier: Apache-2.0
// One lane for the whole warp (elect.sync, sm_90).
#pragma once
#include <antiphase/device/warp.cuh>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// elect_one: true in one lane of the warp, which the compiler knows to be one: it puts no loop around what
// that lane issues, as it does where a condition of the lane's index chooses it. All lanes call.
#if AP_ON_GPU
AP_DEV bool elect_one() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  std::uint32_t yes;
  asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(yes));
  return yes != 0;
#else
  return lane_index() == 0;
#endif
}
#else
#if defined(AP_CHECKED)
AP_DEV bool elect_one(machine::place where = machine::place::current()) {
  machine::whole_warp("elect_one()", where);
  return lane_index() == 0;
}
#else
AP_DEV bool elect_one() { return lane_index() == 0; }
#endif
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
