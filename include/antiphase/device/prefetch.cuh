// SPDX-License-Identifier: Apache-2.0
// Lines of memory that will be read soon.
#pragma once
#include <antiphase/core/portable.hpp>

namespace antiphase {
inline namespace AP_TARGET {

// Brings the 128 bytes around an address in global memory into the L2 cache. It reads nothing, so it needs no
// order. A no-op on the CPU executor.
#if AP_ON_GPU
AP_DEV void prefetch(const void* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }
#else
AP_DEV void prefetch(const void*) {}
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
