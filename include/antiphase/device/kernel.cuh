// SPDX-License-Identifier: Apache-2.0
// From a kernel type to something an executor can launch.
#pragma once
#include <antiphase/device/index.cuh>
#include <antiphase/device/shared.cuh>
#include <concepts>
#include <type_traits>

namespace antiphase {
inline namespace AP_TARGET {

// A kernel is a type:
//   params      trivially copyable, at most 4 KiB
//   storage     the block's shared memory (may be empty), reached through shared<storage, Kernel::shared>()
//   threads     per block
//   operator()(const params&) const      what one thread does
// and, if the defaults do not fit, `shared` (fixed), `blocks` (residency::any), `blocks_wanted` (1), the
// blocks per multiprocessor that the compiler is asked to leave registers for, `cluster` (1) and
// `overlaps_previous` (false).
template <class K>
concept kernel_type = std::is_trivially_copyable_v<typename K::params> &&
                          sizeof(typename K::params) <= 4096 &&
                      K::threads > 0 && requires {
  sizeof(typename K::storage);
};

template <class K> constexpr shared_kind shared_of = [] {
  if constexpr (requires { K::shared; })
    return K::shared;
  else
    return shared_kind::fixed;
}();
template <class K> constexpr residency blocks_of = [] {
  if constexpr (requires { K::blocks; })
    return K::blocks;
  else
    return residency::any;
}();
template <class K> constexpr int blocks_wanted_of = [] {
  if constexpr (requires { K::blocks_wanted; })
    return K::blocks_wanted;
  else
    return 1;
}();

template <class K> constexpr int cluster_of = [] {
  if constexpr (requires { K::cluster; })
    return K::cluster;
  else
    return 1;
}();
template <class K> constexpr bool chained_of = [] {
  if constexpr (requires { K::overlaps_previous; })
    return K::overlaps_previous;
  else
    return false;
}();

// The only __global__ function of the library. A policy value cannot be the template argument of one (nvcc
// 13.0), a kernel type can.
#if AP_ON_GPU
template <kernel_type K> __global__ void __launch_bounds__(K::threads, blocks_wanted_of<K>)
    run_kernel(const __grid_constant__ typename K::params params) {
  K{}(params);
}
#else
template <kernel_type K> void run_thread(const void* params) {
  K{}(*static_cast<const typename K::params*>(params));
}
#endif

// `name` must outlive the program's use of the kernel: a literal, or the name of a policy.
template <kernel_type K> kernel kernel_of(const char* name) {
  kernel k{.name = name,
           .threads = K::threads,
           .shared_bytes = std::is_empty_v<typename K::storage> ? 0 : sizeof(typename K::storage),
           .shared = shared_of<K>,
           .blocks = blocks_of<K>,
           .cluster = cluster_of<K>,
           .overlaps_previous = chained_of<K>,
           .params_bytes = sizeof(typename K::params)};
#if AP_ON_GPU
  k.entry = reinterpret_cast<const void*>(&run_kernel<K>);
#else
  k.body = &run_thread<K>;
#endif
  return k;
}

}  // namespace AP_TARGET
}  // namespace antiphase
