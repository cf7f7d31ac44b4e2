// SPDX-License-Identifier: Apache-2.0
// Products with K of up to four, bound by reading and writing (sm_75).
#pragma once
#include <antiphase/device/global.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/warp.cuh>
#include <cmath>
#include "library/gemm/fp64/short/short_product.hpp"
#include "library/gemm/operands/finish/blend.cuh"
#include "library/gemm/operands/finish/finished.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A lane keeps its columns of B in registers and walks down its rows:
//   load B | load rows of A | multiply | store
// The rows of A for the next step are loaded before the current ones are multiplied. Small members of a batch
// are stacked: rows are numbered across members, and B is loaded for each row. Products of FP32 are exact in
// FP64 and none overflows.
template <bool Finishes> struct short_product {
  static constexpr int threads = short_warps * warp_size, blocks_wanted = 4;
  static constexpr bool overlaps_previous = true;
  using params = short_problem;
  struct storage {};

 private:
  static constexpr int rows = short_rows, columns = short_columns;
  // A lane's outputs: row i is i * below rows of C below the first one, column j is j * next to columns right
  // of it.
  struct work {
    std::int64_t member, row, column;  // its first output
    const float* a;                    // its first row of A, column of B, output
    const float* b;
    float* c;
    int rows_left, columns_left;  // of C, from its first output on
    int below, across;

    AP_DEV void place(const params& p) {
      const float* const of_a = p.a_of != nullptr ? p.a_of[member] : p.a.data + member * p.a.member_stride;
      const float* const of_b = p.b_of != nullptr ? p.b_of[member] : p.b.data + member * p.b.member_stride;
      float* const of_c = p.c_of != nullptr ? p.c_of[member] : p.c.data + member * p.c.member_stride;
      a = in_global_memory(of_a) + row * p.a.row_stride;
      b = in_global_memory(of_b) + column * p.b.column_stride;
      c = in_global_memory(of_c) + row * p.c.row_stride + column * p.c.column_stride;
    }
  };

  // load
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void load_line(const float* line, std::int64_t apart, int k, float (&to)[short_k]) {
    AP_UNROLL
    for (int n = 0; n < short_k; ++n) to[n] = n < k ? in_global_memory(line)[n * apart] : 0;
  }
  // Columns past the end read the first one instead.
  AP_DEV static void load_b(const params& p, const work& w, float (&to)[columns][short_k]) {
    AP_UNROLL
    for (int j = 0; j < columns; ++j)
      load_line(w.b + (j * w.across < w.columns_left ? j * w.across : 0) * p.b.column_stride, p.b.row_stride,
                p.k, to[j]);
  }

  // A lane's columns of B.
  struct lines_of_b {
    double x[columns][short_k];

    AP_DEV explicit lines_of_b(const float (&from)[columns][short_k]) {
      AP_UNROLL
      for (int j = 0; j < columns; ++j) {
        AP_UNROLL
        for (int n = 0; n < short_k; ++n) x[j][n] = from[j][n];
      }
    }
  };

  // multiply, store
  // ---------------------------------------------------------------------------------------------------------
  // Rows from `first` on; to: the first output of each.
  template <int Rows> AP_DEV static void multiply(const params& p, const work& w, int first,
                                                  float* const (&to)[Rows], const float (&a)[Rows][short_k],
                                                  const lines_of_b& b) {
    const auto is_there = [&](int i, int j) {
      return first + i * w.below < w.rows_left && j * w.across < w.columns_left;
    };
    const std::int64_t beside = w.across * p.c.column_stride;
    float before[Rows][columns] = {}, sum[Rows][columns];
    if (!Finishes && p.end.beta != 0) {
      AP_UNROLL
      for (int i = 0; i < Rows; ++i) {
        AP_UNROLL
        for (int j = 0; j < columns; ++j)
          if (is_there(i, j)) before[i][j] = in_global_memory(to[i])[j * beside];
      }
    }
    AP_UNROLL
    for (int i = 0; i < Rows; ++i) {
      double all[columns] = {};
      AP_UNROLL
      for (int k = 0; k < short_k; ++k) {
        AP_UNROLL
        for (int j = 0; j < columns; ++j) all[j] = multiply_add(double{a[i][k]}, b.x[j][k], all[j]);
      }
      AP_UNROLL
      for (int j = 0; j < columns; ++j) sum[i][j] = static_cast<float>(all[j]);
    }
    AP_UNROLL
    for (int i = 0; i < Rows; ++i) {
      AP_UNROLL
      for (int j = 0; j < columns; ++j) {
        if constexpr (!Finishes) sum[i][j] = blend(p.end, sum[i][j], &before[i][j]);
        if (!is_there(i, j)) continue;
        if constexpr (Finishes)
          sum[i][j] = finished(p.end, sum[i][j], w.row + first + i * w.below, w.column + j * w.across,
                               w.member, to[i] + j * beside);
        in_global_memory(to[i])[j * beside] = sum[i][j];
      }
    }
  }

  AP_DEV static void multiply_member(const params& p, const work& w) {
    float now[rows][short_k], next[rows][short_k] = {}, of_b[columns][short_k];
    const float* a[rows];
    float* c[rows];
    const auto load_a = [&](int first, float(&to)[rows][short_k]) {
      AP_UNROLL
      for (int i = 0; i < rows; ++i)
        // past the end: the first row instead
        load_line(first + i * w.below < w.rows_left ? a[i] : w.a, p.a.column_stride, p.k, to[i]);
    };
    AP_UNROLL
    for (int i = 0; i < rows; ++i)
      a[i] = w.a + i * w.below * p.a.row_stride, c[i] = w.c + i * w.below * p.c.row_stride;
    load_b(p, w, of_b);
    load_a(0, now);
    const lines_of_b b(of_b);
    const std::int64_t apart_in_a = rows * w.below * p.a.row_stride,
                       apart_in_c = rows * w.below * p.c.row_stride;
    const int apart = rows * w.below, of_walk = p.steps * apart,
              end = of_walk < w.rows_left ? of_walk : w.rows_left;
    AP_ROLLED
    for (int first = 0; first < end; first += apart) {
      AP_UNROLL
      for (int i = 0; i < rows; ++i) a[i] += apart_in_a;
      if (first + apart < end) load_a(first + apart, next);
      multiply(p, w, first, c, now, b);
      AP_UNROLL
      for (int i = 0; i < rows; ++i) {
        c[i] += apart_in_c;
        AP_UNROLL
        for (int k = 0; k < short_k; ++k) now[i][k] = next[i][k];
      }
    }
  }
  // Rows are numbered across members; first: the lane's first one.
  AP_DEV static void multiply_stacked(const params& p, work& w, std::int64_t first) {
    const std::int64_t end = p.rows * p.count;
    w.rows_left = 1;
    AP_ROLLED
    for (int n = 0; n < rows * p.steps && first < end; ++n, first += w.below) {
      w.member = first / p.rows;
      w.row = first - w.member * p.rows;
      w.place(p);
      float a[1][short_k], of_b[columns][short_k];
      load_b(p, w, of_b);
      load_line(w.a, p.a.column_stride, p.k, a[0]);
      multiply(p, w, 0, {w.c}, a, lines_of_b(of_b));
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    const int warp = warp_index(), lane = lane_index(), lanes = 1 << p.lane_bits,
              below = warp_size >> p.lane_bits;
    const std::uint32_t tile = block_index().x, row_of_tiles = p.tiles_across.quotient(tile),
                        member = p.tiles_down.quotient(row_of_tiles);
    const std::int64_t down = row_of_tiles - member * p.tiles_down.by(),
                       across = tile - row_of_tiles * p.tiles_across.by();
    const int of_warp = rows * p.steps * below;  // rows
    work w{.member = member,
           .row = down * (short_warps * of_warp) + warp * of_warp + (lane >> p.lane_bits),
           .column = across * (columns * lanes) + (lane & (lanes - 1)),
           .a = nullptr,
           .b = nullptr,
           .c = nullptr,
           .rows_left = 0,
           .columns_left = 0,
           .below = below,
           .across = lanes};
    w.rows_left = as_many(p.rows - w.row);
    w.columns_left = as_many(p.columns - w.column);
    compute_first(static_cast<std::uint32_t>(w.rows_left ^ w.columns_left));
    wait_for_previous_grid(p);
    start_next_grid();
    if (w.columns_left <= 0) return;
    if (p.stacked) return multiply_stacked(p, w, w.row);
    if (w.rows_left <= 0) return;
    w.place(p);
    multiply_member(p, w);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
