// SPDX-License-Identifier: Apache-2.0
// The policies of single-pass scans.
#pragma once
#include <algorithm>
#include <cstddef>

namespace antiphase::scans {

// One line, or segments of the array, rows among them, that begin at marked elements.
enum class lines_kind { one, segments };

// How tiles are copied between global memory and the ring: by TMA bulk copies (sm_90), or by the threads of
// two warps (cp.async, sm_80).
enum class tile_mover { copy_engine, threads };

// A block has a ring of tiles in shared memory. A tile has `rows` rows of 512 bytes (32 lanes x 16) for each
// of `warps` warps.
struct ring_policy {
  int warps = 8;  // that reduce; as many again scan
  int rows = 6;   // per warp and tile
  int stages = 8;
  int in_flight = 2;  // tiles loaded at a time
  tile_mover mover = tile_mover::copy_engine;

  constexpr bool operator==(const ring_policy&) const = default;
  // one warp each loads, publishes, looks back and stores
  constexpr int threads() const { return (2 * warps + 4) * 32; }
  constexpr int tile_bytes() const { return warps * rows * 512; }
  // Elements per tile: tile_bytes() of the larger type, in or out.
  constexpr int tile_of(std::size_t in, std::size_t out) const {
    return tile_bytes() / static_cast<int>(std::max(in, out));
  }
  // Contiguous elements per lane: 16 bytes of the larger type, at least 4 bytes of the smaller.
  constexpr int chunk_of(std::size_t in, std::size_t out) const {
    return std::max(16 / static_cast<int>(std::max(in, out)), 4 / static_cast<int>(in));
  }
};
constexpr bool valid(const ring_policy& p) {
  return p.warps >= 1 && p.threads() <= 1024 && p.warps <= 32 && p.rows >= 1 && p.stages >= 1 &&
         p.in_flight >= 1 && p.in_flight <= p.stages;
}

// The library's default: 192 KiB of tiles, 48 KiB of them in flight (measured: docs/design/scan.md).
constexpr ring_policy ring_scan_policy{};
// Narrow integers take a warp longer to compute, so there are more warps. Sums into wider types read less
// than they write, so more loads are in flight.
constexpr ring_policy narrow_ring_policy{.warps = 12, .rows = 4};
constexpr ring_policy narrow_to_wide_ring_policy{.warps = 12, .rows = 4, .in_flight = 4};
constexpr ring_policy wide_ring_policy{.in_flight = 4};
// Segments: keys are loaded from global memory directly, more of them in flight with larger tiles.
constexpr ring_policy segments_ring_policy{.warps = 12, .rows = 5, .stages = 6};
// 1-byte elements: registers for 16 of them in each row
constexpr ring_policy byte_segments_ring_policy{.warps = 8, .rows = 6, .stages = 6};
constexpr ring_policy wide_segments_ring_policy{.rows = 8,
                                                // 8-byte elements; with other tile sizes the roles
                                                // fall out of step (docs/notebook/scan.md)
                                                .stages = 6};

// With copies by threads, the ring fits the shared memory that a block can have on every GPU of compute
// capability 8.x.
constexpr std::size_t most_shared_by_threads = 99 << 10;
constexpr ring_policy by_threads(ring_policy p) {
  p.stages = 4;
  p.in_flight = std::max(p.in_flight, 3);
  p.mover = tile_mover::threads;
  return p;
}

// Values wider than their elements take the registers of fewer rows; smaller tiles, and more of them, keep
// as many bytes in flight.
constexpr ring_policy with_values(ring_policy p, std::size_t element, std::size_t value) {
  const int by = static_cast<int>(value / element);
  if (by <= 1) return p;
  p.rows = std::max(1, p.rows / by);
  p.stages = std::min(16, p.stages * by), p.in_flight = std::min(p.stages, p.in_flight * by);
  return p;
}

constexpr ring_policy ring_for(std::size_t in, std::size_t out, bool integers, lines_kind lines,
                               tile_mover mover = tile_mover::copy_engine) {
  const bool engine = mover == tile_mover::copy_engine, narrow = integers && in < 4;
  ring_policy p = narrow ? narrow_ring_policy : ring_scan_policy;
  if (out > in) p = narrow ? narrow_to_wide_ring_policy : wide_ring_policy;
  if (lines == lines_kind::segments) {
    p = out == 8 ? wide_segments_ring_policy : out == 1 ? byte_segments_ring_policy : segments_ring_policy;
    if (!engine) p = {.rows = 5};  // with marks of segments, four larger tiles would not fit
  }
  return engine ? p : by_threads(p);
}

}  // namespace antiphase::scans
