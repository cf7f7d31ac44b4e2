// SPDX-License-Identifier: Apache-2.0
// Products with FP64 sums: the values that select a kernel.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/policy.hpp>
#include <string_view>

#include "library/gemm/fp64/kernel_kind.hpp"
#include "library/gemm/operands/loader.hpp"

namespace antiphase::gemms {

// A block computes a tile of C: the lines of the long operand times those of the short one, in slabs of 32 k.
// Each slab of a stage has its own warps, which keep their own sums.
struct fp64_policy {
  extent2 tile;   // lines of the long operand, lines of the short one
  extent2 warps;  // of each slab, along either side of the tile
  int slabs = 1;
  int blocks = 1;  // resident ones per multiprocessor that registers have to allow
  int stages = 0;  // ring: slots, each with 32 k of every slab
  int held = 0;    // kept_lines: groups of 16 k that a lane holds in registers
  kernel_kind kind = kernel_kind::ring;
  gemms::loader loader = loader::tma;
  int copying_warps = 0;  // cp_async
  // Split-K: the blocks of a cluster share a tile, and several clusters may, through the workspace. Else
  // rings walk over tiles, and other kernels have a block or warp for each.
  bool shares = false;
  // Applies epilogues. A separate variant: as a branch, they would cost the other kernels up to a fifth.
  bool finishes = false;
  // kept_lines: K is exactly 16 * held, tiles have no edges, operands can be read two floats at a time.
  bool whole = false;

  constexpr bool operator==(const fp64_policy&) const = default;
  constexpr bool is_fed_by_ring() const { return kind == kernel_kind::ring; }
  constexpr int computing_warps() const { return warps.m * warps.n * slabs; }
  // Adjacent lines of the short operand that a lane reads: one where a warp has 8 columns, else two.
  constexpr int lines_of_lane() const { return tile.n / warps.n == 8 ? 1 : 2; }
  // A lane's sums form cells of 2 adjacent lines of the long operand times this many of the short one.
  constexpr int cell_width() const { return 2 * lines_of_lane(); }
};
constexpr int held_k = 16;     // k of a group that lanes hold, and of a step of block_tile and warp_tile
constexpr int kept_warps = 4;  // of a block of kept_lines; each has its own tiles
constexpr int most_kept_k(const fp64_policy& p) { return held_k * p.held; }
constexpr int most_warp_tile_k = 128;                              // beyond it other kernels are faster
constexpr int kept_blocks(int held) { return held == 1 ? 4 : 3; }  // per multiprocessor
constexpr bool valid(const fp64_policy& p) {
  const int rows = p.tile.m / p.warps.m, columns = p.tile.n / p.warps.n;
  const bool ring = p.kind == kernel_kind::ring, holds = p.kind == kernel_kind::kept_lines;
  return p.tile.m % 16 == 0 && rows % 16 == 0 && rows * p.warps.m == p.tile.m &&
         (columns == 8 || columns % 16 == 0) && columns * p.warps.n == p.tile.n &&
         (p.slabs == 1 || p.shares || p.kind == kernel_kind::block_tile) && p.slabs >= 1 &&
         (ring ? p.stages >= 2 : p.stages == 0) && (holds ? p.held == 1 || p.held == 2 : p.held == 0) &&
         ring == (p.loader != loader::lanes) && (p.loader == loader::cp_async) == (p.copying_warps > 0);
}

struct fp64_instance {
  std::string_view form;  // fp64_kernels.hpp
  fp64_policy policy;
  kernel code;
};

}  // namespace antiphase::gemms
