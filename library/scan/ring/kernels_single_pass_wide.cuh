// SPDX-License-Identifier: Apache-2.0
// Kernels of the single-pass scan (sm_90) with sums wider than the elements.
#include "single_pass_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

std::vector<single_pass_instance> single_pass_wide_kernels() {
  return kernels_of_wide_sums<tile_mover::copy_engine>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
