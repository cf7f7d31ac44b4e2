// SPDX-License-Identifier: Apache-2.0
// Kernel types, and kernel_of(), which makes them launchable by an executor.
#pragma once
#include <antiphase/device/index.cuh>
#include <antiphase/device/shared.cuh>
#include <concepts>
#include <type_traits>

namespace antiphase {
inline namespace AP_TARGET {

// A kernel is a type with these members:
//
//   params       trivially copyable, at most 4 KiB
//   storage      the block's shared memory (may be empty), reached by shared<storage, shared_kind>()
//   threads      per block
//   operator()(const params&) const      what one thread does
//
// and optionally, with these defaults:
//
//   shared             shared_kind::fixed
//   blocks             residency::any
//   blocks_wanted      1: resident blocks per multiprocessor that the compiler limits registers for
//   cluster            1: blocks of a cluster
//   overlaps_previous  false: see launch.cuh
//
//   struct doubled {
//     struct params { const float* from; float* to; int count; };
//     struct storage {};
//     static constexpr int threads = 256;
//     AP_DEV void operator()(const params& p) const {
//       const int i = static_cast<int>(block_index().x) * threads + thread_index();
//       if (i < p.count) p.to[i] = 2 * p.from[i];
//     }
//   };
//   const doubled::params p{from.data(), to.data(), count};
//   where.runs_on().launch(kernel_of<doubled>("doubled"), {blocks, 1, 1}, &p, nullptr);
//
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

// The library's only __global__ function. nvcc 13.0 takes a kernel type as its template argument, but not a
// policy value.
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

// The type-erased kernel. `name` must outlive its use: a literal, or the name of a policy.
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
