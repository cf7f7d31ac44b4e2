// SPDX-License-Identifier: Apache-2.0
// The lists of kernels that split operands, and that multiply what was split.
#pragma once
#include "core/registry.hpp"
#include "library/gemm/fp16/pass/split_pass.hpp"
#include "library/gemm/fp16/split_product.hpp"

#define AP_FP16_LISTS(LIST)                          \
  LIST(product_instance, split_kernels)              \
  LIST(product_instance, split_kernels_in_order)     \
  LIST(product_instance, split_mma_kernels)          \
  LIST(product_instance, split_mma_kernels_in_order) \
  LIST(split_pass_instance, split_pass_kernels)      \
  LIST(split_pass_instance, split_pass_alone_kernels)

namespace antiphase::gemms {

AP_LISTS(fp16_lists, AP_FP16_LISTS)

}  // namespace antiphase::gemms
