// SPDX-License-Identifier: Apache-2.0
// What differs between compilers: the only macros of the library, and the cast that kernels and the host
// share.
#pragma once
#include <type_traits>

// AP_FN: a core function. Kernels on the GPU, kernels on the CPU executor and host code all call it. It is
// always inlined, so that no weak symbol of it is shared between objects compiled with different
// instrumentation. AP_RELAY: a core function that calls what it is given. A channel of device barriers is
// used on the device only, one of stream events on the host only; nvcc would warn about either. (The pragma
// may not follow `template <...>`.) AP_DEV: a function of the machine a kernel runs on; it lives in the
// inline namespace AP_TARGET, so that one binary can hold the same kernel compiled for the GPU (cuda), for
// the CPU executor (cpu) and for the checker (checked). AP_DEV_APART: such a function that kernels on the GPU
// call instead of taking it in, since it is large and rarely needed.
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

// Full unrolling with a count that depends on template parameters; both compilers take the pragma. GCC warns
// of each loop that it does not unroll, as none is without optimisation.
#if defined(__CUDACC__)
#define AP_UNROLL _Pragma("unroll")
#elif !defined(__OPTIMIZE__)
#define AP_UNROLL
#else
#define AP_UNROLL _Pragma("GCC unroll 64")
#endif

// No unrolling, where the size of the code matters more than a jump.
#if defined(__CUDACC__)
#define AP_ROLLED _Pragma("unroll 1")
#else
#define AP_ROLLED
#endif

// Set to 1 for compute-sanitizer's racecheck, which does not follow what one lane's arrival for its warp
// orders: then all lanes arrive.
#if !defined(AP_EVERY_LANE_ARRIVES)
#define AP_EVERY_LANE_ARRIVES 0
#endif

namespace antiphase {

// The bits of a value as another type. std::bit_cast is for the host: nvcc lets kernels call it only under
// --expt-relaxed-constexpr, which a user's build need not have.
template <class To, class From> AP_FN constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> &&
                std::is_trivially_copyable_v<From>);
  return __builtin_bit_cast(To, from);
}

}  // namespace antiphase
