// SPDX-License-Identifier: Apache-2.0
// Lists of the kernels with FP64 sums.
#pragma once
#include "core/registry.hpp"
#include "library/gemm/fp64/dots/dots_product.hpp"
#include "library/gemm/fp64/fp64_product.hpp"
#include "library/gemm/fp64/short/short_product.hpp"

#define AP_FP64_LISTS(LIST)                \
  LIST(fp64_instance, fp64_kernels)        \
  LIST(fp64_instance, fp64_async_kernels)  \
  LIST(fp64_instance, fp64_finish_kernels) \
  LIST(fp64_instance, fp64_lanes_kernels)  \
  LIST(short_instance, short_kernels)      \
  LIST(dots_instance, dots_kernels)

namespace antiphase::gemms {

AP_LISTS(fp64_lists, AP_FP64_LISTS)

}  // namespace antiphase::gemms
