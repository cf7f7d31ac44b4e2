// SPDX-License-Identifier: Apache-2.0
// Table of the tf32 kernels: source of the lists of instances and recording twins.
#pragma once
#include "library/gemm/tf32/tf32_product.hpp"

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

// Products whose rows have the same bits whatever the batch. Named by the layout of the long operand, and by
// the most lines of the short one.
constexpr tf32_policy pieces_of(bool long_along_k, int columns) {
  return {.long_along_k = long_along_k, .short_along_k = true, .columns = columns};
}
constexpr tf32_kernel in_pieces[] = {{.name = "gemm.tf32-pieces-k-8", .policy = pieces_of(true, 8)},
                                     {.name = "gemm.tf32-pieces-n-8", .policy = pieces_of(false, 8)},
                                     {.name = "gemm.tf32-pieces-k-32", .policy = pieces_of(true, 32)},
                                     {.name = "gemm.tf32-pieces-n-32", .policy = pieces_of(false, 32)},
                                     {.name = "gemm.tf32-pieces-k-64", .policy = pieces_of(true, 64)},
                                     {.name = "gemm.tf32-pieces-n-64", .policy = pieces_of(false, 64)}};

}  // namespace tf32
}  // namespace antiphase::gemms
