// SPDX-License-Identifier: Apache-2.0
// What kernels that load by the copy engine begin with.
#pragma once
#include <antiphase/device/fences.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/mbarrier.cuh>

namespace antiphase::test {
inline namespace AP_TARGET {

// The first thread makes an mbarrier of one party, and the copy engine sees it so.
AP_DEV void first_thread_prepares(mbarrier& landed) {
  if (thread_index() != 0) return;
  landed.init(1);
  fence_mbarrier_init();
}

}  // namespace AP_TARGET
}  // namespace antiphase::test
