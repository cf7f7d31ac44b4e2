// SPDX-License-Identifier: Apache-2.0
// Time as a kernel sees it.
#pragma once
#include <antiphase/device/index.cuh>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// clock_now: on the GPU cycles of this multiprocessor; on the CPU executor ticks of the simulation, a model
// of the same. Comparable within a block only. trap: ends the kernel with an error.
//
// The simulation's clock sees the verbs of this folder, not ordinary code. A kernel that wants its arithmetic
// and its loads to registers to take time there says what they are; on a GPU, where they do take time, these
// do nothing.
//   clock_instructions      this thread has executed so many
//   clock_register_loads    it has begun to load so many bytes from global memory to registers ...
//   clock_registers_needed  ... and goes on when they are there
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
