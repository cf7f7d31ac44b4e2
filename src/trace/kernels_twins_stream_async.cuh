// SPDX-License-Identifier: Apache-2.0
// Recording twins of streaming products whose operands warps copy with cp.async (sm_80).
#include "src/trace/stream_twin.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<twin> twins_of_streams_by_copiers() { return stream_twins_of<streams::kernels_by_copiers>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
