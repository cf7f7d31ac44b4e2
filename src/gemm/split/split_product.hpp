// Products of split operands: what is asked, and the values that select a kernel.
#pragma once
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/problem.hpp>
#include "src/gemm/split/split_operand.hpp"

namespace antiphase::gemms {

// What multiplies: warpgroups, fed by the copy engine (sm_90a); warps, fed by their own asynchronous copies (sm_80); or warpgroups that
// split A themselves, in registers, while only B has been through the split pass (sm_90a).
enum class multiplier { split, split_mma, split_inside };

// Tiles of 128 x 128 outputs. A stage holds 32 k of both operands, hi and lo: 32 KiB. The blocks of a cluster share a tile: each takes a
// part of K, and the parts are added in the order of the blocks.
struct product_policy {
  int stages = 7;
  int cluster = 1;  // not of warps
  multiplier by = multiplier::split;

  constexpr bool operator==(const product_policy&) const = default;
};
constexpr int split_tile = line_tile, split_step = 32, split_chunk = 64;  // outputs each way; k of a stage; k until the sum is promoted
constexpr bool valid(const product_policy& p) {
  if (p.by == multiplier::split_mma) return p.cluster == 1 && (p.stages == 2 || p.stages == 3);
  if (p.by == multiplier::split_inside && p.stages < 5) return false;
  return p.stages >= 4 && (p.cluster == 1 || p.cluster == 2 || p.cluster == 4 || p.cluster == 8);
}

// Three slots are the most of which a block fits a device with 99 KiB for it (sm_86, sm_89).
constexpr product_policy split_mma_policy{.stages = 3, .by = multiplier::split_mma};

struct product_instance {
  product_policy how;
  kernel code;
};

// Outputs that could not be certified, by tile, or by the blocks that share one: how many there are, and up to note_capacity of them,
// where: row * split_tile + column.
constexpr int note_capacity = 512;
struct product_notes {
  std::uint32_t* count;  // plus, times few_thread, how many threads have outputs in lines of few nonzeros
  std::uint16_t* place;

  static constexpr std::uint32_t few_thread = 1u << 20;
};

// What a block that splits rows of A itself finds out about them, its own even where others see the same rows.
struct row_part {         // of the block's part of K
  std::uint32_t largest;  // bits without the sign
  std::uint32_t nonzeros, tiny, size;
  std::int32_t first_top;  // the exponent of the largest of the first elements that are not zero
};
struct row_facts {
  split_line line[split_tile];
  few_places few[split_tile];
  row_part part[split_tile];  // of blocks that share a tile
  few_places few_of_part[split_tile];
};

struct product_problem {
  tensor_map a, b;             // for warpgroups: the parts of both operands, in boxes of 64 elements x split_tile lines; A as it is, 32 x
                               // split_tile, if it is split there
  split_operand left, right;   // A's rows and B's columns
  problem what;                // the operands as they were, and C
  std::int32_t rows, columns;  // of tiles
  std::int32_t first, end;     // the tiles to compute, of those
  std::int32_t chunks;         // of split_chunk along K, the last may be short
  product_notes notes;
  std::uint64_t* recomputed;  // null, or where outputs that are computed again for want of a certificate are counted
  row_facts* rows_of;         // by block, if A is split there
};

}  // namespace antiphase::gemms
