// SPDX-License-Identifier: Apache-2.0
// A product in tiles: the arguments of the kernels of fp64 and tf32.
#pragma once
#include <antiphase/core/divider.hpp>
#include <antiphase/core/tensor_map.hpp>
#include <cstdint>

#include "library/gemm/operands/finish/ending.hpp"
#include "library/gemm/operands/line_operand.hpp"

namespace antiphase::gemms {

constexpr int slab_k = 32;  // k of a slab, and of a box of TMA

// Vector width of stores to C: packs as wide as a cell along the short operand's index, pairs along either
// index, or single floats.
enum class packing : unsigned char { none, along_short, pairs_along_short, along_long };

// A tile's member and its index there, along the long operand and along the short one.
struct tile_number {
  std::uint32_t member, along_long, along_short;
};

// The product of the long operand and the short one, whichever of them is A.
struct tiled_problem {
  // TMA: boxes of 32 k x a tile's lines, or, across k, of 32 lines x 32 k
  tensor_map long_map, short_map;
  line_operand of_long, of_short;
  float* c;
  float* const* c_member;  // array of pointers, or null
  // strides of C: along the lines of each operand, and between members
  std::int64_t long_stride, short_stride, batch_stride;
  packing packs;  // by pointers: valid only for matrices that begin at a multiple of 16 bytes
  // kept_lines: tiles that a warp walks over along the long operand
  std::int32_t rounds;
  std::int64_t k, k_of_part;  // k_of_part: a multiple of slab_k
  divider tiles_along_long, tiles_along_short;
  std::uint32_t tiles;     // of the whole batch
  std::int32_t parts;      // split-K: parts of K, a cluster for each, added up through the workspace
  std::uint64_t call;      // number of the call, which the workspace does not already hold
  double* partial;         // sums by tile, block of the cluster and part
  std::uint64_t* arrived;  // flags, same order: == call once the part's sums are stored
  ending end;              // its rows are lines of the long operand

  // n: index in the whole batch.
  AP_FN tile_number tile(std::uint32_t n) const {
    const std::uint32_t row = tiles_along_short.quotient(n), member = tiles_along_long.quotient(row);
    return {member, row - member * tiles_along_long.by(), n - row * tiles_along_short.by()};
  }
};

}  // namespace antiphase::gemms
