// SPDX-License-Identifier: Apache-2.0
// FP32-accurate products on Tensor Cores by warps: the same sums in the same order as those of warpgroups
// (mma.sync and cp.async, sm_80).
#pragma once
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/matrix.cuh>
#include <utility>
#include "library/gemm/fp16/split_epilogue.cuh"
#include "library/gemm/fp16/split_product.hpp"
#include "library/gemm/operands/tiled/tensor_core_tile.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A persistent kernel: one block per multiprocessor walks over tiles of C. All of its eight warps load, and
// compute 32 x 64 outputs each:
//   slot:  copy | multiply | copy | multiply ...     a slot is a step of 32 k, hi and lo parts of both
//          operands
// The ring goes on from tile to tile: the next tile's copies run during the epilogue of this one. Two steps
// make a chunk, whose main product hi hi is then added to the sum in FP32 registers, as in split_product.cuh.
template <product_policy P, class Ring = async_copies<P.stages>> struct split_mma_product {
  static_assert(valid(P) && P.multiplier == multiplier::warps);
  static_assert(P.stages <= 3, "copies that run further ahead would need lines of a third tile");
  static constexpr int threads = recompute_shape::threads;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  static constexpr output_layout outputs{.down = 2, .ordered = P.ordered};
  static constexpr int down = outputs.down, across = outputs.across();  // fragments of a warp
  using epilogue = split_epilogue<outputs>;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = product_problem;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  // a line: hi[16] lo[16] hi[16] lo[16], in 128-byte swizzle
  using part = half_panel<split_tile, 2 * split_step>;
  struct both_parts {
    part a, b;
  };
  struct storage {
    union {
      both_parts slots[P.stages];
      recompute_storage<2> tail;  // when there is nothing more to load
    };
    tile_lines lines[2];
    uncertain_tally uncertain;
  };
  using slot_cursor = cursor<P.stages>;
  using sums = float[down * across][4];

 private:
  // The block's tiles: the first and then one a grid further each time. In 32 bits: registers are scarce.
  AP_DEV static int first_tile(const params& p) { return p.first + static_cast<int>(block_index().x); }
  AP_DEV static int tile_step() { return static_cast<int>(grid_extent().x); }
  AP_DEV static grouped_tiles tiles_of(const params& p) { return {p.rows, p.columns, tile_group}; }

  // load
  // ---------------------------------------------------------------------------------------------------------
  // 32 k of a tile's lines.
  AP_DEV static void load_part(part& to, const split_operand& from, int first_line, int step) {
    const std::int64_t elements = split_layout{from.lines, from.k}.line_elements();
    load_tile<split_tile, 2 * split_step, threads>(to, {from.parts, from.lines, elements, elements, 1},
                                                   first_line, 2 * split_step * step);
  }
  // With a tile's first step also what its epilogue needs.
  AP_DEV static void load_lines(const params& p, tile_lines& to, int top, int left) {
    const int i = thread_index() * 4;  // 16 bytes of the one or the other scale
    if (i < split_tile) copy_async<16>(to.row_scale + i, p.split_a.scale + top + i, 16);
    if (i >= split_tile && i < 2 * split_tile)
      copy_async<16>(to.column_scale + i - split_tile, p.split_b.scale + left + i - split_tile, 16);
    if (i == 0) to.top = top, to.left = left;
  }

  // The position of the loads, ahead of the computation. The tile's top and left stay in shared memory:
  // registers are scarce.
  struct loader {
    int tile, step = 0, lines = 0;  // lines: which of the two

    AP_DEV void load(const params& p, storage& s, int slot) {
      tile_lines& here = s.lines[lines];
      int top, left;
      if (step == 0) {
        const tile_position at = tiles_of(p).at(tile);
        top = static_cast<int>(at.row) * split_tile, left = static_cast<int>(at.column) * split_tile;
        load_lines(p, here, top, left);
      } else {
        top = here.top, left = here.left;
      }
      load_part(s.slots[slot].a, p.split_a, top, step);
      load_part(s.slots[slot].b, p.split_b, left, step);
      if (++step == 2 * p.chunks) step = 0, tile += tile_step(), lines ^= 1;
    }
  };

  // compute
  // ---------------------------------------------------------------------------------------------------------
  // Reads 16 lines x 16 k of the hi parts (0) or the lo parts (1). `lane`: the offset of the lane's row in
  // the first fragment, in bytes.
  AP_DEV static void read(std::uint32_t (&to)[4], const part& from, std::uint32_t lane, int fragment, int k,
                          int which) {
    ldmatrix(to, from.data + (lane ^ static_cast<std::uint32_t>(4 * k + 32 * which)) / 2 +
                     fragment * 16 * 2 * split_step);
  }
  AP_DEV static void multiply(sums& main, sums& mixed, const part& a, const part& b) {
    const int lane = lane_index(), warp = epilogue::warp();
    const auto offset_of = [](int line, int k) {
      return swizzled(static_cast<std::uint32_t>((line * 2 * split_step + k) * 2), part::pattern);
    };
    const std::uint32_t in_a = offset_of(warp / down * 16 * down + lane % 16, lane / 16 * 8);
    const std::uint32_t in_b =
        offset_of(warp % down * 8 * across + lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8);
    AP_UNROLL
    for (int k = 0; k < split_step; k += 16) {
      std::uint32_t a_hi[down][4], a_lo[down][4];
      AP_UNROLL
      for (int i = 0; i < down; ++i) read(a_hi[i], a, in_a, i, k, 0), read(a_lo[i], a, in_a, i, k, 1);
      AP_UNROLL
      for (int j = 0; j < across; j += 2) {
        std::uint32_t b_hi[4], b_lo[4];  // of two fragments
        read(b_hi, b, in_b, j / 2, k, 0), read(b_lo, b, in_b, j / 2, k, 1);
        const auto each = [&](sums& sum, const std::uint32_t(&of_a)[down][4], const std::uint32_t(&of_b)[4]) {
          AP_UNROLL
          for (int n = 0; n < 2 * down; ++n)
            mma(sum[n / 2 * across + j + n % 2], of_a[n / 2], {of_b[n % 2 * 2], of_b[n % 2 * 2 + 1]});
        };
        each(main, a_hi, b_hi);
        each(mixed, a_lo, b_hi);
        each(mixed, a_hi, b_lo);
      }
    }
  }
  // Adds a product to the sum in FP32 registers, and clears it.
  AP_DEV static void promote(typename epilogue::sums& sum, sums& part, float scale) {
    AP_UNROLL
    for (int e = 0; e < epilogue::registers; ++e) sum[e] += std::exchange(part[e / 4][e % 4], 0.f) * scale;
  }

  // Recomputes the uncertain outputs of all the block's tiles, at the end: the ring is empty then, and its
  // memory free.
  AP_DEV static void recompute(const params& p, storage& s) {
    block_barrier();
    if (s.uncertain.any == 0) return;
    bool by_magnitude = true;
    for (int i = first_tile(p); i < p.end; i += tile_step()) {
      const tile_position here = tiles_of(p).at(i);
      epilogue::recompute(p, static_cast<int>(here.row) * split_tile,
                          static_cast<int>(here.column) * split_tile, i, s.tail, by_magnitude);
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) s.uncertain = {};
    wait_for_previous_grid();
    cursor<uncertain_tally::turns> turn;
    Ring ring;
    slot_cursor at, head;
    loader loads{first_tile(p)};
    const auto load_next = [&] {  // past the end it commits an empty group, since the ring counts groups
      ring.acquire(head);
      if (loads.tile < p.end) loads.load(p, s, head.index);
      ring.commit(head++);
    };
    for (int i = 0; i < P.stages - 1; ++i) {
      load_next();
      block_barrier();  // the next step is of the same tile, and reads where it begins
    }
    int lines = 0;
    for (int tile = first_tile(p); tile < p.end; tile += tile_step(), lines ^= 1) {
      typename epilogue::sums sum = {};
      sums main = {}, mixed = {};
      for (int step = 0; step < 2 * p.chunks; ++step, ++at) {
        ring.wait(at);
        load_next();
        multiply(main, mixed, s.slots[at.index].a, s.slots[at.index].b);
        if (step % 2 != 0) promote(sum, main, 1);
      }
      promote(sum, mixed, 1.f / (1 << lo_exponent));
      epilogue{p, s.lines[lines], 0}.store(sum, s.uncertain, turn, tile);
    }
    recompute(p, s);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
