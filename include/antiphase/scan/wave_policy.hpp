// The values that select a one-wave scan, and what it is told.
#pragma once
#include <antiphase/scan/problem.hpp>
#include <cstddef>
#include <cstdint>

namespace antiphase::prefix {

// A block keeps one tile in registers: `rows` rows of 512 bytes (32 lanes x 16) for each of `warps` warps.
struct wave_policy {
  int warps;
  int rows;

  constexpr bool operator==(const wave_policy&) const = default;
  constexpr int threads() const { return warps * 32; }
  constexpr int tile_bytes() const { return warps * rows * 512; }
};
constexpr bool valid(const wave_policy& p) { return p.warps >= 1 && p.warps <= 32 && p.rows >= 1 && p.rows <= 16; }

// The more tiles, the longer they wait for each other; the fewer, the more multiprocessors idle.
constexpr wave_policy small_wave{.warps = 4, .rows = 2}, middle_wave{.warps = 4, .rows = 8}, large_wave{.warps = 8, .rows = 8};
constexpr std::int64_t most_bytes_of_small_wave = 256 << 10, most_bytes_of_middle_wave = 1 << 20, most_bytes_of_wave = 4 << 20;

constexpr std::int64_t most_tiles_of_wave = most_bytes_of_wave / large_wave.tile_bytes();
static_assert(most_bytes_of_small_wave / small_wave.tile_bytes() <= most_tiles_of_wave &&
              most_bytes_of_middle_wave / middle_wave.tile_bytes() <= most_tiles_of_wave);

constexpr wave_policy wave_for(std::int64_t bytes) {
  return bytes <= most_bytes_of_small_wave ? small_wave : bytes <= most_bytes_of_middle_wave ? middle_wave : large_wave;
}

// `control` and `states` are those of single_pass.hpp; not looked at where there is one tile.
struct one_wave_arguments {
  const void* in;
  void* out;
  std::int64_t length;
  std::uint32_t tiles;
  scan_kind kind;
  scan_direction direction;
  std::uint64_t initial;  // exclusive scans start from it: the element's bytes, then zeros
  std::uint64_t* control;
  std::uint64_t* states;
  std::uint64_t state_words;  // that there are, those of other launches included
};

}  // namespace antiphase::prefix
