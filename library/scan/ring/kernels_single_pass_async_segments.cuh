// SPDX-License-Identifier: Apache-2.0
// Kernels of the single-pass scan of several lines, tiles copied by threads (cp.async, sm_80).
#include "single_pass_list.cuh"

namespace antiphase::scans {
inline namespace AP_TARGET {

std::vector<single_pass_instance> single_pass_async_segments_kernels() {
  return kernels_of_operators<tile_mover::threads, lines_kind::segments>();
}

}  // namespace AP_TARGET
}  // namespace antiphase::scans
