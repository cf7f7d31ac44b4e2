// SPDX-License-Identifier: Apache-2.0
// The lists of twins, and all twins of a family for a target: to add a list, name it here and in
// learn/CMakeLists.txt.
#pragma once
#include <antiphase/gemm/ladder.hpp>
#include <vector>

#include "core/registry.hpp"
#include "learn/trace/twins/twin.hpp"

#define AP_GEMM_TWIN_LISTS(LIST)       \
  LIST(twin, twins_by_threads)         \
  LIST(twin, twins_by_tma)             \
  LIST(twin, twins_of_fp16)            \
  LIST(twin, twins_of_tf32)            \
  LIST(twin, twins_of_fp64)            \
  LIST(twin, twins_of_fp64_async)      \
  LIST(instance, traced_plain_kernels) \
  LIST(instance, traced_async_kernels)
#define AP_ATTENTION_TWIN_LISTS(LIST) \
  LIST(twin, twins_by_multiply_adds)  \
  LIST(twin, twins_on_tensor_cores)
#define AP_SCAN_TWIN_LISTS(LIST)    \
  LIST(twin, scan_twins)            \
  LIST(twin, scan_twins_by_threads) \
  LIST(twin, wave_twins)

namespace antiphase::gemms {
AP_LISTS(twin_lists, AP_GEMM_TWIN_LISTS)
inline const std::vector<twin>& all_twins(target where) { return instances_of<twin_lists, twin>(where); }
// of the ladder: its steps, with their twins' policies
inline const std::vector<instance>& traced_instances(target where) {
  return instances_of<twin_lists, instance>(where);
}
}  // namespace antiphase::gemms

namespace antiphase::attentions {
AP_LISTS(twin_lists, AP_ATTENTION_TWIN_LISTS)
inline const std::vector<twin>& all_twins(target where) { return instances_of<twin_lists, twin>(where); }
}  // namespace antiphase::attentions

namespace antiphase::scans {
AP_LISTS(twin_lists, AP_SCAN_TWIN_LISTS)
inline const std::vector<twin>& all_twins(target where) { return instances_of<twin_lists, twin>(where); }
}  // namespace antiphase::scans
