// Time as a kernel sees it.
#pragma once
#include <antiphase/device/index.cuh>
#include <cstdint>

namespace antiphase {
inline namespace AP_TARGET {

// clock_now: on the GPU cycles of this multiprocessor, comparable within a block only; on the CPU executor nanoseconds of processor time.
// trap: ends the kernel with an error.
#if AP_ON_GPU
AP_DEV std::int64_t clock_now() {
  std::int64_t now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}
AP_DEV void trap(const char*) { __trap(); }
#else
AP_DEV std::int64_t clock_now() { return machine::clock(); }
AP_DEV void trap(const char* why, machine::place where = machine::place::current()) { machine::trap(why, where); }
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
