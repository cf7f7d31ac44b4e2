// SPDX-License-Identifier: Apache-2.0
// Products of split operands: what is asked, and the values that select a kernel.
#pragma once
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/problem.hpp>
#include "library/gemm/fp16/split_operand.hpp"
#include "library/gemm/operands/finish/ending.hpp"

namespace antiphase::gemms {

// Who multiplies:
//   warpgroups  wgmma, fed by TMA (sm_90a); policy fp16
//   warps       mma.sync, fed by their own asynchronous copies (sm_80); policy fp16-mma
enum class multiplier { warpgroups, warps };

// A stage holds 32 k of both operands, hi and lo: 32 KiB. The blocks of a cluster share a tile (split-K):
// each takes a part of K, and the parts are added in the order of the blocks.
struct product_policy {
  int stages = 7;
  int cluster = 1;  // always 1 for warps
  gemms::multiplier multiplier = multiplier::warpgroups;
  // Outputs that are not certified are always computed again, each in an order that depends on K alone: so
  // its bits do not depend on the others of its tile.
  bool ordered = false;

  constexpr bool operator==(const product_policy&) const = default;
};
constexpr int split_step = 32, split_chunk = 64;  // k of a stage; k until the sum is promoted
constexpr bool valid(const product_policy& p) {
  if (p.ordered && p.cluster > 1) return false;
  if (p.multiplier == multiplier::warps) return p.cluster == 1 && (p.stages == 2 || p.stages == 3);
  return p.stages >= 4 && (p.cluster == 1 || p.cluster == 2 || p.cluster == 4 || p.cluster == 8);
}

// A block with three slots fits a device with 99 KiB of shared memory for it (sm_86, sm_89); with four it
// does not.
constexpr product_policy split_mma_policy{.stages = 3, .multiplier = multiplier::warps};

// Outputs of a tile that are listed, to be computed again; of a tile with more, all outputs are. All of a
// tile's have room in the lists of ordered kernels.
constexpr std::uint32_t listed_at_most(bool ordered) {
  return ordered ? std::uint32_t{split_tile} * split_tile : uncertain_limit;
}

struct product_instance {
  product_policy policy;
  kernel code;
};

// How many outputs of a tile are uncertain, plus `sparse_thread` for each thread whose warp has outputs in
// sparse lines: one word, so that one atomic addition counts both.
namespace uncertain_count {
constexpr std::uint32_t sparse_thread = 1u << 20;  // more than a tile has outputs
}
// Outputs that could not be certified: a list for each tile, or for each of the blocks that share one.
struct uncertain_lists {
  std::uint32_t* count;   // uncertain_count of each
  std::uint16_t* output;  // listed_at_most() of each list: row * split_tile + column
};

// The operands as they were, C, and a brief epilogue, whose alpha and beta are the problem's.
struct ended_problem : problem {
  ending after;
};

struct product_problem {
  // for TMA: the parts of both operands, in boxes of 64 elements x split_tile lines
  tensor_map tensor_a, tensor_b;
  split_operand split_a, split_b;  // A's rows and B's columns
  ended_problem problem;
  std::int32_t rows, columns;  // of tiles
  std::int32_t first, end;     // the tiles to compute, of those
  std::int32_t chunks;         // of split_chunk along K, the last may be short
  uncertain_lists uncertain;
  std::uint64_t* recomputed;  // null, or the count of outputs that were recomputed for lack of a certificate
};

}  // namespace antiphase::gemms
