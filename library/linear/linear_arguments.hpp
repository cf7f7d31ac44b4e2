// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels of linear layers, and the policies that select one.
#pragma once
#include <antiphase/core/element.hpp>
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <antiphase/linear.hpp>
#include <cstdint>

namespace antiphase::linears {

// The steps of the ladder on Tensor Cores are kernels of linear layers, too.
using gemms::tensor_core_instance;

constexpr int depth = 64;  // k of a row of a slot: 128 bytes, a row of the swizzle

// 64 `groups` rows of X by `columns` rows of W, a multiple of 8; of 64 if one of the operands lies across k:
// its rows are neighbours, instead of the k of a row.
struct tile_policy {
  bool of_bf16;
  int groups, columns;
  bool x_across = false, w_across = false;
  int slots = 0;  // of the ring; 0: as many as fit, in all but the steps of the ladder
  // Blocks of a cluster, whose tiles are neighbors along W and have the same rows of X: each loads a part of
  // these for all. Not for an X across k.
  int cluster = 1;
};
// A step of the ladder: B as it is in a product, row-major.
constexpr tile_policy ladder_tile(int slots) {
  return {.of_bf16 = false, .groups = 2, .columns = 256, .w_across = true, .slots = slots};
}
// The same by mma.sync and cp.async.
struct mma_policy {
  bool of_bf16;
  int tile = 64;              // rows of X, and of W; 64 or 128
  int stages = 3, step = 64;  // of the ring; k of one of its slots, 32 or 64
  bool w_across = false;
  bool whole_pieces = false;  // operands that can be copied by 16 bytes alone; without it, they lie anyhow
};
constexpr mma_policy large_mma(bool of_bf16, int stages, bool w_across) {
  return {of_bf16, 128, stages, 32, w_across, true};
}

struct arguments {
  // of tiles: k, rows, members; and 64 k or all, rows, blocks of 64 k or one, members. Across k: rows, k,
  // members
  tensor_map x_map, w_map;
  linear_operand x, w;
  linear_rows<void> y;
  linear_rows<const void> residual;
  const void* bias;
  std::int64_t bias_member_stride;
  const std::int32_t* group_ends;
  int m, n, k, members;
  int blocks;          // of 64 k
  int loaded_rows;     // of X, by a tile
  int whole_blocks;    // 1: k is a multiple of 64, and several blocks come by one copy
  int w_complete;      // 1: no kernel that still runs writes W
  int x_step, w_step;  // from member to member of a map; 0: all have the same
  bool rows_aligned;   // along k, by pieces of 16 bytes: for mma
  element out;
  bool by_fours;  // rows of Y and residual can be accessed by four elements at a time
  gemms::activation function;
  int down, across;  // tiles of a member; not of groups
};

struct tile_instance {
  tile_policy policy;
  kernel code;
};
inline tile_instance instance_of(const auto& row, const kernel& code) requires requires {
  row.policy.columns;
}
{ return {row.policy, code}; }
struct mma_instance {
  mma_policy policy;
  kernel code;
};

}  // namespace antiphase::linears
