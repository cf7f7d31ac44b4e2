// SPDX-License-Identifier: Apache-2.0
// Gradients of short sequences by FP16 parts, in one kernel: their params.
#pragma once
#include "src/attention/fp16/short.hpp"
#include "src/attention/fp32_kernels.hpp"

namespace antiphase::attentions {

struct short_gradient_params {
  attentions::problem problem;  // with the softmax or the logsumexp
  row_gradients results;
  written_pairs bias_gradient;
  wide_factor to_score;  // |scale| log2(e)
  float most_logit;      // see judge_params
  std::int32_t key_blocks;
  std::int32_t query_tiles;  // of a member with blocks of queries; 0: no member has more than 64 keys
  bool q_in_vectors, k_in_vectors, v_in_vectors, out_in_vectors, gradient_in_vectors;
};

struct short_gradient_instance {
  short_policy policy;
  kernel code;
};

}  // namespace antiphase::attentions
