// SPDX-License-Identifier: Apache-2.0
// The GEMM kernels that copy asynchronously (sm_80), up to double-buffered registers.
#include <antiphase/gemm/ladder.hpp>
#include "library/gemm/fp32/tiled.cuh"

#include "library/gemm/fp32/kernels/kernel_list.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<instance> async_kernels() {
  std::vector<instance> list;
  add_general_steps<copy_kind::asynchronous>(list);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
