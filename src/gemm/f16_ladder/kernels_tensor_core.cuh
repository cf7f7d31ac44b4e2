// SPDX-License-Identifier: Apache-2.0
// The GEMM kernels on Tensor Cores that copy asynchronously (sm_80): f16 in, f32 out.
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <vector>
#include "src/gemm/f16_ladder/tensor_core.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<tensor_core_instance> tensor_core_kernels() {
  return {{"tensor-core-2", kernel_of<tensor_core<tensor_policy{.stages = 2}>>("gemm.tensor-core-2")},
          {"tensor-core-3", kernel_of<tensor_core<tensor_policy{.stages = 3}>>("gemm.tensor-core-3")},
          {"tensor-core-4", kernel_of<tensor_core<tensor_policy{.stages = 4}>>("gemm.tensor-core-4")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
