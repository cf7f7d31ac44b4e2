// SPDX-License-Identifier: Apache-2.0
// The lists of kernels of the GEMM ladder.
#pragma once
#include <antiphase/gemm/ladder.hpp>

#include "core/registry.hpp"

#define AP_FP32_LISTS(LIST)      \
  LIST(instance, plain_kernels)  \
  LIST(instance, async_kernels)  \
  LIST(instance, vector_kernels) \
  LIST(instance, strict_kernels)

namespace antiphase::gemms {

AP_LISTS(fp32_lists, AP_FP32_LISTS)

}  // namespace antiphase::gemms
