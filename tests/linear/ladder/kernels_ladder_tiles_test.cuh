// SPDX-License-Identifier: Apache-2.0
// Instances of the kernel of linear layers, as a step of the ladder, for the tests.
#include "library/linear/tile_product.cuh"
#include "tests/linear/ladder/ladder_instances.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <linears::tile_policy P> tensor_instance tma_instance_of(const char* name) {
  return {{name, "", feeding::engine, {64 * P.groups, P.columns}, 64, P.slots},
          kernel_of<linears::tile_product<P>>(name)};
}

std::vector<tensor_instance> tensor_tma_instances() {
  return {tma_instance_of<linears::tile_policy{false, 1, 64, false, true, 1}>("tensor-core-tma-64-1"),
          tma_instance_of<linears::tile_policy{false, 2, 64, false, true, 2}>("tensor-core-tma-64-2"),
          tma_instance_of<linears::tile_policy{false, 2, 128, false, true, 3}>("tensor-core-tma-128-3")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
