// SPDX-License-Identifier: Apache-2.0
// The values that select a single-pass scan.
#pragma once
#include <algorithm>
#include <cstddef>

namespace antiphase::scans {

// What the lines of a scan are: a single one, or segments of the array (rows among them) that begin where
// elements say so.
enum class lines_kind { one, segments };

// Who moves tiles between global memory and the ring: the copy engine (bulk copies, sm_90), or the threads of
// two warps (cp.async, sm_80).
enum class tile_mover { copy_engine, threads };

// A block keeps a ring of tiles in shared memory; a tile is `rows` rows of 512 bytes (32 lanes x 16) for each
// of `warps` warps.
struct ring_policy {
  int warps = 8;  // that reduce, and as many again that scan
  int rows = 6;   // of a warp in a tile
  int stages = 8;
  int in_flight = 2;  // tiles being loaded at a time
  tile_mover mover = tile_mover::copy_engine;

  constexpr bool operator==(const ring_policy&) const = default;
  // one warp each loads, publishes, looks back and stores
  constexpr int threads() const { return (2 * warps + 4) * 32; }
  constexpr int tile_bytes() const { return warps * rows * 512; }
  // Elements of a tile: of the larger type, in or out, it has tile_bytes().
  constexpr int tile_of(std::size_t in, std::size_t out) const {
    return tile_bytes() / static_cast<int>(std::max(in, out));
  }
  // Elements that a lane has next to each other: 16 bytes of the larger type, and at least 4 of the smaller.
  constexpr int chunk_of(std::size_t in, std::size_t out) const {
    return std::max(16 / static_cast<int>(std::max(in, out)), 4 / static_cast<int>(in));
  }
};
constexpr bool valid(const ring_policy& p) {
  return p.warps >= 1 && p.threads() <= 1024 && p.warps <= 32 && p.rows >= 1 && p.stages >= 1 &&
         p.in_flight >= 1 && p.in_flight <= p.stages;
}

// What the library runs: 192 KiB of tiles, of which 48 are on their way (measured: docs/design/scan.md).
constexpr ring_policy ring_scan_policy{};
// A warp of a chunk of narrow integers computes for longer, so there are more. Sums into wider types read
// less than they write: more loads are on their way.
constexpr ring_policy narrow_ring_policy{.warps = 12, .rows = 4};
constexpr ring_policy narrow_to_wide_ring_policy{.warps = 12, .rows = 4, .in_flight = 4};
constexpr ring_policy wide_ring_policy{.in_flight = 4};
// Segments: keys come from global memory, and the larger the tile the more of them are on their way.
constexpr ring_policy segments_ring_policy{.warps = 12, .rows = 5, .stages = 6};
// with registers for 16 elements in each of the rows
constexpr ring_policy byte_segments_ring_policy{.warps = 8, .rows = 6, .stages = 6};
constexpr ring_policy wide_segments_ring_policy{.rows = 8,
                                                // of 8 bytes; other tiles fall out of step
                                                // (docs/notebook/scan.md)
                                                .stages = 6};

// Where threads move tiles the ring is as long as the shared memory that a block may have on every GPU of
// compute capability 8.x.
constexpr std::size_t most_shared_by_threads = 99 << 10;
constexpr ring_policy by_threads(ring_policy p) {
  p.stages = 4;
  p.in_flight = std::max(p.in_flight, 3);
  p.mover = tile_mover::threads;
  return p;
}

constexpr ring_policy ring_for(std::size_t in, std::size_t out, bool integers, lines_kind lines,
                               tile_mover mover = tile_mover::copy_engine) {
  const bool engine = mover == tile_mover::copy_engine, narrow = integers && in < 4;
  ring_policy p = narrow ? narrow_ring_policy : ring_scan_policy;
  if (out > in) p = narrow ? narrow_to_wide_ring_policy : wide_ring_policy;
  if (lines == lines_kind::segments) {
    p = out == 8 ? wide_segments_ring_policy : out == 1 ? byte_segments_ring_policy : segments_ring_policy;
    if (!engine) p = {.rows = 5};  // beside the marks of segments four larger tiles would not fit
  }
  return engine ? p : by_threads(p);
}

}  // namespace antiphase::scans
