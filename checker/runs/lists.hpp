// SPDX-License-Identifier: Apache-2.0
// The library's own kernels, compiled for the checker.
#pragma once
#include "library/attention/attention_lists.hpp"
#include "library/gemm/fp16/fp16_lists.hpp"
#include "library/gemm/fp32/fp32_lists.hpp"
#include "library/gemm/fp64/fp64_lists.hpp"
#include "library/gemm/operands/finish/finish_lists.hpp"
#include "library/gemm/tf32/tf32_lists.hpp"
#include "library/linear/linear_lists.hpp"
#include "library/scan/registry.hpp"

// All lists of products: LIST(instance, list) of each.
#define AP_GEMM_LISTS(LIST) \
  AP_FP32_LISTS(LIST)       \
  AP_FP64_LISTS(LIST) AP_FP16_LISTS(LIST) AP_TF32_LISTS(LIST) AP_FINISH_LISTS(LIST)

namespace antiphase::checker_detail {

// Registers these kernels for gemm(), attention(), linear() and scan() on a checking executor. May be called
// any number of times, from any thread.
void enter_checked_kernels();

}  // namespace antiphase::checker_detail
