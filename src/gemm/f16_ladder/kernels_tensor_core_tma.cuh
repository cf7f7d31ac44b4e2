// SPDX-License-Identifier: Apache-2.0
// The GEMM kernel on Tensor Cores that the copy engine feeds (sm_90a): f16 in, f32 out.
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <vector>
#include "src/gemm/f16_ladder/tensor_core_tma.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<tensor_core_instance> tensor_core_tma_kernels() {
  return {{"tensor-core-tma", kernel_of<tensor_core_tma<warpgroup_policy{}>>("gemm.tensor-core-tma")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
