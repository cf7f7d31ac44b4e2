// SPDX-License-Identifier: Apache-2.0
// The table of head dimensions that attention's kernels on Tensor Cores are compiled for.
#pragma once
#include <cstdint>
#include <iterator>

namespace antiphase::attentions::fp16 {

// Rows of other lengths are padded to the next depth: ascending, multiples of 64. The passes that split the
// operands of a depth are made from its row; fp16_kernels.hpp has its policies.
struct depth_row {
  int depth;
  const char *split, *gradient_split;  // kernels' names
};
inline constexpr depth_row depths[] = {{64, "attention.split-64", "attention.split-64-gradients"},
                                       {128, "attention.split-128", "attention.split-128-gradients"}};
inline constexpr int most_depth = std::end(depths)[-1].depth;

// The depth of the kernels for rows of `depth` elements, at most most_depth.
constexpr int padded_depth(std::int64_t depth) {
  for (const depth_row& row : depths)
    if (depth <= row.depth) return row.depth;
  return most_depth;
}

}  // namespace antiphase::attentions::fp16
