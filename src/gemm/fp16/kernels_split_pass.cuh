// SPDX-License-Identifier: Apache-2.0
// The split pass for devices with clusters (sm_90).
#include "src/gemm/fp16/split_pass.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<split_pass_instance> split_pass_kernels() {
  return {{split_brief, kernel_of<split_pass<split_brief>>("gemm.split-brief")},
          {split_thirds, kernel_of<split_pass<split_thirds>>("gemm.split-thirds")},
          {split_short, kernel_of<split_pass<split_short>>("gemm.split-short")},
          {split_medium, kernel_of<split_pass<split_medium>>("gemm.split-medium")},
          {split_long, kernel_of<split_pass<split_long>>("gemm.split-long")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
