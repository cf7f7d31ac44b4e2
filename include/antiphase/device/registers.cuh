// SPDX-License-Identifier: Apache-2.0
// How many registers the warps of a warpgroup have (setmaxnreg, sm_90a), and what the compiler keeps in them.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>
#if defined(AP_CHECKED)
#include <antiphase/executor/cpu/machine.hpp>
#endif

namespace antiphase {
inline namespace AP_TARGET {

// From here on a thread has so many: release_registers, no more than it had; request_registers, no fewer. All
// warps of the warpgroup call, each with all of its lanes. What one role gives back, another may take; in all
// there are as many as the launch allocated, threads times registers at entry. Taking waits until there are
// enough, for ever if that never happens. On the CPU executor registers are free; the checker looks at who
// calls.
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

// The compiler no longer knows what `x` holds: it does not keep what it has computed of it for later, it
// computes that again.
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
