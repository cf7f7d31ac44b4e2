// SPDX-License-Identifier: Apache-2.0
// Policies and arguments of one-wave scans.
#pragma once
#include <algorithm>
#include <antiphase/scan/operation.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace antiphase::scans {

// A block keeps one tile in registers: `rows` rows of 512 bytes (32 lanes x 16) for each of `warps` warps.
struct wave_policy {
  int warps;
  int rows;

  constexpr bool operator==(const wave_policy&) const = default;
  constexpr int threads() const { return warps * 32; }
  constexpr int tile_bytes() const { return warps * rows * 512; }
};
constexpr bool valid(const wave_policy& p) {
  return p.warps >= 1 && p.warps <= 32 && p.rows >= 1 && p.rows <= 16;
}

// With more tiles, blocks wait longer for each other; with fewer, more multiprocessors idle. Measured on an
// H200.
struct wave_choice {
  std::int64_t most_bytes;  // of the array
  wave_policy policy;
};
constexpr wave_choice wave_choices[] = {
    {256 << 10, {.warps = 4, .rows = 2}},  {1 << 20, {.warps = 4, .rows = 8}},
    {4 << 20, {.warps = 8, .rows = 8}},    {8 << 20, {.warps = 8, .rows = 16}},
    {12 << 20, {.warps = 16, .rows = 12}}, {16 << 20, {.warps = 16, .rows = 16}}};
constexpr std::int64_t most_bytes_of_wave = std::end(wave_choices)[-1].most_bytes;

constexpr wave_policy wave_for(std::int64_t bytes) {
  for (const wave_choice& choice : wave_choices)
    if (bytes <= choice.most_bytes) return choice.policy;
  return std::end(wave_choices)[-1].policy;
}
constexpr std::int64_t most_tiles_of_wave = [] {
  std::int64_t most = 0;
  for (const wave_choice& choice : wave_choices)
    most = std::max(most, choice.most_bytes / choice.policy.tile_bytes());
  return most;
}();

// `control` and `states` are those of single_pass.hpp; unused with a single tile.
struct one_wave_arguments {
  const void* in;
  void* out;
  std::int64_t length;
  std::uint32_t tiles;
  scan_kind kind;
  scan_direction direction;
  std::uint64_t initial;  // of exclusive scans: the element's bytes, then zeros
  std::uint64_t* control;
  std::uint64_t* states;
  std::uint64_t state_words;  // in the workspace, those of other launches included
};

}  // namespace antiphase::scans
