// SPDX-License-Identifier: Apache-2.0
// Portability between nvcc and host compilers: the macros of kernels, and bit_cast.
#pragma once
#include <type_traits>

// AP_FN: a function for kernels on the GPU, kernels on the CPU executor and host code. Always inlined, so
// that no weak symbol of it is shared between objects with different instrumentation.
//
// AP_RELAY: an AP_FN that calls a template argument, which may be for the device only (a channel of device
// barriers) or for the host only (one of stream events); without the pragma nvcc warns about either. The
// pragma may not follow `template <...>`.
//
// AP_DEV: a device function. It lives in the inline namespace AP_TARGET, so that one binary can hold the same
// kernel compiled for the GPU (cuda), for the CPU executor (cpu) and for the checker (checked).
//
// AP_DEV_APART: a device function that is not inlined on the GPU, since it is large and rarely called.
#if defined(__CUDACC__)
#define AP_FN __host__ __device__ __forceinline__
#define AP_RELAY _Pragma("nv_exec_check_disable") AP_FN
#define AP_DEV __device__ __forceinline__
#define AP_DEV_APART __device__ __noinline__
#define AP_TARGET cuda
#define AP_ON_GPU 1
#else
#define AP_FN [[gnu::always_inline]] inline
#define AP_RELAY AP_FN
#define AP_DEV inline
#define AP_DEV_APART inline
#if defined(AP_CHECKED)
#define AP_TARGET checked
#else
#define AP_TARGET cpu
#endif
#define AP_ON_GPU 0
#endif

// Full unrolling, also of counts that depend on template parameters. Empty without optimisation, where GCC
// would warn about each loop that it does not unroll.
#if defined(__CUDACC__)
#define AP_UNROLL _Pragma("unroll")
#elif !defined(__OPTIMIZE__)
#define AP_UNROLL
#else
#define AP_UNROLL _Pragma("GCC unroll 64")
#endif

// No unrolling, where code size matters more than a jump.
#if defined(__CUDACC__)
#define AP_ROLLED _Pragma("unroll 1")
#else
#define AP_ROLLED
#endif

// Set to 1 for compute-sanitizer's racecheck, which does not understand that one lane's arrival orders its
// whole warp: then all lanes arrive.
#if !defined(AP_EVERY_LANE_ARRIVES)
#define AP_EVERY_LANE_ARRIVES 0
#endif

namespace antiphase {

// As std::bit_cast, which nvcc lets kernels call only with --expt-relaxed-constexpr, an option that user
// builds may lack.
template <class To, class From> AP_FN constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> &&
                std::is_trivially_copyable_v<From>);
  return __builtin_bit_cast(To, from);
}

}  // namespace antiphase
