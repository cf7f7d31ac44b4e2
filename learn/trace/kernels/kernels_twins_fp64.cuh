// SPDX-License-Identifier: Apache-2.0
// Recording twins of streaming products fed by TMA (sm_90a).
#include "learn/trace/twins/fp64_twin.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<twin> twins_of_fp64() { return twins_from_table<fp64::kernels_by_tma, fp64_twins>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
