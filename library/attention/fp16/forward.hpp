// SPDX-License-Identifier: Apache-2.0
// Attention by FP16 parts, forward: its policies and params.
#pragma once
#include <antiphase/core/tensor_map.hpp>

#include "library/attention/fp16/split_pass.hpp"

namespace antiphase::attentions {

constexpr int rows_of_group = 64;  // queries of a computing warpgroup

struct forward_policy {
  int depth = 64;       // padded: one of fp16::depths
  int columns = depth;  // of these, that are multiplied: a multiple of 16
  int keys = 128;       // of a tile: 64 or 128
  int slots = 5;        // of the ring, each with keys x 64 elements of K or V
  int groups = 2;       // computing warpgroups
  bool biased = false;  // adds a bias, and hides keys by problem::visible where it is given
  bool hidden = false;  // hides keys by problem::visible, without a bias
  constexpr int queries() const { return groups * rows_of_group; }
  constexpr bool operator==(const forward_policy&) const = default;
};

struct forward_params {
  tensor_map q, k, v;  // the parts
  attentions::problem problem;
  wide_factor factor;  // |scale| log2(e), of products of Q and K: a negative scale's sign is Q's
  split_shape queries, keys;
  const float *q_scale, *k_scale;    // [head][tile]
  const float* v_scale;              // [kv head][tile][padded depth], times 2^-15
  const std::uint32_t *flags, *far;  // [member][kv head]: see contract_params
  visible_bits visible;
  std::uint32_t* next_item;
  std::int32_t tiles;  // of queries, of a member
};

// The boxes of the maps: 64 elements, `rows` rows, hi and lo.
inline tensor_layout parts_layout(const split_operand& o, int depth, int rows) {
  const std::uint64_t row = sizeof(f16) * static_cast<unsigned>(depth),
                      part = row * static_cast<std::uint64_t>(o.shape.tiles) * split_rows;
  return {.data = o.parts,
          .element_bytes = sizeof(f16),
          .dimensions = 4,
          .extent = {static_cast<unsigned>(depth), static_cast<std::uint64_t>(o.shape.tiles) * split_rows, 2,
                     static_cast<unsigned>(o.count)},
          .stride = {0, row, part, 2 * part},
          .box = {64, static_cast<unsigned>(rows), 2, 1},
          .pattern = swizzle::bytes_128};
}

struct forward_instance {
  forward_policy policy;
  kernel code;
};

}  // namespace antiphase::attentions
