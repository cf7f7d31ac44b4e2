// SPDX-License-Identifier: Apache-2.0
// Tilings of a range, with a short last tile, and of a matrix.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>

namespace antiphase {

template <class T> AP_FN constexpr T ceil_div(T value, T by) { return value / by + (value % by != 0); }

// The number of elements left as an int, at most 2^30; negative numbers stay negative.
AP_FN constexpr int as_many(std::int64_t left) {
  constexpr int enough = 1 << 30;
  return left < enough ? static_cast<int>(left) : enough;
}

// `extent` elements cut into tiles of `size`; the last one holds what is left.
struct tiling {
  std::int64_t extent;
  std::int64_t size;

  AP_FN constexpr std::int64_t count() const { return ceil_div(extent, size); }
  AP_FN constexpr std::int64_t first(std::int64_t tile) const { return tile * size; }
  AP_FN constexpr std::int64_t length(std::int64_t tile) const {
    const std::int64_t left = extent - first(tile);
    return left < size ? left : size;
  }
};

// A tile's position in a two-dimensional grid of tiles.
struct tile_position {
  std::int64_t row;
  std::int64_t column;
};

// Threadblock swizzle: an order of the tiles of a grid that goes through groups of `group` rows of tiles, so
// that concurrent blocks share operands in the L2 cache. Every tile occurs once; the last group may have
// fewer rows.
constexpr int tile_group = 8;  // rows of tiles in a group, for all products
struct grouped_tiles {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t group;

  AP_FN constexpr std::int64_t count() const { return rows * columns; }
  AP_FN constexpr tile_position at(std::int64_t index) const {
    const std::int64_t width = group * columns;
    const std::int64_t top = index / width * group;
    const std::int64_t height = rows - top < group ? rows - top : group;
    const std::int64_t inside = index % width;
    return {top + inside % height, inside / height};
  }
};

}  // namespace antiphase
