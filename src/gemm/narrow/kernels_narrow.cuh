// SPDX-License-Identifier: Apache-2.0
// The kernels of policy narrow (sm_90a).
#pragma once
#include <vector>
#include "src/gemm/narrow/narrow_product.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <narrow_policy P> narrow_instance narrow_instance_of(const char* name) { return {P, kernel_of<narrow_product<P>>(name)}; }

std::vector<narrow_instance> narrow_kernels() {
  return {narrow_instance_of<narrow_policy{true, true}>("gemm.narrow-kk"), narrow_instance_of<narrow_policy{true, false}>("gemm.narrow-kn"),
          narrow_instance_of<narrow_policy{false, true}>("gemm.narrow-nk"),
          narrow_instance_of<narrow_policy{false, false}>("gemm.narrow-nn"),
          narrow_instance_of<narrow_policy{true, true, stream_loader::threads}>("gemm.narrow-async")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
