// SPDX-License-Identifier: Apache-2.0
// Instances of the Tensor Core kernel of warpgroups for the tests.
#include "src/gemm/f16_ladder/tensor_core_tma.cuh"
#include "tests/gemm/f16_ladder/tensor_instances.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <warpgroup_policy P> tensor_instance tma_instance_of(const char* name) {
  return {step_of(name, "", P), kernel_of<tensor_core_tma<P>>(name)};
}

std::vector<tensor_instance> tensor_tma_instances() {
  return {tma_instance_of<warpgroup_policy{.columns = 64, .stages = 2}>("tensor-core-tma-64-2"),
          tma_instance_of<warpgroup_policy{.columns = 128, .stages = 3}>("tensor-core-tma-128-3")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
