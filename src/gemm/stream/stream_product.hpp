// SPDX-License-Identifier: Apache-2.0
// Products that stream their operands through FP64 Tensor Cores: what is asked, and the values that select a
// kernel.
#pragma once
#include <antiphase/core/divider.hpp>
#include <antiphase/core/tensor_map.hpp>
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/policy.hpp>
#include <cstdint>
#include <string_view>

#include "src/gemm/ending.hpp"
#include "src/gemm/line_operand.hpp"

namespace antiphase::gemms {

// Who brings the operands to shared memory:
//   engine    the copy engine (TMA, sm_90), in boxes; operands at multiples of 16 bytes
//   copiers   warps of their own, by asynchronous copies (cp.async, sm_80) of 16, 8 or 4 bytes
//   lanes     nobody: each lane reads its elements into registers, 4 bytes at a time. The least latency,
//             whichever way operands lie
//   kept      the same, all of K at once: a warp keeps its lines of the short operand while it walks along
//             the long one
//   direct    lanes, by two floats where they lie side by side; each warp of a block has a share of K
//   alone     the same; each warp has lines of its own, and all of K
enum class stream_loader : unsigned char { engine, copiers, lanes, kept, direct, alone };

// A block computes a tile of C: the lines of the long operand times those of the short one. A stage holds
// `slabs` slabs of 32 k; each of them has warps of its own, which keep sums of their own.
struct stream_policy {
  extent2 tile;   // lines of the long operand, lines of the short one
  extent2 warps;  // that share the tile
  int slabs = 1;
  // of the ring; lanes: halves of a slab in registers, 1 or 2; kept: K is at most 16 times as much
  int stages = 4;
  int blocks = 1;  // per multiprocessor, that registers are left for
  bool shares =
      // a tile is shared by the blocks of a cluster, and by more of them through the workspace; else blocks
      // walk over tiles
      false;
  stream_loader by = stream_loader::engine;
  // knows epilogues. A variant of its own: as a branch, they would cost the others up to a fifth
  bool finishes = false;

  int copying_warps = 0;  // copiers
  // kept: K is 16 times `stages`, tiles have no edges, and both operands can be read by two floats
  bool whole = false;

  constexpr bool operator==(const stream_policy&) const = default;
  constexpr bool is_fed_by_ring() const {
    return by == stream_loader::engine || by == stream_loader::copiers;
  }
  constexpr int computing_warps() const { return warps.m * warps.n * slabs; }
  // Neighbouring lines of the short operand that a lane reads: of 8 columns, a lane has one at a time.
  constexpr int lines_of_lane() const { return tile.n / warps.n == 8 ? 1 : 2; }
  // A lane's sums come in cells of 2 neighbouring lines of the long operand times so many of the short one.
  constexpr int cell_width() const { return 2 * lines_of_lane(); }
};
constexpr int stream_step = 32;  // k of a slab
constexpr int direct_step = 16;  // of direct, alone
constexpr int kept_warps = 4;    // of a block; each has tiles of its own
constexpr int most_kept_k(const stream_policy& p) { return 16 * p.stages; }
constexpr int most_alone_k = 128;                                      // behind it the others are faster
constexpr int kept_blocks(int stages) { return stages == 1 ? 4 : 3; }  // of a multiprocessor
constexpr bool valid(const stream_policy& p) {
  const int rows = p.tile.m / p.warps.m, columns = p.tile.n / p.warps.n;
  return p.tile.m % 16 == 0 && rows % 16 == 0 && rows * p.warps.m == p.tile.m &&
         (columns == 8 || columns % 16 == 0) && columns * p.warps.n == p.tile.n &&
         (p.slabs == 1 || p.shares || p.by == stream_loader::direct) && p.slabs >= 1 &&
         (p.by >= stream_loader::lanes ? p.stages <= 2 : p.stages >= 2) &&
         (p.by == stream_loader::copiers) == (p.copying_warps > 0);
}

// Line l of a lane, of a warp's lines from `first` on: `Two` neighbours of each 8 times Two. g: lane / 4.
template <int Two> AP_FN constexpr int line_of_lane(int first, int l, int g) {
  return first + l / Two * 8 * Two + Two * g + l % Two;
}
// Element i of the four that a lane has of 16 k. q: lane % 4.
AP_FN constexpr int k_of_lane(int i, int q) { return 2 * q + i % 2 + i / 2 * 8; }

struct stream_instance {
  std::string_view form;  // stream_kernels.hpp
  stream_policy how;
  kernel code;
};

// How outputs are stored: in packs along lines of the short operand (as wide as a cell), in pairs along lines
// of either, or one by one.
enum class stream_packs : unsigned char { none, along_short, pairs_along_short, along_long };

// Which of the tiles of a member one is, along the long operand and along the short one.
struct tile_number {
  std::uint32_t member, along_long, along_short;
};

// The product of the long operand and the short one, whichever of them is A.
struct stream_problem {
  // engine: boxes of 32 k and a tile's lines; or, across k, of 32 lines and 32 k
  tensor_map long_map, short_map;
  line_operand of_long, of_short;
  float* c;
  float* const* c_member;  // an array of pointers, as of operands
  // of C, from line to line of each operand, and from member to member
  std::int64_t long_stride, short_stride, batch_stride;
  stream_packs packs;  // if the matrix begins at a multiple of 16 bytes
  // kept: tiles that a warp walks over along the long operand
  std::int32_t rounds;
  std::int64_t k, k_of_part;  // k_of_part: a multiple of stream_step
  divider tiles_along_long, tiles_along_short;
  std::uint32_t tiles;     // of the whole batch
  std::int32_t parts;      // of K, of which each is taken by a cluster; their sums meet in the workspace
  std::uint64_t call;      // what no word of the workspace holds by chance
  double* partial;         // by tile, block of the cluster and part
  std::uint64_t* arrived;  // the same: `call`, when the part's sums are there
  ending end;              // its rows are lines of the long operand

  // Of the whole batch's n-th.
  AP_FN tile_number tile(std::uint32_t n) const {
    const std::uint32_t row = tiles_along_short.quotient(n), member = tiles_along_long.quotient(row);
    return {member, row - member * tiles_along_long.by(), n - row * tiles_along_short.by()};
  }
};

}  // namespace antiphase::gemms
