// SPDX-License-Identifier: Apache-2.0
// Products of different shapes in one launch: what a kernel is handed.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <cstdint>

#include "src/gemm/fp64/fp64_product.hpp"

namespace antiphase::gemms {

// One product of the group, as a tiled_problem without copy engine, cluster, parts and epilogue. Small,
// since members travel as arguments: in each matrix elements lie side by side along one index, and along the
// other one as far apart as `apart` says, in floats.
struct group_member {
  const float* of_long;
  const float* of_short;
  float* c;
  std::int32_t long_apart, short_apart, c_apart;
  std::int32_t long_lines, short_lines, k;
  std::uint32_t first;  // of its tiles, among those of the group
  float alpha, beta;
  // Lines side by side along k? Copies of 16 bytes? C's neighbours along lines of the short operand? How it
  // is stored.
  bool long_along_k : 1, short_along_k : 1, long_wide : 1, short_wide : 1, c_along_short : 1;
  packing packs;
};
static_assert(sizeof(group_member) <= 64);

// Members of a small group go with the launch; those of a larger one lie in the workspace, where launches of
// group_table bring them.
constexpr int group_inline = 63;
struct group_problem {
  const group_member* table;  // null: `member`
  std::int32_t count;
  std::uint32_t tiles;  // of all
  group_member member[group_inline];
};
struct group_table_problem {
  group_member* to;
  std::int32_t count;
  group_member member[group_inline];
};

struct group_instance {
  fp64_policy how;
  kernel code;
};
// Writes members to the workspace. They come as arguments, so that a graph keeps them.
struct group_table_instance {
  kernel code;
};

}  // namespace antiphase::gemms
