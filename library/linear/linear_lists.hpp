// SPDX-License-Identifier: Apache-2.0
// The lists of the kernels of linear layers: to add one, name it here and in library/CMakeLists.txt.
#pragma once
#include "core/registry.hpp"
#include "library/linear/linear_arguments.hpp"

#define AP_LINEAR_LISTS(LIST)                    \
  LIST(tile_instance, linear_tile_kernels)       \
  LIST(mma_instance, linear_mma_kernels)         \
  LIST(tensor_core_instance, ladder_mma_kernels) \
  LIST(tensor_core_instance, ladder_tile_kernels)

namespace antiphase::linears {

AP_LISTS(linear_lists, AP_LINEAR_LISTS)

}  // namespace antiphase::linears
