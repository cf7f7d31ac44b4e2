// SPDX-License-Identifier: Apache-2.0
// Arguments of the scan kernels: arrays, lines and tiles.
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/scan/operation.hpp>
#include <cstdint>

namespace antiphase::scans {

// The lines of a problem: outer x inner lines of `length` elements each.
struct lines {
  std::int64_t outer = 1;
  std::int64_t length = 0;
  std::int64_t inner = 1;
  scan_direction direction = scan_direction::forward;

  constexpr std::int64_t count() const { return outer * inner; }
  // The index of a line's first element, and the stride to the next one, whose sign is the direction.
  AP_FN constexpr std::int64_t first(std::int64_t line) const {
    const std::int64_t start = inner == 1 ? line * length : line / inner * length * inner + line % inner;
    return direction == scan_direction::forward ? start : start + (length - 1) * inner;
  }
  AP_FN constexpr std::int64_t stride() const {
    return direction == scan_direction::forward ? inner : -inner;
  }
};

// The params of tile_totals and tile_scan. Lines are cut into tiles, which are numbered across all lines.
// tile_totals writes one value per tile to `totals`. After an inclusive scan of these along each line,
// tile_scan reads from them the prefix of each tile; without totals it scans each tile on its own. An
// exclusive scan starts from `initial`, an inclusive one ignores it. In and Out are the types in memory, T is
// that of the computation.
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
