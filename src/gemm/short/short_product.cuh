// SPDX-License-Identifier: Apache-2.0
// Products with up to four values of k: reading and writing are all the work (sm_75).
#pragma once
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include "src/gemm/blend.cuh"
#include "src/gemm/exact_sum.cuh"
#include "src/gemm/finished.cuh"
#include "src/gemm/short/short_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
// A lane keeps its columns of B in registers and walks down its rows:
//   load B | load a row of A | multiply | store
// The rows of A for the next step are loaded before the present ones are multiplied. Small members of a batch are stacked: their rows count
// on, and B is loaded for each row.
// Products of FP32 are exact in FP64 and none overflows. Of a sum of three or four that is small beside its products, by 2^-16, what FP64
// has cut off may be seen: exact_sum computes it again. Larger ones are off by 2^-31 of them at most: three additions of less than 2^4
// times the product of the largest elements' powers of two.
template <bool Finishes> struct short_product {
  static constexpr int threads = short_warps * warp_size, blocks_wanted = 2;
  static constexpr bool overlaps_previous = true;
  using params = short_problem;
  struct storage {};

 private:
  static constexpr int rows = short_rows, columns = short_columns;
  static constexpr int visible = 16, bias = 1023, not_finite = 0x7FF;  // of exponents of FP64
  struct row_of_c {
    std::int64_t member, row, column;
    float* c;  // its output in that column
    int left;  // columns of C from there on, up to `columns`
    bool whole;
  };

  // With its bias; 0 of zero.
  AP_DEV static int exponent_of(double x) { return static_cast<int>(bit_cast<std::uint64_t>(x) >> 52 & 0x7FF); }
  template <class T> AP_DEV static int largest_exponent(const T (&x)[short_k]) {
    int largest = 0;
    AP_UNROLL
    for (int at = 0; at < short_k; ++at) {
      const int here = exponent_of(double{x[at]});
      largest = here > largest ? here : largest;
    }
    return largest;
  }
  AP_DEV static void multiply(double (&sum)[columns], const float (&a)[short_k], const double (&b)[columns][short_k],
                              const int (&exponent_of_b)[columns], bool may_cancel) {
    AP_UNROLL
    for (int j = 0; j < columns; ++j) sum[j] = 0;
    AP_UNROLL
    for (int at = 0; at < short_k; ++at) {
      AP_UNROLL
      for (int j = 0; j < columns; ++j) sum[j] = multiply_add(double{a[at]}, b[j][at], sum[j]);
    }
    if (!may_cancel) return;
    const int exponent_of_a = largest_exponent(a);
    unsigned small = 0;  // by column
    AP_UNROLL
    for (int j = 0; j < columns; ++j)
      if (const int e = exponent_of(sum[j]); e < exponent_of_a + exponent_of_b[j] && e != not_finite) small |= 1u << j;
    AP_ROLLED
    for (int j = 0; small >> j != 0; ++j)
      if ((small >> j & 1u) != 0) put(sum, j, exact(a, b, j));
  }
  // Column j of a lane's columns, taken and put in such a way that all stay in registers.
  AP_DEV static double taken(const double (&b)[columns][short_k], int at, int j) {
    double x = b[0][at];
    AP_UNROLL
    for (int n = 1; n < columns; ++n) x = n == j ? b[n][at] : x;
    return x;
  }
  AP_DEV static void put(double (&sum)[columns], int j, double x) {
    AP_UNROLL
    for (int n = 0; n < columns; ++n) sum[n] = n == j ? x : sum[n];
  }
  // Of a sum that has been found to be small, which is rare: code that runs hardly ever is kept short.
  AP_DEV static double exact(const float (&a)[short_k], const double (&b)[columns][short_k], int j) {
    exact_sum sum;
    AP_UNROLL
    for (int at = 0; at < short_k; ++at) sum.add(double{a[at]} * taken(b, at, j));
    return sum.value + sum.cut;
  }
  AP_DEV static void store(const params& p, const row_of_c& at, const double (&sum)[columns]) {
    pack<float, columns> out{};
    const bool reads_c = p.end.beta != 0 && (!Finishes || p.end.residual.data == nullptr);
    if (at.whole && reads_c) out = load_pack<columns>(at.c);
    AP_UNROLL
    for (int j = 0; j < columns; ++j) {
      if (j >= at.left) continue;
      const float here = static_cast<float>(sum[j]);
      const float before = at.whole ? out.element[j] : reads_c ? at.c[j * p.c.column_stride] : 0;
      if constexpr (Finishes)
        out.element[j] = finished(p.end, here, at.row, at.column + j, at.member, &before);
      else
        out.element[j] = blend(p.end, here, &before);
    }
    if (at.whole) return store_pack<columns>(at.c, out);
    AP_UNROLL
    for (int j = 0; j < columns; ++j)
      if (j < at.left) at.c[j * p.c.column_stride] = out.element[j];
  }

  struct lines_of_b {
    double x[columns][short_k];
    int exponent[columns];  // of the largest element that an output's sum may be small beside
  };
  AP_DEV static lines_of_b load_b(const params& p, std::int64_t member, std::int64_t column, int left) {
    const float* const b = p.b_of != nullptr ? p.b_of[member] : p.b.data + member * p.b.member_stride;
    lines_of_b to = {};
    AP_UNROLL
    for (int j = 0; j < columns; ++j) {
      AP_UNROLL
      for (int at = 0; at < short_k; ++at)
        if (j < left && at < p.k) to.x[j][at] = b[at * p.b.row_stride + (column + j) * p.b.column_stride];
    }
    AP_UNROLL
    for (int j = 0; j < columns; ++j) to.exponent[j] = largest_exponent(to.x[j]) - bias - visible;
    return to;
  }
  AP_DEV static void load_a(const params& p, const float* a, std::int64_t row, float (&to)[short_k]) {
    AP_UNROLL
    for (int at = 0; at < short_k; ++at) to[at] = row < p.rows && at < p.k ? a[row * p.a.row_stride + at * p.a.column_stride] : 0;
  }
  AP_DEV static const float* a_of(const params& p, std::int64_t member) {
    return p.a_of != nullptr ? p.a_of[member] : p.a.data + member * p.a.member_stride;
  }
  // A member's C, and whether packs of its columns are aligned: of pointers the host does not know it.
  AP_DEV static float* c_of(const params& p, std::int64_t member) {
    return p.c_of != nullptr ? p.c_of[member] : p.c.data + member * p.c.member_stride;
  }
  AP_DEV static bool packs(const params& p, const float* c, int left) {
    return p.packs && left == columns && (p.c_of == nullptr || reinterpret_cast<std::uintptr_t>(c) % 16 == 0);
  }
  AP_DEV static void multiply_row(const params& p, const float (&a)[short_k], const lines_of_b& b, std::int64_t member, std::int64_t row,
                                  std::int64_t column, float* c, int left) {
    double sum[columns];
    multiply(sum, a, b.x, b.exponent, p.k > 2);
    store(p, {member, row, column, c + row * p.c.row_stride + column * p.c.column_stride, left, packs(p, c, left)}, sum);
  }
  // From row `first` on, every `below`-th.
  AP_DEV static void multiply_member(const params& p, std::int64_t member, std::int64_t first, int below, std::int64_t column, int left) {
    const lines_of_b b = load_b(p, member, column, left);
    const float* const a = a_of(p, member);
    float* const c = c_of(p, member);
    float now[rows][short_k], next[rows][short_k] = {};
    AP_UNROLL
    for (int i = 0; i < rows; ++i) load_a(p, a, first + i * below, now[i]);
    AP_ROLLED
    for (int step = 0; step < p.steps; ++step, first += rows * below) {
      if (step + 1 < p.steps) {
        AP_UNROLL
        for (int i = 0; i < rows; ++i) load_a(p, a, first + (rows + i) * below, next[i]);
      }
      AP_UNROLL
      for (int i = 0; i < rows; ++i) {
        if (first + i * below >= p.rows) return;
        multiply_row(p, now[i], b, member, first + i * below, column, c, left);
        AP_UNROLL
        for (int at = 0; at < short_k; ++at) now[i][at] = next[i][at];
      }
    }
  }
  AP_DEV static void multiply_stacked(const params& p, std::int64_t first, int below, std::int64_t column, int left) {
    const std::int64_t end = p.rows * p.count;
    AP_ROLLED
    for (int i = 0; i < rows * p.steps; ++i, first += below) {
      if (first >= end) return;
      const std::int64_t member = first / p.rows, row = first % p.rows;
      float a[short_k];
      load_a(p, a_of(p, member), row, a);
      multiply_row(p, a, load_b(p, member, column, left), member, row, column, c_of(p, member), left);
    }
  }

 public:
  // kernel ----------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    wait_for_previous_grid();
    start_next_grid();
    const int warp = warp_index();  // while all lanes are there
    const std::uint32_t tile = block_index().x, row_of_tiles = tile / p.tiles_across;
    const int below = warp_size / p.lanes, of_warp = rows * p.steps * below;  // rows of a warp: at a time, in all
    const std::int64_t column = std::int64_t{tile % p.tiles_across} * (columns * p.lanes) + lane_index() % p.lanes * columns;
    if (column >= p.columns) return;
    const int left = p.columns - column < columns ? static_cast<int>(p.columns - column) : columns;
    const std::int64_t first =
        std::int64_t{row_of_tiles % p.tiles_down} * (short_warps * of_warp) + warp * of_warp + lane_index() / p.lanes;
    if (p.stacked)
      multiply_stacked(p, first, below, column, left);
    else
      multiply_member(p, row_of_tiles / p.tiles_down, first, below, column, left);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
