// SPDX-License-Identifier: Apache-2.0
// Recording twins of streaming products whose operands warps copy with cp.async (sm_80).
#include "learn/trace/twins/fp64_twin.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<twin> twins_of_fp64_async() { return twins_from_table<fp64::kernels_by_cp_async, fp64_twins>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
