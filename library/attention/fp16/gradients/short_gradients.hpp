// SPDX-License-Identifier: Apache-2.0
// Gradients of short sequences by FP16 parts, in one kernel: their params.
#pragma once
#include "library/attention/fp16/short/short.hpp"
#include "library/attention/fp32/fp32_kernels.hpp"

namespace antiphase::attentions {

// `rows` rows in as few tiles of at most 64 as hold them, which begin at even rows and differ by at most two:
// of several tiles, each has at least 32 rows.
struct even_tiles {
  int rows, count;
  AP_FN constexpr explicit even_tiles(int of) : rows(of), count((of + split_rows - 1) / split_rows) {}
  AP_FN constexpr int first(int tile) const {
    return count <= 1 ? tile * split_rows : 2 * static_cast<int>(std::int64_t{tile} * pairs() / count);
  }
  AP_FN constexpr int end(int tile) const { return tile + 1 < count ? first(tile + 1) : rows; }
  // The tile of a row; of one after the end, the last.
  AP_FN constexpr int of(int row) const {
    if (count <= 1) return row / split_rows;
    const auto after = static_cast<int>((std::int64_t{row / 2 + 1} * count + pairs() - 1) / pairs());
    return (after < count ? after : count) - 1;
  }

 private:
  AP_FN constexpr int pairs() const { return (rows + 1) / 2; }
};

struct short_gradient_params {
  attentions::problem problem;  // with the softmax or the logsumexp
  row_gradients results;
  written_pairs bias_gradient;
  wide_factor to_score;  // |scale| log2(e)
  float most_logit;      // see contract_params
  std::int32_t key_blocks;
  std::int32_t query_tiles;  // of a member with blocks of queries; 0: no member has more than 64 keys
  bool q_in_vectors, k_in_vectors, v_in_vectors, out_in_vectors, gradient_in_vectors;
};

struct short_gradient_instance {
  short_policy policy;
  kernel code;
};

}  // namespace antiphase::attentions
