// SPDX-License-Identifier: Apache-2.0
// A product in tiles, as the kernels of fp64 and tf32 are handed it.
#pragma once
#include <antiphase/core/divider.hpp>
#include <antiphase/core/tensor_map.hpp>
#include <cstdint>

#include "src/gemm/operands/ending.hpp"
#include "src/gemm/operands/line_operand.hpp"

namespace antiphase::gemms {

constexpr int slab_k = 32;  // k of a slab, and of a box of TMA

// How outputs are stored: in packs along lines of the short operand (as wide as a cell), in pairs along lines
// of either, or one by one.
enum class packing : unsigned char { none, along_short, pairs_along_short, along_long };

// Which of the tiles of a member one is, along the long operand and along the short one.
struct tile_number {
  std::uint32_t member, along_long, along_short;
};

// The product of the long operand and the short one, whichever of them is A.
struct tiled_problem {
  // engine: boxes of 32 k and a tile's lines; or, across k, of 32 lines and 32 k
  tensor_map long_map, short_map;
  line_operand of_long, of_short;
  float* c;
  float* const* c_member;  // an array of pointers, as of operands
  // of C, from line to line of each operand, and from member to member
  std::int64_t long_stride, short_stride, batch_stride;
  packing packs;  // if the matrix begins at a multiple of 16 bytes
  // kept: tiles that a warp walks over along the long operand
  std::int32_t rounds;
  std::int64_t k, k_of_part;  // k_of_part: a multiple of slab_k
  divider tiles_along_long, tiles_along_short;
  std::uint32_t tiles;     // of the whole batch
  std::int32_t parts;      // of K, of which each is taken by a cluster; their sums meet in the workspace
  std::uint64_t call;      // what no word of the workspace holds by chance
  double* partial;         // by tile, block of the cluster and part
  std::uint64_t* arrived;  // the same: `call`, when the part's sums are there
  ending end;              // its rows are lines of the long operand

  // Of the whole batch's n-th.
  AP_FN tile_number tile(std::uint32_t n) const {
    const std::uint32_t row = tiles_along_short.quotient(n), member = tiles_along_long.quotient(row);
    return {member, row - member * tiles_along_long.by(), n - row * tiles_along_short.by()};
  }
};

}  // namespace antiphase::gemms
