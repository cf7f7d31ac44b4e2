// SPDX-License-Identifier: Apache-2.0
// Kernels of the single-pass scan (sm_90) for several lines and the operators other than the sum.
#include "single_pass_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

std::vector<single_pass_instance> single_pass_segments_kernels() {
  return kernels_of_operators<tile_mover::copy_engine, lines_kind::segments, operators_of_list::others>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
