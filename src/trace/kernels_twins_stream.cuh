// SPDX-License-Identifier: Apache-2.0
// Recording twins of streaming products fed by TMA (sm_90a).
#include "src/trace/stream_twin.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<twin> twins_of_streams() { return stream_twins_of<streams::kernels_by_engine>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
