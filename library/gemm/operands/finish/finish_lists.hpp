// SPDX-License-Identifier: Apache-2.0
// The list of finishing passes.
#pragma once
#include "core/registry.hpp"
#include "library/gemm/operands/finish/finish_pass.hpp"

#define AP_FINISH_LISTS(LIST) LIST(finish_instance, finish_kernels)

namespace antiphase::gemms {

AP_LISTS(finish_lists, AP_FINISH_LISTS)

}  // namespace antiphase::gemms
