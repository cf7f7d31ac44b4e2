// SPDX-License-Identifier: Apache-2.0
// From a lane's FP64 sums to C.
#pragma once
#include <antiphase/device/vector.cuh>
#include <cstdint>
#include "library/gemm/fp64/fp64_product.hpp"
#include "library/gemm/operands/finish/blend.cuh"
#include "library/gemm/operands/finish/finished.cuh"
#include "library/gemm/operands/rows_to_store.cuh"
#include "library/gemm/operands/tiled/tiled_problem.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Place of an output, or of a lane's cell, in the tile.
struct cell_place {
  int row, column;
};

// A lane's sums of its warp's outputs, in cells of 2 adjacent lines of the long operand times cell_width() of
// the short one.
template <fp64_policy P> struct fp64_sums {
  static constexpr int rows = P.tile.m / P.warps.m, columns = P.tile.n / P.warps.n;  // of a warp
  static constexpr int two = P.lines_of_lane(), wide = P.cell_width();
  static constexpr int down = rows / 16, across = columns / (8 * two), cells = down * across,
                       outputs_of_cell = 2 * wide;
  static constexpr int outputs_of_row = across * wide;  // of a lane, in one of its two lines of each sixteen
  double value[down][across * two][4];

  // Place of the lane's n-th output in sixteen lines, line by line. g, q: lane / 4, lane % 4.
  AP_DEV static cell_place output(int n, int g, int q) {
    return {2 * g + n / outputs_of_row, n / wide % across * (8 * two) + wide * q + n % wide};
  }

  struct cell {
    double value[2][wide];

    AP_DEV double& operator[](int e) { return value[e / wide][e % wide]; }
    AP_DEV double operator[](int e) const { return value[e / wide][e % wide]; }
    // Of the outputs value(0), value(1) ...
    AP_DEV static cell of(auto value) {
      cell v;
      AP_UNROLL
      for (int e = 0; e < outputs_of_cell; ++e) v[e] = value(e);
      return v;
    }
    AP_DEV void add(const cell& more) {
      AP_UNROLL
      for (int e = 0; e < outputs_of_cell; ++e) (*this)[e] += more[e];
    }
  };
  AP_DEV cell at(int n) const {
    cell v;
    AP_UNROLL
    for (int i = 0; i < 2; ++i) {
      AP_UNROLL
      for (int j = 0; j < wide; ++j)
        v.value[i][j] = value[n / across][n % across * two + j % two][2 * i + j / two];
    }
    return v;
  }
};

// A block's work: a tile of a member of the batch, over a range of k.
struct fp64_work {
  std::int64_t member, top, left;  // first lines of the long and the short operand
  std::int64_t k, k_end;
  const float* of_long;  // where the member's operands begin
  const float* of_short;
  int long_left, short_left;  // lines that exist from the first ones on, as as_many() caps them
};

// A warp's outputs, staged in shared memory on their way to C.
template <fp64_policy P> struct staged_rows : rows_to_store<P.tile.n / P.warps.n, P.finishes> {
  using sums = fp64_sums<P>;

  // Stages the warp's i-th sixteen lines. g, q: lane / 4, lane % 4.
  AP_DEV void put(const sums& sum, int i, int g, int q) {
    AP_UNROLL
    for (int n = 0; n < sums::across; ++n) {
      const typename sums::cell v = sum.at(i * sums::across + n);
      AP_UNROLL
      for (int e = 0; e < 2; ++e) {
        pack<float, sums::wide> next;
        AP_UNROLL
        for (int j = 0; j < sums::wide; ++j) next.element[j] = static_cast<float>(v.value[e][j]);
        store_pack<sums::wide>(&this->elements[2 * g + e][8 * sums::two * n + sums::wide * q], next);
      }
    }
  }
};

// Whether a warp can store its rows in packs straight from registers: shared memory would add its latency.
// of_member: where the member's C begins.
template <fp64_policy P>
AP_DEV bool stores_packs(const tiled_problem& p, const float* of_member, int columns_left) {
  return !P.finishes && p.packs == packing::along_short && columns_left % fp64_sums<P>::wide == 0 &&
         (p.c_member == nullptr || reinterpret_cast<std::uintptr_t>(of_member) % 16 == 0);
}
// Stores the warp's i-th sixteen lines this way. rows_left (lines of the long operand) and columns_left exist
// from `c` on.
template <fp64_policy P> AP_DEV void store_lane_packs(const tiled_problem& p, const fp64_sums<P>& sum, int i,
                                                      float* c, int rows_left, int columns_left, int g,
                                                      int q) {
  using sums = fp64_sums<P>;
  AP_UNROLL
  for (int e = 0; e < 2; ++e) {
    float* const row = c + (2 * g + e) * p.long_stride + sums::wide * q;
    pack<float, sums::wide> before[sums::across] = {};
    const auto there = [&](int n) {
      return 2 * g + e < rows_left && 8 * sums::two * n + sums::wide * q < columns_left;
    };
    if (p.end.beta != 0) {
      AP_UNROLL
      for (int n = 0; n < sums::across; ++n)
        if (there(n)) before[n] = load_pack<sums::wide>(row + 8 * sums::two * n);
    }
    AP_UNROLL
    for (int n = 0; n < sums::across; ++n) {
      const typename sums::cell v = sum.at(i * sums::across + n);
      pack<float, sums::wide> four;
      AP_UNROLL
      for (int j = 0; j < sums::wide; ++j)
        four.element[j] = blend(p.end, static_cast<float>(v.value[e][j]), &before[n].element[j]);
      if (there(n)) store_pack<sums::wide>(row + 8 * sums::two * n, four);
    }
  }
}

template <fp64_policy P> struct fp64_store {
  using params = tiled_problem;
  using sums = fp64_sums<P>;
  using cell = typename sums::cell;
  // apart: columns from a lane's cell to its next one
  static constexpr int wide = sums::wide, apart = 8 * sums::two;

  const params& p;
  const fp64_work& w;
  cell_place origin;  // of the first cell
  float* c;           // its first output
  packing packs;

  AP_DEV fp64_store(const params& problem, const fp64_work& work, cell_place first)
      : p(problem), w(work), origin(first) {
    c = member_of(p, w);
    // without an array of pointers the host has checked this
    const bool aligned = p.c_member == nullptr || reinterpret_cast<std::uintptr_t>(c) % 16 == 0;
    packs = is_whole(w) && aligned ? p.packs : packing::none;
    c += (w.top + origin.row) * p.long_stride + (w.left + origin.column) * p.short_stride;
  }

  // Start of the member's C.
  AP_DEV static float* member_of(const params& p, const fp64_work& w) {
    return p.c_member != nullptr ? p.c_member[w.member] : p.c + w.member * p.batch_stride;
  }
  // Whether all lines of the tile exist.
  AP_DEV static bool is_whole(const fp64_work& w) {
    return w.long_left >= P.tile.m && w.short_left >= P.tile.n;
  }
  // Place of a lane's n-th cell. Adjacent cells of a lane are 16 lines of the long operand or `apart` lines
  // of the short one away.
  AP_DEV static cell_place place_of(int n, int lane) {
    const int warp = lane / warp_size, g = lane % warp_size / 4, q = lane % 4;
    return {warp % P.warps.m * sums::rows + n / sums::across * 16 + 2 * g,
            warp / P.warps.m * sums::columns + n % sums::across * apart + wide * q};
  }

  // Stores Down x Across cells from the first one on; nth(n) is cell n.
  template <int Down, int Across> AP_DEV void store(auto nth) const {
    if (P.finishes || packs == packing::none) return each_cell<Down, Across>(nth);
    if (packs == packing::along_short) return packs_along_short<wide, Down, Across>(nth);
    if (packs == packing::pairs_along_short) return packs_along_short<2, Down, Across>(nth);
    pairs_along_long<Down, Across>(nth);
  }

 private:
  template <int Wide> AP_DEV pack<float, Wide> blended(const pack<float, Wide>& before, auto value) const {
    pack<float, Wide> out;
    AP_UNROLL
    for (int e = 0; e < Wide; ++e)
      out.element[e] = blend(p.end, static_cast<float>(value(e)), &before.element[e]);
    return out;
  }
  // Stores `Count` packs, the n-th at place(n). All of C is read before the first is written, so that the
  // reads overlap.
  template <int Wide, int Count> AP_DEV void store_packs(auto place, auto value) const {
    pack<float, Wide> before[Count] = {};
    if (p.end.beta != 0) {
      AP_UNROLL
      for (int n = 0; n < Count; ++n) before[n] = load_pack<Wide>(place(n));
    }
    AP_UNROLL
    for (int n = 0; n < Count; ++n)
      store_pack<Wide>(place(n), blended(before[n], [&](int e) { return value(n, e); }));
  }
  template <int Wide, int Down, int Across> AP_DEV void packs_along_short(auto nth) const {
    constexpr int of_row = wide / Wide;  // packs of a cell's row
    AP_UNROLL
    for (int i = 0; i < Down; ++i) {
      cell v[Across];
      AP_UNROLL
      for (int j = 0; j < Across; ++j) v[j] = nth(i * Across + j);
      float* const row = c + 16 * i * p.long_stride;
      store_packs<Wide, 2 * Across * of_row>(
          [&](int n) {
            return row + n / (Across * of_row) * p.long_stride + n / of_row % Across * apart +
                   n % of_row * Wide;
          },
          [&](int n, int e) {
            return v[n / of_row % Across].value[n / (Across * of_row)][n % of_row * Wide + e];
          });
    }
  }
  template <int Down, int Across> AP_DEV void pairs_along_long(auto nth) const {
    AP_UNROLL
    for (int j = 0; j < Across; ++j) {
      cell v[Down];
      AP_UNROLL
      for (int i = 0; i < Down; ++i) v[i] = nth(i * Across + j);
      float* const column = c + j * apart * p.short_stride;
      store_packs<2, Down * wide>([&](int n) { return column + n % wide * p.short_stride + 16 * (n / wide); },
                                  [&](int n, int e) { return v[n / wide].value[e][n % wide]; });
    }
  }
  // Cell by cell: with an epilogue, at edges, or without packs.
  template <int Down, int Across> AP_DEV void each_cell(auto nth) const {
    AP_UNROLL
    for (int i = 0; i < Down; ++i) {
      AP_UNROLL
      for (int j = 0; j < Across; ++j) {
        float* const first = c + 16 * i * p.long_stride + j * apart * p.short_stride;
        store_cell({origin.row + 16 * i, origin.column + j * apart}, first, nth(i * Across + j));
      }
    }
  }
  AP_DEV void store_cell(cell_place here, float* first, const cell& v) const {
    const std::int64_t row = w.top + here.row, column = w.left + here.column;
    const std::int64_t rows_left = p.of_long.lines - row, columns_left = p.of_short.lines - column;
    float out[2][wide] = {};
    AP_UNROLL
    for (int i = 0; i < 2; ++i) {
      AP_UNROLL
      for (int j = 0; j < wide; ++j) {
        if (i >= rows_left || j >= columns_left) continue;
        const float sum = static_cast<float>(v.value[i][j]);
        const float* const old = first + i * p.long_stride + j * p.short_stride;
        if constexpr (P.finishes)
          out[i][j] = finished(p.end, sum, row + i, column + j, w.member, old);
        else
          out[i][j] = blend(p.end, sum, old);
      }
    }
    AP_UNROLL
    for (int i = 0; i < 2; ++i) {
      float* const to = first + i * p.long_stride;
      if (P.finishes && packs == packing::along_short) {
        pack<float, wide> all;
        AP_UNROLL
        for (int j = 0; j < wide; ++j) all.element[j] = out[i][j];
        store_pack<wide>(to, all);
        continue;
      }
      AP_UNROLL
      for (int j = 0; j < wide; ++j)
        if (i < rows_left && j < columns_left) to[j * p.short_stride] = out[i][j];
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
