// Loads that some lanes do without, and no branch.
#pragma once
#include <antiphase/device/atomic.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// load_relaxed() of device scope from global memory where it is wanted, else 0. Where several are asked for one after the other they are on
// their way together: branches around them would keep them apart.
#if AP_ON_GPU
AP_DEV std::uint64_t load_relaxed_if(bool wanted, const std::uint64_t* at) {
  std::uint64_t value = 0;
  asm volatile("{.reg .pred wanted; setp.ne.u32 wanted, %2, 0; @wanted ld.relaxed.gpu.global.u64 %0, [%1];}"
               : "+l"(value)
               : "l"(at), "r"(static_cast<unsigned>(wanted))
               : "memory");
  return value;
}
#else
AP_DEV std::uint64_t load_relaxed_if(bool wanted, const std::uint64_t* at) { return wanted ? load_relaxed(at) : 0; }
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
