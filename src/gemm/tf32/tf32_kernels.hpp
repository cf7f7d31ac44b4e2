// SPDX-License-Identifier: Apache-2.0
// Table of the tf32 kernels: source of the lists of instances and recording twins.
#pragma once
#include "src/gemm/tf32/tf32_product.hpp"

namespace antiphase::gemms {

struct tf32_kernel {
  const char* name;
  tf32_policy policy;
  bool drawn = false;  // in the documentation and in tests: its recording twin is always built
};
inline tf32_instance instance_of(const tf32_kernel& row, kernel code) {
  return {.policy = row.policy, .code = code};
}

namespace tf32 {

// Named by the layout of the long operand, then of the short one: k along k, n across.
constexpr tf32_kernel rings[] = {
    {.name = "gemm.tf32-kk", .policy = {.long_along_k = true, .short_along_k = true}, .drawn = true},
    {.name = "gemm.tf32-kn", .policy = {.long_along_k = true, .short_along_k = false}, .drawn = true},
    {.name = "gemm.tf32-nk", .policy = {.long_along_k = false, .short_along_k = true}, .drawn = true},
    {.name = "gemm.tf32-nn", .policy = {.long_along_k = false, .short_along_k = false}, .drawn = true},
    {.name = "gemm.tf32-async",
     .policy = {.long_along_k = true, .short_along_k = true, .loader = loader::cp_async},
     .drawn = true}};

constexpr tf32_policy kept_along_k(int halves) {
  return {.long_along_k = true, .short_along_k = true, .loader = loader::tma, .kept_halves = halves};
}
constexpr tf32_policy kept_across_k(int halves) {
  return {.long_along_k = false, .short_along_k = true, .loader = loader::tma, .kept_halves = halves};
}
// The short operand stays in shared memory. Named by the layout of the long one, and by the largest K.
constexpr tf32_kernel keeping[] = {{.name = "gemm.tf32-kept-k-16", .policy = kept_along_k(1)},
                                   {.name = "gemm.tf32-kept-n-16", .policy = kept_across_k(1)},
                                   {.name = "gemm.tf32-kept-k-32", .policy = kept_along_k(2)},
                                   {.name = "gemm.tf32-kept-n-32", .policy = kept_across_k(2)},
                                   {.name = "gemm.tf32-kept-k-64", .policy = kept_along_k(4)},
                                   {.name = "gemm.tf32-kept-n-64", .policy = kept_across_k(4)}};

}  // namespace tf32
}  // namespace antiphase::gemms
