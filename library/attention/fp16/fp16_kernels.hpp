// SPDX-License-Identifier: Apache-2.0
// The tables of attention's kernels on Tensor Cores, and of the passes that split their operands.
#pragma once
#include <iterator>

#include "library/attention/fp16/depths.hpp"
#include "library/attention/fp16/forward.hpp"
#include "library/attention/fp16/gradients/backward.hpp"
#include "library/attention/fp16/gradients/short_gradients.hpp"
#include "library/attention/fp16/short/short.hpp"
#include "library/attention/fp16/split_pass.hpp"

namespace antiphase::attentions::fp16 {

struct forward_row {
  const char* name;
  forward_policy policy;
  bool drawn = true;  // has a twin that records a timeline
};
constexpr forward_row forward[] = {
    {.name = "attention.fp16-32", .policy = {.depth = 64, .columns = 32}, .drawn = false},
    {.name = "attention.fp16-48", .policy = {.depth = 64, .columns = 48}, .drawn = false},
    {.name = "attention.fp16-64", .policy = {.depth = 64}},
    {.name = "attention.fp16-96", .policy = {.depth = 128, .columns = 96}, .drawn = false},
    {.name = "attention.fp16-128", .policy = {.depth = 128}},
    {.name = "attention.fp16-64-biased", .policy = {.depth = 64, .biased = true}, .drawn = false},
    {.name = "attention.fp16-128-biased", .policy = {.depth = 128, .biased = true}, .drawn = false},
    {.name = "attention.fp16-64-hidden", .policy = {.depth = 64, .hidden = true}, .drawn = false},
    {.name = "attention.fp16-128-hidden", .policy = {.depth = 128, .hidden = true}, .drawn = false},
    // the ladder's step before
    {.name = "attention.roles-64", .policy = {.depth = 64, .groups = 1}},
    {.name = "attention.roles-128", .policy = {.depth = 128, .groups = 1}}};

// The columns that a forward kernel multiplies of rows of `depth` elements, at most most_depth.
constexpr int forward_columns(std::int64_t depth, int groups, bool biased, bool hidden) {
  int fewest = most_depth;
  for (const auto& [name, policy, drawn] : forward)
    if (policy.groups == groups && policy.biased == biased && policy.hidden == hidden &&
        policy.columns >= depth && policy.columns < fewest)
      fewest = policy.columns;
  return fewest;
}

struct short_entry {
  const char* name;
  short_policy policy;
};
// Columns ascend: the first that hold a row are taken.
constexpr short_entry short_sequences[] = {
    {.name = "attention.fp16-short-32", .policy = {.columns = 32}},
    {.name = "attention.fp16-short-64", .policy = {.columns = 64}},
    {.name = "attention.fp16-short-128", .policy = {.columns = 128}},
    {.name = "attention.fp16-short-256", .policy = {.columns = 256, .groups = 2}},
    {.name = "attention.fp16-short-32-biased", .policy = {.columns = 32, .biased = true}},
    {.name = "attention.fp16-short-64-biased", .policy = {.columns = 64, .biased = true}},
    {.name = "attention.fp16-short-128-biased", .policy = {.columns = 128, .biased = true}},
    {.name = "attention.fp16-short-256-biased", .policy = {.columns = 256, .biased = true, .groups = 2}}};

constexpr short_entry short_gradients[] = {
    {.name = "attention.fp16-short-32-gradients", .policy = {.columns = 32}},
    {.name = "attention.fp16-short-64-gradients", .policy = {.columns = 64}},
    {.name = "attention.fp16-short-32-gradients-biased", .policy = {.columns = 32, .biased = true}},
    {.name = "attention.fp16-short-64-gradients-biased", .policy = {.columns = 64, .biased = true}}};

// Elements of the rows whose gradients they compute, at most.
constexpr int most_short_gradient = std::end(short_gradients)[-1].policy.columns;

struct gradient_row {
  const char* name;
  gradient_policy policy;
};
constexpr gradient_row gradients[] = {
    {.name = "attention.fp16-64-keys", .policy = {.side = side::keys, .depth = 64, .registers = 240}},
    {.name = "attention.fp16-64-queries", .policy = {.side = side::queries, .depth = 64, .held = 4}},
    {.name = "attention.fp16-128-keys",
     .policy = {.side = side::keys, .depth = 128, .slots = 4, .items = 1, .shared = true}},
    {.name = "attention.fp16-128-queries",
     .policy = {.side = side::queries, .depth = 128, .slots = 3, .items = 1, .held = 0}},
    {.name = "attention.fp16-64-keys-biased",
     .policy = {.side = side::keys, .depth = 64, .held = 0, .biased = true}},
    {.name = "attention.fp16-64-queries-biased",
     .policy = {.side = side::queries, .depth = 64, .held = 4, .biased = true}},
    {.name = "attention.fp16-128-keys-biased",
     .policy = {.side = side::keys, .depth = 128, .slots = 4, .items = 1, .shared = true, .biased = true}},
    {.name = "attention.fp16-128-queries-biased",
     .policy = {.side = side::queries, .depth = 128, .slots = 3, .items = 1, .held = 0, .biased = true}}};

}  // namespace antiphase::attentions::fp16
