// SPDX-License-Identifier: Apache-2.0
// The launches of a scan over whole arrays, for any element type.
#pragma once
#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/scan/detail/arguments.hpp>
#include <antiphase/scan/detail/launches.hpp>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace antiphase::scans {

constexpr bool is_empty(const lines& over) { return over.outer == 0 || over.length == 0 || over.inner == 0; }
// Throws bad_request unless both arrays can hold that many elements: not null, aligned, equal or disjoint.
// Addresses of empty arrays are ignored.
struct array_at {
  const void* data;
  std::size_t element_bytes, alignment;
};
void require_arrays(const lines& over, const array_at& in, const array_at& out);

template <class T, class In, class Out>
launchable launch_of(const kernel& code, int tile, const arguments<T, In, Out>& all) {
  static_assert(std::is_trivially_copyable_v<arguments<T, In, Out>>);
  constexpr std::int64_t most_blocks = std::numeric_limits<int>::max();
  launchable l{.code = code,
               .grid = {static_cast<unsigned>(std::min(all.tiles(tile), most_blocks)), 1, 1},
               .arguments = {}};
  l.arguments.resize(sizeof all);
  std::memcpy(l.arguments.data(), &all, sizeof all);
  return l;
}

// The levels of totals in the workspace: of the array's tiles, of the tiles of those, and so on, until a line
// of totals is one tile. Each level begins at a multiple of 256 bytes.
template <class T> constexpr std::size_t level_bytes(const lines& over) {
  return ceil_div<std::size_t>(static_cast<std::size_t>(over.count() * over.length) * sizeof(T), 256) * 256;
}
constexpr lines totals_of(const lines& over, int tile) {
  return {.outer = over.count(), .length = ceil_div<std::int64_t>(over.length, tile), .inner = 1};
}
// Tiles of one element would have as many totals as elements, on every level.
inline void require_shrinking(int tile, const lines& over) {
  if (tile < 2 && over.length > 1)
    throw bad_request("the tile is one element: expected two or more, since a line has more than one");
}
template <class T> std::size_t workspace_bytes(int tile, lines over) {
  require_shrinking(tile, over);
  std::size_t bytes = 0;
  while (over.length > tile && over.count() > 0) {
    over = totals_of(over, tile);
    bytes += level_bytes<T>(over);
  }
  return bytes;
}

// The launches, in order: the totals of each level, then, from the last level back, the scan of each level
// from the totals of the next, finally the array. `of_array` scans the array, `of_totals` the levels.
// `whole.totals` is ignored. Empty for an array without elements.
template <class T, class In, class Out>
std::vector<launchable> passes(const kernel_pair& of_array, const kernel_pair& of_totals,
                               const arguments<T, In, Out>& whole, void* workspace) {
  require_shrinking(of_array.tile, whole.over);
  if (whole.tiles(of_array.tile) == 0) return {};
  arguments<T, In, Out> level = whole;
  level.totals = nullptr;
  if (level.over.length <= of_array.tile) return {launch_of(of_array.scan, of_array.tile, level)};
  level.totals = static_cast<T*>(workspace);
  const arguments<T> above{.in = level.totals,
                           .out = level.totals,
                           .totals = nullptr,
                           .over = totals_of(level.over, of_array.tile),
                           .kind = scan_kind::inclusive,
                           .initial = whole.initial};
  std::vector<launchable> all{launch_of(of_array.totals, of_array.tile, level)};
  const auto of_above = passes<T, T, T>(of_totals, of_totals, above,
                                        static_cast<std::byte*>(workspace) + level_bytes<T>(above.over));
  all.insert(all.end(), of_above.begin(), of_above.end());
  all.push_back(launch_of(of_array.scan, of_array.tile, level));
  return all;
}
template <class T>
std::vector<launchable> passes(const kernel_pair& kernels, const arguments<T>& whole, void* workspace) {
  return passes<T, T, T>(kernels, kernels, whole, workspace);
}

}  // namespace antiphase::scans
