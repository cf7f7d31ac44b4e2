// SPDX-License-Identifier: Apache-2.0
// The tables of kernels that multiply split operands, and of passes that split them: lists of instances and
// recording twins are made of them.
#pragma once
#include "library/gemm/fp16/pass/split_pass.hpp"
#include "library/gemm/fp16/split_product.hpp"

namespace antiphase::gemms {

struct fp16_kernel {
  const char* name;
  product_policy policy;
  bool drawn = false;  // in the documentation and in tests: its recording twin is always built
};
inline product_instance instance_of(const fp16_kernel& row, kernel code) {
  return {.policy = row.policy, .code = code};
}
struct split_pass_kernel {
  const char* name;
  split_policy policy;
};
inline split_pass_instance instance_of(const split_pass_kernel& row, kernel code) {
  return {.policy = row.policy, .kernel = code};
}

namespace fp16 {

// By warpgroups (sm_90a), named by the blocks of a cluster, which share a tile.
constexpr fp16_kernel by_warpgroups[] = {
    {.name = "gemm.fp16", .policy = {}, .drawn = true},
    {.name = "gemm.fp16-2", .policy = {.stages = 6, .cluster = 2}, .drawn = true},
    {.name = "gemm.fp16-4", .policy = {.stages = 5, .cluster = 4}, .drawn = true},
    {.name = "gemm.fp16-8", .policy = {.stages = 5, .cluster = 8}, .drawn = true}};
// For rows with the same bits whatever the batch.
constexpr fp16_kernel ordered_by_warpgroups[] = {{.name = "gemm.fp16-ordered", .policy = {.ordered = true}}};
constexpr fp16_kernel ordered_by_warps[] = {
    {.name = "gemm.fp16-mma-ordered",
     .policy = {.stages = split_mma_policy.stages, .multiplier = multiplier::warps, .ordered = true}}};
// By warps (sm_80).
constexpr fp16_kernel by_warps[] = {{.name = "gemm.fp16-mma", .policy = split_mma_policy}};

// The pass that splits, for devices with clusters (sm_90), and without (sm_80).
constexpr split_pass_kernel passes[] = {{.name = "gemm.fp16-split-brief", .policy = split_brief},
                                        {.name = "gemm.fp16-split-thirds", .policy = split_thirds},
                                        {.name = "gemm.fp16-split-short", .policy = split_short},
                                        {.name = "gemm.fp16-split-medium", .policy = split_medium},
                                        {.name = "gemm.fp16-split-long", .policy = split_long}};
constexpr split_pass_kernel passes_alone[] = {{.name = "gemm.fp16-split-alone", .policy = split_alone}};

}  // namespace fp16
}  // namespace antiphase::gemms
