// SPDX-License-Identifier: Apache-2.0
// The lists of kernels of the ladder on Tensor Cores.
#pragma once
#include <antiphase/gemm/tensor_core_ladder.hpp>

#include "src/registry.hpp"

#define AP_F16_LISTS(LIST)                        \
  LIST(tensor_core_instance, tensor_core_kernels) \
  LIST(tensor_core_instance, tensor_core_tma_kernels)

namespace antiphase::gemms {

AP_LISTS(f16_lists, AP_F16_LISTS)

}  // namespace antiphase::gemms
