// SPDX-License-Identifier: Apache-2.0
// The operands of attention as two FP16 parts of every element: how they lie, and the passes that write them.
#pragma once
#include <antiphase/core/half.hpp>
#include <antiphase/executor/kernel.hpp>
#include <cstddef>
#include <cstdint>

#include "library/attention/members.hpp"

namespace antiphase::attentions {

// An element x of a tile or column with scale s (a power of two; its largest magnitude is in [2^14, 2^15) s)
// is h s + l s / lo_factor, with h the f16 nearest to x / s and l the one nearest to lo_factor (x / s - h).
// With lo_factor = 2^11 elements down to 2^-27 of the largest are kept as well as FP32 keeps them, with 1
// those down to 2^-18.
constexpr int part_exponent = 15;
constexpr int far_lo = 2048, near_lo = 1;
// With near_lo and one scale for a tile, elements are off by up to 2^-40 of the largest. Columns that pass
// through a product separately keep FP32's accuracy if none is smaller than the largest by more than this.
constexpr float most_between_columns = 0x1p16f;
// Largest dP = dO V: it is multiplied by weights of up to 2^15, and 2^-38 of it must be far above the
// smallest product of two tiles' scales, 2^-149. Largest dO: it is divided by a sum of weights, and denormals
// lose bits. Heads whose dO or V are zeros need neither.
constexpr float least_product = 0x1p-70f, most_product = 0x1p112f, least_gradient = 0x1p-80f;

// Rows of a tile that share a scale. Every member begins a tile: rows after its last are zeros.
constexpr int split_rows = 64;
AP_FN constexpr std::int64_t tiles_in(std::int64_t rows) { return (rows + split_rows - 1) / split_rows; }

// Parts of 64 columns of so many rows in shared memory, hi and lo: a box of parts_layout(), in the swizzle of
// 128 bytes.
template <int Rows> struct parts_chunk { alignas(1024) f16 part[2][Rows][64]; };

// The rows of all members, each padded to whole tiles: [head][hi, lo][row][padded depth].
struct split_shape {
  const std::int32_t* offsets;  // of packed members, or null
  std::int32_t members, rows;   // rows of a member, or of all that are packed
  std::int64_t tiles;           // of all members
  // The row of the packed array that a member begins; 0 if not packed.
  AP_FN std::int64_t first_row(int member) const {
    return offsets == nullptr ? 0 : offset_in(offsets, member, rows);
  }
  // The tile that a member begins.
  AP_FN std::int64_t first_tile(int member) const {
    return offsets == nullptr ? member * tiles_in(rows) : first_row(member) / split_rows + member;
  }
  AP_FN int rows_of(int member) const {
    return offsets == nullptr ? rows
                              : offset_in(offsets, member + 1, rows) - offset_in(offsets, member, rows);
  }
  // The member that a tile belongs to; it may be one after its last.
  AP_FN int member_at(std::int64_t tile) const {
    if (offsets == nullptr) return static_cast<int>(tile / tiles_in(rows));
    int from = 0, to = members;
    while (to - from > 1) {
      const int middle = (from + to) / 2;
      (first_tile(middle) <= tile ? from : to) = middle;
    }
    return from;
  }
};
// An upper bound of the tiles of packed members, whose lengths only the device knows.
constexpr std::int64_t most_tiles(std::int64_t all_rows, std::int64_t members) {
  return all_rows / split_rows + members;
}

struct split_operand {
  heads<const float> source;
  split_shape shape;
  std::int32_t count;
  bool in_vectors;  // rows are read in pieces of 16 bytes
  float sign;       // 1 or -1, by which elements are multiplied
  bool by_column;   // a scale for each column of a tile, else one for the tile
  f16* parts;
  // [head][tile], of a tile or the largest of its columns; infinite if an element is not finite, 0 if all are
  // 0.
  float* scale;
  // [head][tile][padded depth]: scales times 2^-15 that columns of a tile have, or would have, 0 of a column
  // of zeros; or null if not by_column.
  float* column_scale;
};

// Writes the parts, and 0 to the counter of items that the product takes.
struct split_params {
  static constexpr int most = 4;
  split_operand operand[most];
  std::int32_t operands, depth;
  float lo_factor;  // of operands with one scale for a tile
  std::uint32_t* next_item;
};
// problem::visible as bits. A warp that has 16 queries and 128 keys in an accumulator reads 64 words at once:
// [member][head][tile of queries][tile of keys][lane][row, row + 8]. What members, heads or queries share is
// there once.
struct visible_bits {
  static constexpr int rows = 16, columns = 128, words_of_tile = 64;
  std::uint32_t* words = nullptr;  // null: every key is visible
  std::int32_t members = 0, heads = 0, row_tiles = 0, column_tiles = 0;
  AP_FN std::int64_t tiles() const { return std::int64_t{members} * heads * row_tiles * column_tiles; }
  AP_FN std::uint32_t* at(int member, int head, int row_tile, int column_tile) const {
    const auto of = [](int i, int count) { return i < count ? i : count - 1; };
    const std::int64_t line = std::int64_t{of(member, members)} * heads + of(head, heads);
    return words +
           ((line * row_tiles + of(row_tile, row_tiles)) * column_tiles + column_tile) * words_of_tile;
  }
};
struct forward_split_params {
  split_params parts;
  attentions::problem problem;
  visible_bits visible;
  std::int32_t first_of_visible;  // block: the others before it split
};
// Checks whether FP16 parts keep the contract: a word for each member and head of K, 0 if they do. Columns
// that share their tile's scale, of operands that have column scales, must be within most_between_columns.
// Lo parts of Q and K are written again where only far_lo keeps the bound.
struct contract_params {
  // The others must be finite, and so must sums of their rows; of two, products are within their limits.
  split_operand q, k, others[2];
  std::int32_t other_count, depth;
  // on scale * depth * max |q| * max |k|: with far_lo; with near_lo, as Q and K have been split
  float scale, logit_limit, near_limit;
  std::uint32_t* flags;  // [member][kv head]
  std::uint32_t* far;    // the same: 1 where Q and K have far_lo now; null: near_limit is not looked at
};

// mantissa * 2^exponent, a factor of any size: the scales of two operands at the ends of FP32's range, and
// the factor that they are multiplied with, fit a float as a whole alone.
struct wide_factor {
  float mantissa;  // in [1, 2]
  std::int32_t exponent;
};

struct split_instance {
  int depth;  // padded
  kernel code;
};
struct contract_instance {
  kernel code;
};

}  // namespace antiphase::attentions
