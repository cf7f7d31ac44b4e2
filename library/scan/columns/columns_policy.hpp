// SPDX-License-Identifier: Apache-2.0
// How columns are cut into tiles, and the arguments of their scan.
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
constexpr int column_group = 8;  // tiles whose totals are folded before their prefix is added
// Rows per thread, for values of `size` bytes. One more than the values that span all 32 banks of shared
// memory, so that segments of narrow tiles begin in different banks.
constexpr int column_rows(std::size_t size) { return size == 8 ? 17 : 33; }

// A line along an inner axis is a column: its elements lie `inner` apart, neighbouring columns side by side.
// All columns of a problem, by outer index, are divided into `strips` of `columns` columns. A tile has
// `segments` x `each` rows of a strip, a thread `each` rows of a column.
struct column_shape {
  int each, columns, segments;
  // a strip is all columns of one outer index, so that a tile is contiguous in memory
  bool whole_rows;
  std::int64_t strips, tiles;  // tiles: of a strip

  constexpr int rows() const { return each * segments; }
  constexpr std::int64_t blocks() const { return strips * tiles; }
  // The number of published tile totals, and of prefixes of groups.
  constexpr std::int64_t totals() const { return tiles == 1 ? 0 : blocks() * columns; }
  constexpr std::int64_t prefixes() const {
    return tiles == 1 ? 0 : strips * (ceil_div<std::int64_t>(tiles, column_group) - 1) * columns;
  }
};
// Long columns: 32 per block, with 8 threads each. Short ones need fewer threads, so a block takes more of
// them. With fewer than 32 long columns side by side, a tile has whole rows.
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
  std::uint64_t initial;   // the value before the first element, in the type computed in
  std::uint64_t flip;      // see element_values.cuh
  std::uint64_t* control;  // unused where a strip is one tile
  std::uint64_t* states;
  std::uint64_t state_words;  // available, including those of other launches
};

}  // namespace antiphase::scans
