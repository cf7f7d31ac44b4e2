// SPDX-License-Identifier: Apache-2.0
// The list of the finishing pass's kernels (sm_75).
#pragma once
#include <vector>
#include "library/gemm/operands/finish/finish_pass.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<finish_instance> finish_kernels() { return {{kernel_of<finish_pass>("gemm.finish")}}; }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
