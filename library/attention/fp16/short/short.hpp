// SPDX-License-Identifier: Apache-2.0
// Attention of short sequences by FP16 parts, in one kernel: its policies and params.
#pragma once
#include <antiphase/executor/kernel.hpp>

#include "library/attention/fp16/split_pass.hpp"

namespace antiphase::attentions {

struct short_policy {
  int columns;          // of rows, padded: 32, 64, 128 or 256
  bool biased = false;  // adds a bias, or hides keys by problem::visible, or both
  int groups = 1;       // warpgroups of a block, each with as many columns of the outputs
  constexpr int warps() const { return 4 * groups; }
  constexpr bool operator==(const short_policy&) const = default;
};

struct short_params {
  attentions::problem problem;
  wide_factor factor;                             // |scale| log2(e)
  float most_logit;                               // see contract_params
  std::int32_t tiles;                             // of queries, of a member
  bool q_in_vectors, k_in_vectors, v_in_vectors;  // rows are read in pieces of 16 bytes
};

struct short_instance {
  short_policy policy;
  kernel code;
};

}  // namespace antiphase::attentions
