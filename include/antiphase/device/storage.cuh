// SPDX-License-Identifier: Apache-2.0
// Shared memory of a size known at launch, and tables of constants.
#pragma once
#include <antiphase/device/shared.cuh>
#include <cstddef>

// A table in constant memory, at namespace scope in AP_TARGET: AP_CONSTANT float weights[3] = {1, 2, 1};
// Values that the host chooses at run time belong in a kernel's params, which are constant memory too.
#if AP_ON_GPU
#define AP_CONSTANT static __constant__ const
#else
#define AP_CONSTANT static constexpr
#endif

namespace antiphase {
inline namespace AP_TARGET {

//   shared_size         bytes of shared memory that the block was launched with (executor/shared_bytes.hpp);
//                       with dynamic storage only
//   shared_tail<T, S>   the uninitialised rest after the kernel's storage S, as an array of T of
//                       shared_tail_count<T, S>() elements
#if AP_ON_GPU
AP_DEV std::size_t shared_size() {
  unsigned bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}
#else
AP_DEV std::size_t shared_size() { return machine::current->block->shared_bytes; }
#endif
template <class T, class S>
constexpr std::size_t shared_tail_offset = (sizeof(S) + alignof(T) - 1) / alignof(T) * alignof(T);
template <class T, class S> AP_DEV T* shared_tail() {
  auto* start = reinterpret_cast<unsigned char*>(&shared<S, shared_kind::dynamic>());
  return reinterpret_cast<T*>(start + shared_tail_offset<T, S>);
}
template <class T, class S> AP_DEV int shared_tail_count() {
  return static_cast<int>((shared_size() - shared_tail_offset<T, S>) / sizeof(T));
}

}  // namespace AP_TARGET
}  // namespace antiphase
