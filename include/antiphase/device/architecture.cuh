// SPDX-License-Identifier: Apache-2.0
// Features of the architecture that is compiled for.
#pragma once
#include <antiphase/core/error.hpp>
#include <antiphase/core/portable.hpp>
#include <antiphase/executor/kernel.hpp>
#include <string>

namespace antiphase {
inline namespace AP_TARGET {

// For kernels that users compile for several architectures, all of which may be older than the device.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool has_bulk_copies = false;
#else
constexpr bool has_bulk_copies = true;
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr bool has_async_copies = false;  // nor mbarriers
#else
constexpr bool has_async_copies = true;
#endif

// Whether the code of a loop should be as short as possible.
constexpr bool has_small_instruction_cache = AP_ON_GPU != 0;

// The PTX version that the kernel's code for the current device was compiled from, in the form of
// __CUDA_ARCH__ / 10: 80 for compute capability 8.0.
#if AP_ON_GPU
inline int compiled_for(const kernel& k) {
  cudaFuncAttributes is{};
  if (const cudaError_t result = cudaFuncGetAttributes(&is, k.entry); result != cudaSuccess)
    throw device_error(std::string("reading the attributes of kernel ") + k.name +
                       " failed: " + cudaGetErrorString(result));
  return is.ptxVersion;
}
#else
inline int compiled_for(const kernel&) { return 90; }
#endif

}  // namespace AP_TARGET
}  // namespace antiphase
