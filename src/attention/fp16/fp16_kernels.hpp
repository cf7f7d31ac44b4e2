// SPDX-License-Identifier: Apache-2.0
// The tables of attention's kernels on Tensor Cores, and of the passes that split their operands.
#pragma once
#include "src/attention/fp16/forward.hpp"
#include "src/attention/fp16/split_pass.hpp"

namespace antiphase::attentions::fp16 {

struct forward_row {
  const char* name;
  forward_policy how;
};
constexpr forward_row forward[] = {
    {.name = "attention.fp16-64", .how = {.depth = 64}},
    {.name = "attention.fp16-128", .how = {.depth = 128, .apart = false}},
    {.name = "attention.fp16-64-biased", .how = {.depth = 64, .biased = true}},
    {.name = "attention.fp16-128-biased", .how = {.depth = 128, .apart = false, .biased = true}},
    // the ladder's step before
    {.name = "attention.roles-64", .how = {.depth = 64, .groups = 1}},
    {.name = "attention.roles-128", .how = {.depth = 128, .groups = 1, .apart = false}}};

}  // namespace antiphase::attentions::fp16
