// SPDX-License-Identifier: Apache-2.0
// A product in tiles: their number, tensor maps of the operands, and the kernel's arguments.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/gemm/batch.hpp>
#include <antiphase/gemm/epilogue.hpp>
#include <antiphase/gemm/policy.hpp>
#include <antiphase/gemm/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "library/gemm/operands/both_operands.hpp"
#include "library/gemm/operands/loader.hpp"
#include "library/gemm/operands/tiled/tiled_problem.hpp"

namespace antiphase::gemms {

// Whether TMA can load the operand: rows in order, at multiples of 16 bytes.
bool tma_takes(const line_operand& o, std::int64_t k);
// Its tensor map. Boxes: slab_k k x `lines` lines if it lies along k, else slab_k lines x slab_k k.
tensor_map encode(const context& where, const line_operand& o, std::int64_t k, std::int64_t batch, int lines);

// How C is stored by lanes whose cells are `wide` floats.
packing packs_of(const problem& p, const batch& of, bool turned, int wide);

// The host's plan for any kernel that takes a tiled_problem.
struct tiled_plan {
  gemms::problem problem;
  gemms::batch batch;
  epilogue after;
  bool turned = false;                                      // B is the long operand
  std::int64_t along_long = 0, along_short = 0, tiles = 0;  // per member; tiles: of the batch
  std::int64_t k_of_part = 0;
  extent3 grid = {};
};
tiled_plan in_tiles(const problem& p, const batch& of, const epilogue& after, bool turned, extent2 tile);
// How each operand is loaded; for TMA a tensor map is made.
struct brought_by {
  loader long_one, short_one;
};
// The kernel's arguments. Split-K: the workspace holds a flag for each block that shares a tile, then the
// parts' sums.
tiled_problem arguments_of(const context& where, const tiled_plan& plan, extent2 tile, brought_by by,
                           packing packs, int cluster, int parts, std::span<std::byte> workspace);

}  // namespace antiphase::gemms
