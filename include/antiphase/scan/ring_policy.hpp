// The values that select a single-pass scan.
#pragma once
#include <cstddef>

namespace antiphase::prefix {

// A block keeps a ring of tiles in shared memory; a tile is `rows` rows of 512 bytes (32 lanes x 16) for each of `warps` warps.
struct ring_policy {
  int warps = 8;  // that reduce, and as many again that scan
  int rows = 6;   // of a warp in a tile
  int stages = 7;
  int in_flight = 2;  // tiles being loaded at a time

  constexpr bool operator==(const ring_policy&) const = default;
  constexpr int threads() const { return (2 * warps + 4) * 32; }  // one warp each loads, publishes, looks ahead and stores
  constexpr int tile_bytes() const { return warps * rows * 512; }
};
constexpr bool valid(const ring_policy& p) {
  return p.warps >= 1 && p.threads() <= 1024 && p.warps <= 32 && p.rows >= 1 && p.stages >= 1 && p.in_flight >= 1 &&
         p.in_flight <= p.stages;
}

// What the library runs: 168 KiB of tiles, of which 48 are on their way (measured: docs/measuring.md).
constexpr ring_policy ring_scan_policy{};

}  // namespace antiphase::prefix
