// SPDX-License-Identifier: Apache-2.0
// The clock in a kernel.
#pragma once
#include <antiphase/device/index.cuh>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// clock_now: on the GPU cycles of this multiprocessor; on the CPU executor ticks of a simulated one.
// Comparable within a block only. trap: ends the kernel with an error.
//
// The simulated clock advances by the functions of this folder, not by ordinary code. So that arithmetic and
// loads to registers take time there too, a kernel declares them; on a GPU these calls do nothing.
//   clock_instructions      this thread has executed this many instructions
//   clock_register_loads    it has issued loads of this many bytes from global memory to registers
//   clock_registers_needed  it waits for those loads
#if AP_ON_GPU
AP_DEV std::int64_t clock_now() {
  std::int64_t now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}
AP_DEV void clock_instructions(int) {}
AP_DEV void clock_register_loads(int) {}
AP_DEV void clock_registers_needed() {}
AP_DEV void trap(const char*) { __trap(); }
#else
AP_DEV std::int64_t clock_now() { return machine::clock(); }
AP_DEV void clock_instructions(int count) { machine::clock_instructions(count); }
AP_DEV void clock_register_loads(int bytes) { machine::clock_register_loads(bytes); }
AP_DEV void clock_registers_needed() { machine::clock_registers_needed(); }
AP_DEV void trap(const char* why, machine::place where = machine::place::current()) {
  machine::trap(why, where);
}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
