// SPDX-License-Identifier: Apache-2.0
// Latency-bound fp64 products: the warps of a block take 16 k each, from global memory straight to registers
// (sm_80).
#pragma once
#include <antiphase/core/tile.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/global.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/warp.cuh>
#include "library/gemm/fp64/fp64_store.cuh"
#include "library/gemm/fp64/tiles/lane_reader.cuh"
#include "library/gemm/fp64/tiles/register_feed.cuh"
#include "library/gemm/operands/finish/blend.cuh"
#include "library/gemm/operands/finish/finished.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
//   load 16 k | by rounds: load the next 16 k, convert, multiply (FP64 Tensor Cores) | add up the warps' sums
//   | store
// A small product is bound by a chain of latencies: load, a few products, add up, store. So a tile is small
// and belongs to one block, each of whose warps computes the whole tile over every eighth group of 16 k.
// There is one barrier, no ring and no setup. Each tile loads the elements that it needs, which costs little
// while the caches hold the operands. A lane takes the same k and lines as in the other fp64 kernels, two per
// load where they are adjacent.
template <fp64_policy P> struct block_tile {
  static_assert(valid(P) && P.kind == kernel_kind::block_tile);
  using sums = fp64_sums<P>;
  static constexpr int threads = P.slabs * warp_size, blocks_wanted = P.blocks;
  static constexpr bool overlaps_previous = true;
  using params = tiled_problem;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  static constexpr int rows = P.tile.m, columns = P.tile.n, outputs = rows * columns;
  static_assert(rows == sums::rows && columns == sums::columns);
  // Sums are stored in the order of C, each line padded against bank conflicts.
  static constexpr int gap = 4, places = outputs + gap * (rows > columns ? rows : columns);
  struct storage {
    double sum[P.slabs][places];
  };

 private:
  // The thread's n-th output.
  AP_DEV static cell_place output(bool along_short, int n) {
    const int at = thread_index() + n * threads;
    return along_short ? cell_place{at / columns, at % columns} : cell_place{at % rows, at / rows};
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int warp = warp_index(), lane = lane_index(), g = lane / 4, q = lane % 4;
    const tile_number tile = p.tile(block_index().x);
    const std::uint32_t member = tile.member;
    const std::int64_t top = std::int64_t{tile.along_long} * rows,
                       left = std::int64_t{tile.along_short} * columns;
    const bool along_short = p.short_stride == 1 || p.long_stride != 1;
    // strides within s.sum
    const int of_row = along_short ? columns + gap : 1, of_column = along_short ? 1 : rows + gap;
    const std::int64_t first_k = held_k * warp;
    lane_reader<rows> of_long;
    lane_reader<columns> of_short;
    begin_and_wait(
        p, member, [&](const float* data) { of_long.begin(p.of_long, data, top, first_k, g, q); },
        [&](const float* data) { of_short.begin(p.of_short, data, left, first_k, g, q); },
        [&] { compute_first(of_long.digest() ^ of_short.digest()); });
    lane_reads<rows> a;
    lane_reads<columns> b;
    const auto read = [&](std::int64_t k_left) {
      if (k_left < held_k) of_long.end_after(p.of_long, k_left, q), of_short.end_after(p.of_short, k_left, q);
      of_long.read(a, p.of_long, k_left, g, q), of_short.read(b, p.of_short, k_left, g, q);
    };
    if (first_k < p.k) read(p.k - first_k);

    // C, where it is read, is loaded while the products are computed.
    constexpr int outputs_of_thread = ceil_div(outputs, threads);
    float* c[outputs_of_thread];
    float before[outputs_of_thread] = {};
    float* const of_member =
        in_global_memory(p.c_member != nullptr ? p.c_member[member] : p.c + member * p.batch_stride);
    AP_UNROLL
    for (int n = 0; n < outputs_of_thread; ++n) {
      const cell_place at = output(along_short, n);
      const bool inside = top + at.row < p.of_long.lines && left + at.column < p.of_short.lines &&
                          at.row < rows && at.column < columns;
      c[n] =
          inside ? of_member + (top + at.row) * p.long_stride + (left + at.column) * p.short_stride : nullptr;
      if (!P.finishes && p.end.beta != 0 && inside) before[n] = *c[n];
    }

    sums sum = {};
    AP_ROLLED
    for (std::int64_t k = first_k; k < p.k; k += held_k * P.slabs) {
      const lane_elements<rows> now_a = of_long.take(a, p.of_long, p.k - k, q);
      const lane_elements<columns> now_b = of_short.take(b, p.of_short, p.k - k, q);
      constexpr int round = held_k * P.slabs;
      if (const std::int64_t left_then = p.k - k - round; left_then > 0) {
        of_long.move(round * p.of_long.k_stride), of_short.move(round * p.of_short.k_stride);
        read(left_then);
      }
      AP_UNROLL
      for (int i = 0; i < sums::down; ++i)
        multiply_half(now_a.x[2 * i], now_a.x[2 * i + 1], now_b.x, sum.value[i]);
    }
    AP_UNROLL
    for (int n = 0; n < sums::cells; ++n) {
      const typename sums::cell v = sum.at(n);
      const int row = n / sums::across * 16 + 2 * g,
                column = n % sums::across * (8 * sums::two) + sums::wide * q;
      AP_UNROLL
      for (int i = 0; i < 2; ++i) {
        AP_UNROLL
        for (int j = 0; j < sums::wide; ++j)
          s.sum[warp][(row + i) * of_row + (column + j) * of_column] = v.value[i][j];
      }
    }
    block_barrier();

    AP_UNROLL
    for (int n = 0; n < outputs_of_thread; ++n) {
      if (c[n] == nullptr) continue;
      const cell_place at = output(along_short, n);
      const int place = at.row * of_row + at.column * of_column;
      double all = 0;
      AP_UNROLL
      for (int slab = 0; slab < P.slabs; ++slab) all += s.sum[slab][place];
      const float v = static_cast<float>(all);
      if constexpr (P.finishes)
        *c[n] = finished(p.end, v, top + at.row, left + at.column, member, c[n]);
      else
        *c[n] = blend(p.end, v, &before[n]);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
