// SPDX-License-Identifier: Apache-2.0
// The lists of scan kernels: to add one, name it here and in library/CMakeLists.txt.
#pragma once
#include <antiphase/scan/ladder.hpp>

#include "core/registry.hpp"
#include "library/scan/columns/columns_plan.hpp"
#include "library/scan/ring/ring_plan.hpp"
#include "library/scan/wave/wave_plan.hpp"

#define AP_SCAN_LISTS(LIST)                                      \
  LIST(instance, ladder_kernels)                                 \
  LIST(instance, arithmetic_kernels)                             \
  LIST(instance, ordered_kernels)                                \
  LIST(instance, short_line_kernels)                             \
  LIST(single_pass_instance, single_pass_kernels)                \
  LIST(single_pass_instance, single_pass_wide_kernels)           \
  LIST(single_pass_instance, single_pass_segment_sums_kernels)   \
  LIST(single_pass_instance, single_pass_segments_kernels)       \
  LIST(single_pass_instance, single_pass_async_kernels)          \
  LIST(single_pass_instance, single_pass_async_wide_kernels)     \
  LIST(single_pass_instance, single_pass_async_segments_kernels) \
  LIST(wave_instance, one_wave_kernels)                          \
  LIST(columns_instance, columns_kernels)

namespace antiphase::scans {

AP_LISTS(scan_lists, AP_SCAN_LISTS)

}  // namespace antiphase::scans
