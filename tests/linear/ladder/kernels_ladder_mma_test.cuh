// SPDX-License-Identifier: Apache-2.0
// The kernel of linear layers by whole warps, as a step of the ladder, for the tests.
#include "library/linear/mma_product.cuh"
#include "tests/linear/ladder/ladder_instances.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <linears::mma_policy P> tensor_instance mma_instance_of(const char* name) {
  return {{name, "", feeding::threads, {P.tile, P.tile}, P.step, P.stages},
          kernel_of<linears::mma_product<P>>(name)};
}

std::vector<tensor_instance> tensor_instances() {
  return {mma_instance_of<linears::mma_policy{false, 64, 1, 64}>("tensor-core-64-1"),
          mma_instance_of<linears::mma_policy{false, 64, 2, 32, true, true}>("tensor-core-64-2"),
          mma_instance_of<linears::mma_policy{false, 128, 3, 64, true, true}>("tensor-core-128-64-3"),
          mma_instance_of<linears::large_mma(false, 4, true)>("tensor-core-128-4")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
