// SPDX-License-Identifier: Apache-2.0
// Recording twins of streaming products whose operands warps copy with cp.async (sm_80).
#include "src/trace/fp64_twin.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<twin> twins_of_fp64_async() { return fp64_twins<fp64::kernels_by_cp_async>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
