// SPDX-License-Identifier: Apache-2.0
// What the scan kernels are told: arrays, lines and tiles.
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/scan/operation.hpp>
#include <cstdint>

namespace antiphase::scans {

// The lines of a problem: outer x inner of them, `length` elements each.
struct lines {
  std::int64_t outer = 1;
  std::int64_t length = 0;
  std::int64_t inner = 1;
  scan_direction direction = scan_direction::forward;

  constexpr std::int64_t count() const { return outer * inner; }
  // Where the first element of a line lies, and how far it is to the next: the direction is nothing but the
  // sign of that.
  AP_FN constexpr std::int64_t first(std::int64_t line) const {
    const std::int64_t start = inner == 1 ? line * length : line / inner * length * inner + line % inner;
    return direction == scan_direction::forward ? start : start + (length - 1) * inner;
  }
  AP_FN constexpr std::int64_t stride() const {
    return direction == scan_direction::forward ? inner : -inner;
  }
};

// A line is cut into tiles; the tiles of all lines are numbered through. The params of both kernels:
// tile_totals fills `totals` with one value per tile; then, scanned inclusively along each line, they are the
// `totals` from which tile_scan takes what lies before a tile. Without totals tile_scan scans each tile on
// its own. An exclusive scan starts from `initial`, an inclusive one ignores it. In memory lie elements In
// and results Out; the values in between are T.
template <class T, class In = T, class Out = T> struct arguments {
  const In* in;
  Out* out;
  T* totals;
  lines over;
  scan_kind kind;
  T initial;

  AP_FN constexpr std::int64_t tiles_per_line(int tile) const {
    return ceil_div<std::int64_t>(over.length, tile);
  }
  AP_FN constexpr std::int64_t tiles(int tile) const {
    return over.outer * over.inner * tiles_per_line(tile);
  }
};

}  // namespace antiphase::scans
