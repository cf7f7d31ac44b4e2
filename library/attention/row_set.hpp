// SPDX-License-Identifier: Apache-2.0
// Rows in memory by their strides, and whether two sets of them touch.
#pragma once
#include <array>
#include <cstdint>

namespace antiphase::attentions {

struct row_dimension {
  std::int64_t extent = 1, stride = 0;  // the stride in bytes, 0 or more
};
// Rows of `bytes` bytes, one for each index within the extents.
struct row_set {
  std::uintptr_t address = 0;
  std::array<row_dimension, 4> dimensions = {};
  std::int64_t bytes = 0;

  bool empty() const;
  std::int64_t span() const;  // bytes from the first one to after the last
};

// No two rows of the set share a byte, if strides nest: each is at least what the smaller ones span.
bool rows_nest(const row_set& a);

// True if a byte belongs to both. Interleaved sets, such as Q, K and V of one array, are separated exactly,
// up to a limit of steps that only sets of very many rows with unrelated strides reach; those count as apart.
bool overlap(const row_set& a, const row_set& b);

}  // namespace antiphase::attentions
