// SPDX-License-Identifier: Apache-2.0
// The GEMM kernels that need nothing newer than sm_75.
#include <antiphase/gemm/ladder.hpp>
#include "library/gemm/fp32/naive.cuh"
#include "library/gemm/fp32/tiled.cuh"

#include "library/gemm/fp32/kernels/kernel_list.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<instance> plain_kernels() {
  std::vector<instance> list{{"naive", steps[0].policy, kernel_of<naive>("gemm.naive")}};
  add_general_steps<copy_kind::registers>(list);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
