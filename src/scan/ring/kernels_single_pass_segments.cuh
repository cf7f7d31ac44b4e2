// SPDX-License-Identifier: Apache-2.0
// Kernels of the single-pass scan (sm_90) of several lines: rows, and segments by key and by head flags.
#include "single_pass_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

std::vector<single_pass_instance> single_pass_segments_kernels() {
  return kernels_of_segments<tile_mover::copy_engine>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
