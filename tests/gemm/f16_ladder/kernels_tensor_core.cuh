// SPDX-License-Identifier: Apache-2.0
// Instances of the Tensor Core kernel for the tests.
#include "src/gemm/f16_ladder/tensor_core.cuh"
#include "tests/gemm/f16_ladder/tensor_instances.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <tensor_policy P> tensor_instance instance_of(const char* name) {
  return {step_of(name, "", P), kernel_of<tensor_core<P>>(name)};
}

std::vector<tensor_instance> tensor_instances() {
  return {instance_of<tensor_policy{.tile = {64, 64}, .warp = {32, 32}, .stages = 1}>("tensor-core-64-1"),
          instance_of<tensor_policy{.tile = {64, 64}, .warp = {32, 32}, .stages = 2}>("tensor-core-64-2"),
          instance_of<tensor_policy{.tile = {64, 128}, .tile_k = 64, .warp = {32, 64}, .stages = 3}>(
              "tensor-core-64-128-3"),
          instance_of<tensor_policy{.stages = 4}>("tensor-core-128-4")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
