// SPDX-License-Identifier: Apache-2.0
// Pairs that are hidden one by one, as bits: writing them once for a call, hiding a tile's scores by them.
#pragma once
#include <antiphase/device/accumulator.cuh>
#include <antiphase/device/global.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/vector.cuh>
#include <cmath>

#include "library/attention/fp16/split_pass.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// The warp's tile. Pairs past the last query or key have the bits of the last.
AP_DEV void write_visible(const problem& p, const visible_bits& to, std::int64_t tile) {
  if (tile >= to.tiles()) return;
  const int column_tile = static_cast<int>(tile % to.column_tiles);
  const std::int64_t line = tile / to.column_tiles;
  const int row_tile = static_cast<int>(line % to.row_tiles),
            head = static_cast<int>(line / to.row_tiles % to.heads),
            member = static_cast<int>(line / to.row_tiles / to.heads);
  const attentions::member m = member_of(p, member);
  if (m.queries == 0 || m.keys == 0) return;
  const int row = row_tile * to.rows + lane_index() / 4,
            column = column_tile * to.columns + lane_index() % 4 * 2;
  std::uint32_t* const words = to.at(member, head, row_tile, column_tile) + 2 * lane_index();
  AP_ROLLED
  for (int h = 0; h < 2; ++h) {
    const int r = row + 8 * h < m.queries ? row + 8 * h : m.queries - 1;
    const unsigned char* const from = in_global_memory(p.visible.data) + member * p.visible.member_stride +
                                      head * p.visible.head_stride + r * p.visible.query_stride;
    std::uint32_t bits = 0;
    // A few loads at once: registers for more would leave no room for other blocks.
    AP_ROLLED
    for (int from_bit = 0; from_bit < 32; from_bit += 8) {
      AP_UNROLL
      for (int i = from_bit; i < from_bit + 8; ++i) {
        const int c = column + i / 2 * 8 + i % 2;
        const bool sees = from[(c < m.keys ? c : m.keys - 1) * p.visible.key_stride] != 0;
        bits |= static_cast<std::uint32_t>(sees) << i;
      }
    }
    words[h] = bits;
  }
}

// A thread's bits of a tile. They are loaded before the scores are there.
class visible_tile {
 public:
  AP_DEV void load(const visible_bits& from, int member, int head, int first_row, int column_tile) {
    bits_ = load_pack<2>(from.at(member, head, first_row / from.rows, column_tile) + 2 * lane_index());
  }
  AP_DEV void hide(accumulator<visible_bits::columns>& x) const {
    if ((bits_.element[0] & bits_.element[1]) == ~0u) return;
    AP_UNROLL
    for (int i = 0; i < x.count; ++i)
      if ((bits_.element[x.half_of(i)] >> (i / 4 * 2 + i % 2) & 1u) == 0) x.value[i] = -INFINITY;
  }

 private:
  pack<std::uint32_t, 2> bits_;
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
