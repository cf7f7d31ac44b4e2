// SPDX-License-Identifier: Apache-2.0
// Global memory.
#pragma once
#include <antiphase/core/portable.hpp>

namespace antiphase {
inline namespace AP_TARGET {

// The same pointer, known to the compiler as one to global memory. Without this, accesses through a pointer
// that was read from memory are generic.
#if AP_ON_GPU
template <class T> AP_DEV T* in_global_memory(T* p) {
  __builtin_assume(__isGlobal(p));
  return p;
}
#else
template <class T> AP_DEV T* in_global_memory(T* p) { return p; }
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
