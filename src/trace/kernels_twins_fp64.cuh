// SPDX-License-Identifier: Apache-2.0
// Recording twins of streaming products fed by TMA (sm_90a).
#include "src/trace/fp64_twin.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<twin> twins_of_fp64() { return fp64_twins<fp64::kernels_by_tma>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
