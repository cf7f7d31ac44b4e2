// SPDX-License-Identifier: Apache-2.0
// A product in tiles: how many, where their operands and outputs lie, and what a kernel is handed.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/policy.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/gemm/operands/both_operands.hpp"
#include "src/gemm/operands/loader.hpp"
#include "src/gemm/operands/tiled_problem.hpp"

namespace antiphase::gemms {

// Whether TMA takes it: rows in order, at multiples of 16 bytes.
bool tma_takes(const line_operand& o, std::int64_t k);
// For TMA, in boxes of slab_k k and so many lines, or, across k, of slab_k lines.
tensor_map encode(const context& where, const line_operand& o, std::int64_t k, std::int64_t batch, int lines);

// How C is stored by lanes whose cells are so wide.
packing packs_of(const problem& p, const batch& of, bool turned, int wide);

// Tiles of a product of two operands, for any kernel that takes a tiled_problem.
struct tiled_plan {
  problem what;
  batch of;
  epilogue after;
  bool turned = false;                                      // B is the long operand
  std::int64_t along_long = 0, along_short = 0, tiles = 0;  // of a member, of the batch
  std::int64_t k_of_part = 0;
  extent3 grid = {};
};
tiled_plan in_tiles(const problem& p, const batch& of, const epilogue& after, bool turned, extent2 tile);
// How each operand is brought: TMA needs a map of it.
struct brought_by {
  loader long_one, short_one;
};
// What its kernel is handed. The workspace holds a flag for each block that shares a tile, then what its
// parts leave there.
tiled_problem arguments_of(const context& where, const tiled_plan& plan, extent2 tile, brought_by by,
                           packing packs, int cluster, int parts, std::span<std::byte> workspace);

}  // namespace antiphase::gemms
