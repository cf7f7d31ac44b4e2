// SPDX-License-Identifier: Apache-2.0
// Products of different shapes in one launch: the kernel's arguments.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <cstdint>

#include "src/gemm/fp64/fp64_product.hpp"
#include "src/gemm/operands/tiled_problem.hpp"

namespace antiphase::gemms {

// One product of the group: a tiled_problem without TMA, cluster, parts and epilogue. It is small, since
// members are kernel arguments: each matrix is contiguous along one index, and has the stride `..._apart`, in
// floats, along the other one.
struct group_member {
  const float* of_long;
  const float* of_short;
  float* c;
  std::int32_t long_apart, short_apart, c_apart;
  std::int32_t long_lines, short_lines, k;
  std::uint32_t first;  // number of its first tile in the group
  float alpha, beta;
  // Whether operands are contiguous along k; whether they allow copies of 16 bytes; whether C is contiguous
  // along lines of the short operand. packs: how C is stored.
  bool long_along_k : 1, short_along_k : 1, long_wide : 1, short_wide : 1, c_along_short : 1;
  packing packs;
};
static_assert(sizeof(group_member) <= 64);

// Members of a small group are arguments of the launch; those of a larger one are in the workspace, where
// launches of group_table write them.
constexpr int group_inline = 63;
struct group_problem {
  const group_member* table;  // null: `member`
  std::int32_t count;
  std::uint32_t tiles;  // of all
  group_member member[group_inline];
};
struct group_table_problem {
  group_member* table;
  std::int32_t count;
  group_member member[group_inline];
};

struct group_instance {
  fp64_policy policy;
  kernel code;
};
// Writes members to the workspace. They are arguments, so that a CUDA graph keeps them.
struct group_table_instance {
  kernel code;
};

}  // namespace antiphase::gemms
