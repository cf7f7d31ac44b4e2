// SPDX-License-Identifier: Apache-2.0
// Kernels of the single-pass scan with sums wider than the elements, tiles copied by threads (cp.async,
// sm_80).
#include "single_pass_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

std::vector<single_pass_instance> single_pass_async_wide_kernels() {
  return kernels_of_wide_sums<tile_mover::threads>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
