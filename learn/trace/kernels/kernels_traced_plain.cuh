// SPDX-License-Identifier: Apache-2.0
// Recording GEMM kernels of the ladder for sm_75 and newer.
#include <antiphase/gemm/ladder.hpp>
#include <vector>
#include "learn/trace/twins/traced.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<instance> traced_plain_kernels() {
  std::vector<instance> list;
  add_traced_steps<copy_kind::registers>(list);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
