// SPDX-License-Identifier: Apache-2.0
// How columns are cut into tiles, and what a scan of them is told.
#pragma once
#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <antiphase/scan/detail/arguments.hpp>
#include <antiphase/scan/operation.hpp>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace antiphase::scans {

constexpr int column_threads = 256;
constexpr int column_group = 8;  // tiles whose totals are folded before they join what lies before them
// Rows of a thread, for values that are computed with of `size` bytes. One more than lanes that share the
// banks of shared memory in turn, so that segments of narrow tiles begin in different banks.
constexpr int column_rows(std::size_t size) { return size == 8 ? 17 : 33; }

// A line along an inner axis is a column: its elements lie `inner` apart, and its neighbours beside it. All
// columns of a problem, outer by outer, stand side by side in `strips` of `columns` columns. A tile has
// `segments` x `each` rows of a strip, a thread `each` rows of a column.
struct column_shape {
  int each, columns, segments;
  // a strip is all columns of one outer index, so that a tile is contiguous in memory
  bool whole_rows;
  std::int64_t strips, tiles;  // tiles: of a strip

  constexpr int rows() const { return each * segments; }
  constexpr std::int64_t blocks() const { return strips * tiles; }
  // Of the tiles' totals, and of what lies before each group of tiles.
  constexpr std::int64_t totals() const { return tiles == 1 ? 0 : blocks() * columns; }
  constexpr std::int64_t prefixes() const {
    return tiles == 1 ? 0 : strips * (ceil_div<std::int64_t>(tiles, column_group) - 1) * columns;
  }
};
// Long columns: 32 columns and 8 threads for each. Short ones need fewer threads, and a block takes more of
// them. Columns of fewer than 32 side by side make a tile of whole rows.
constexpr column_shape column_shape_of(const lines& over, std::size_t value_size) {
  const int each = column_rows(value_size);
  const std::int64_t wanted = ceil_div<std::int64_t>(over.length, each), all = over.outer * over.inner;
  const int fewest = wanted >= 8 ? 8 : static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(wanted))),
            widest = column_threads / fewest;
  column_shape s{.each = each,
                 .columns = 0,
                 .segments = 0,
                 .whole_rows = fewest == 8 && over.inner < widest,
                 .strips = 0,
                 .tiles = 0};
  s.strips = s.whole_rows ? over.outer : ceil_div<std::int64_t>(all, widest);
  s.columns = static_cast<int>(s.whole_rows ? over.inner : ceil_div(all, s.strips));
  s.segments = static_cast<int>(std::min<std::int64_t>(column_threads / s.columns, wanted));
  s.tiles = ceil_div<std::int64_t>(over.length, s.rows());
  return s;
}

struct column_arguments {
  const void* in;
  void* out;
  std::int64_t outer, length, inner;
  std::int64_t strips;
  std::uint32_t tiles;  // of a strip
  int columns, segments;
  bool whole_rows;
  scan_kind kind;
  scan_direction direction;
  std::uint64_t initial;   // what stands before the first element, of the type that is computed with
  std::uint64_t flip;      // see element_values.cuh
  std::uint64_t* control;  // not looked at where a strip is one tile
  std::uint64_t* states;
  std::uint64_t state_words;  // that there are, those of other launches included
};

}  // namespace antiphase::scans
