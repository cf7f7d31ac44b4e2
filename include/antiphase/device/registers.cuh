// SPDX-License-Identifier: Apache-2.0
// The number of registers of a warpgroup's threads (setmaxnreg, sm_90a), and what the compiler keeps in them.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>
#if defined(AP_CHECKED)
#include <antiphase/executor/cpu/machine.hpp>
#endif

namespace antiphase {
inline namespace AP_TARGET {

// Sets the number of registers per thread from here on: release_registers lowers it, request_registers raises
// it. All lanes of all warps of the warpgroup call. Released registers are free for other roles; the block
// has threads times registers at entry in all. request_registers blocks until enough are free, forever if
// that never happens. No effect on the CPU executor; the checker verifies which warps call.
#if defined(AP_CHECKED)
template <int Registers> AP_DEV void release_registers(machine::place where = machine::place::current()) {
  static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256);
  machine::set_registers(Registers, where);
}
template <int Registers> AP_DEV void request_registers(machine::place where = machine::place::current()) {
  static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256);
  machine::set_registers(Registers, where);
}
#else
template <int Registers> AP_DEV void release_registers() {
  static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256);
#if AP_ON_GPU
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
#endif
}
template <int Registers> AP_DEV void request_registers() {
  static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256);
#if AP_ON_GPU
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
#endif
}
#endif

// Hides the value of `x` from the compiler, so that it recomputes values derived from x instead of keeping
// them in registers.
AP_DEV void rematerialise([[maybe_unused]] float& x) {
#if AP_ON_GPU
  asm volatile("" : "+f"(x));
#endif
}
AP_DEV void rematerialise([[maybe_unused]] std::uint32_t& x) {
#if AP_ON_GPU
  asm volatile("" : "+r"(x));
#endif
}
AP_DEV void rematerialise([[maybe_unused]] int& x) {
#if AP_ON_GPU
  asm volatile("" : "+r"(x));
#endif
}
AP_DEV void rematerialise([[maybe_unused]] std::int64_t& x) {
#if AP_ON_GPU
  asm volatile("" : "+l"(x));
#endif
}

}  // namespace AP_TARGET
}  // namespace antiphase
