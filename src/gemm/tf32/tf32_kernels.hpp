// SPDX-License-Identifier: Apache-2.0
// The table of kernels that multiply in TF32: lists of instances and recording twins are made of it.
#pragma once
#include "src/gemm/tf32/tf32_product.hpp"

namespace antiphase::gemms {

struct tf32_kernel {
  const char* name;
  tf32_policy how;
  bool drawn = false;  // in the documentation and in tests: its recording twin is always built
};
inline tf32_instance instance_of(const tf32_kernel& row, kernel code) {
  return {.how = row.how, .code = code};
}

namespace tf32 {

// Named by how the long operand lies, then the short one: along k, or across.
constexpr tf32_kernel rings[] = {
    {.name = "gemm.tf32-kk", .how = {.long_along_k = true, .short_along_k = true}, .drawn = true},
    {.name = "gemm.tf32-kn", .how = {.long_along_k = true, .short_along_k = false}, .drawn = true},
    {.name = "gemm.tf32-nk", .how = {.long_along_k = false, .short_along_k = true}, .drawn = true},
    {.name = "gemm.tf32-nn", .how = {.long_along_k = false, .short_along_k = false}, .drawn = true},
    {.name = "gemm.tf32-async",
     .how = {.long_along_k = true, .short_along_k = true, .by = loader::cp_async},
     .drawn = true}};

constexpr tf32_policy kept_along_k(int halves) {
  return {.long_along_k = true, .short_along_k = true, .by = loader::tma, .kept_halves = halves};
}
constexpr tf32_policy kept_across_k(int halves) {
  return {.long_along_k = false, .short_along_k = true, .by = loader::tma, .kept_halves = halves};
}
// The short operand stays in shared memory. Named by how the long one lies, and by the most k.
constexpr tf32_kernel keeping[] = {{.name = "gemm.tf32-kept-k-16", .how = kept_along_k(1)},
                                   {.name = "gemm.tf32-kept-n-16", .how = kept_across_k(1)},
                                   {.name = "gemm.tf32-kept-k-32", .how = kept_along_k(2)},
                                   {.name = "gemm.tf32-kept-n-32", .how = kept_across_k(2)},
                                   {.name = "gemm.tf32-kept-k-64", .how = kept_along_k(4)},
                                   {.name = "gemm.tf32-kept-n-64", .how = kept_across_k(4)}};

}  // namespace tf32
}  // namespace antiphase::gemms
