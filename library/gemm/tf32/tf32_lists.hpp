// SPDX-License-Identifier: Apache-2.0
// List of the kernels that multiply in TF32.
#pragma once
#include "core/registry.hpp"
#include "library/gemm/tf32/tf32_product.hpp"

#define AP_TF32_LISTS(LIST) LIST(tf32_instance, tf32_kernels) LIST(tf32_instance, tf32_pieces_kernels)

namespace antiphase::gemms {

AP_LISTS(tf32_lists, AP_TF32_LISTS)

}  // namespace antiphase::gemms
