// SPDX-License-Identifier: Apache-2.0
// The split pass for devices without clusters (sm_80).
#include "src/gemm/fp16/split_pass.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<split_pass_instance> split_pass_alone_kernels() {
  return {{split_alone, kernel_of<split_pass<split_alone>>("gemm.split-alone")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
