// SPDX-License-Identifier: Apache-2.0
// Prologue of kernels that load by TMA.
#pragma once
#include <antiphase/device/fences.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/mbarrier.cuh>

namespace antiphase::test {
inline namespace AP_TARGET {

// The first thread initialises an mbarrier of one party and makes it visible to TMA.
AP_DEV void first_thread_prepares(mbarrier& landed) {
  if (thread_index() != 0) return;
  landed.init(1);
  fence_mbarrier_init();
}

}  // namespace AP_TARGET
}  // namespace antiphase::test
