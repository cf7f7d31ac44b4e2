// SPDX-License-Identifier: Apache-2.0
// Products of different shapes in one launch: what a kernel is handed.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <cstdint>

#include "src/gemm/stream/stream_product.hpp"

namespace antiphase::gemms {

// One product of the group, as a stream_problem without copy engine, cluster, parts and epilogue. Strides count floats.
struct group_member {
  const float* of_long;
  const float* of_short;
  float* c;
  std::int64_t long_line, long_k, short_line, short_k;  // strides of the operands
  std::int64_t c_long, c_short;                         // of C, from line to line of each operand
  std::int32_t long_lines, short_lines, k;
  std::uint32_t first;  // of its tiles, among those of the group
  float alpha, beta;
  bool long_along_k, short_along_k;
  std::uint8_t long_width, short_width;
  stream_packs packs;
};

// Members of a small group go with the launch; those of a larger one lie in the workspace, where launches of group_table bring them.
constexpr int group_inline = 36;
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
  stream_policy how;
  kernel code;
};
// Writes members to the workspace. They come as arguments, so that a graph keeps them.
struct group_table_instance {
  kernel code;
};

}  // namespace antiphase::gemms
