// SPDX-License-Identifier: Apache-2.0
// Included first where a build needs the names of kernels and never launches them: kernel_of() then describes
// a kernel without compiling it, and a launch says that it was not compiled.
#pragma once
#include <antiphase/device/kernel.cuh>

namespace antiphase {
inline namespace AP_TARGET {

template <kernel_type K> kernel kernel_by_name(const char* name) {
  return {.name = name,
          .threads = K::threads,
          .shared_bytes = std::is_empty_v<typename K::storage> ? 0 : sizeof(typename K::storage),
          .shared = shared_of<K>,
          .blocks = blocks_of<K>,
          .cluster = cluster_of<K>,
          .overlaps_previous = chained_of<K>,
          .params_bytes = sizeof(typename K::params)};
}

}  // namespace AP_TARGET
}  // namespace antiphase

#define kernel_of kernel_by_name
