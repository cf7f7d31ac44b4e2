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
// Products of FP32 are exact in FP64 and none overflows. Of a sum of three or four that is small beside its products, by 2^-10, what FP64
// has cut off may be seen: exact_sum computes it again. Larger ones are off by 2^-40 of them at most.
struct short_product {
  static constexpr int threads = short_warps * warp_size, blocks_wanted = 4;
  static constexpr bool overlaps_previous = true;
  using params = short_problem;
  struct storage {};

 private:
  static constexpr int rows = short_rows, columns = short_columns;
  struct row_of_c {
    std::int64_t member, row, column;
    float* c;  // its output in that column
    int left;  // columns of C from there on, up to `columns`
    bool whole;
  };

  // With its bias; 0 of zero.
  AP_DEV static int exponent_of(double x) { return static_cast<int>(bit_cast<std::uint64_t>(x) >> 52 & 0x7FF); }
  // Of the largest element.
  AP_DEV static int exponent_of(const double (&x)[short_k]) {
    int largest = 0;
    AP_UNROLL
    for (int at = 0; at < short_k; ++at) largest = exponent_of(x[at]) > largest ? exponent_of(x[at]) : largest;
    return largest;
  }
  AP_DEV static double multiply(const double (&a)[short_k], const double (&b)[short_k]) {
    double sum = 0;
    AP_UNROLL
    for (int at = 0; at < short_k; ++at) sum = multiply_add(a[at], b[at], sum);
    return sum;
  }
  AP_DEV static double exact(const double (&a)[short_k], const double (&b)[short_k]) {
    exact_sum sum;
    AP_UNROLL
    for (int at = 0; at < short_k; ++at) sum.add(a[at] * b[at]);
    return sum.value + sum.cut;
  }
  AP_DEV static void store(const params& p, const row_of_c& at, const double (&sum)[columns]) {
    pack<float, columns> out{};
    const bool reads_c = p.end.beta != 0 && p.end.residual.data == nullptr;
    if (at.whole && reads_c) out = load_pack<columns>(at.c);
    AP_UNROLL
    for (int j = 0; j < columns; ++j) {
      if (j >= at.left) continue;
      const float here = static_cast<float>(sum[j]);
      const float* const old = at.whole ? &out.element[j] : at.c + j * p.c.column_stride;
      out.element[j] = p.end.plain ? blend(p.end, here, old) : finished(p.end, here, at.row, at.column + j, at.member, old);
    }
    if (at.whole) return store_pack<columns>(at.c, out);
    AP_UNROLL
    for (int j = 0; j < columns; ++j)
      if (j < at.left) at.c[j * p.c.column_stride] = out.element[j];
  }

 public:
  // kernel ----------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    constexpr int visible = 10, bias = 1023, not_finite = 0x7FF;
    wait_for_previous_grid();
    start_next_grid();
    const std::uint32_t tile = block_index().x, row_of_tiles = tile / p.tiles_across;
    const int lanes = p.lanes, below = warp_size / lanes;  // rows of a warp at a time
    const std::int64_t member = row_of_tiles / p.tiles_down;
    const std::int64_t top = std::int64_t{row_of_tiles % p.tiles_down} * (short_warps * rows * below);
    const std::int64_t column = std::int64_t{tile % p.tiles_across} * (columns * lanes) + lane_index() % lanes * columns;
    if (column >= p.columns) return;
    const float* const a = p.a_of != nullptr ? p.a_of[member] : p.a.data + member * p.a.member_stride;
    const float* const b = p.b_of != nullptr ? p.b_of[member] : p.b.data + member * p.b.member_stride;
    float* const c = p.c_of != nullptr ? p.c_of[member] : p.c.data + member * p.c.member_stride;
    const bool aligned = p.c_of == nullptr || reinterpret_cast<std::uintptr_t>(c) % 16 == 0;  // of the others the host knows it
    const int left = p.columns - column < columns ? static_cast<int>(p.columns - column) : columns;

    double of_b[columns][short_k] = {};
    int exponent_of_b[columns];
    AP_UNROLL
    for (int j = 0; j < columns; ++j) {
      AP_UNROLL
      for (int at = 0; at < short_k; ++at)
        if (j < left && at < p.k) of_b[j][at] = b[at * p.b.row_stride + (column + j) * p.b.column_stride];
      exponent_of_b[j] = exponent_of(of_b[j]) - bias - visible;
    }
    std::int64_t row = top + (warp_index() * rows * warp_size + lane_index()) / lanes;
    AP_ROLLED
    for (int i = 0; i < rows && row < p.rows; ++i, row += below) {
      double of_a[short_k] = {};
      AP_UNROLL
      for (int at = 0; at < short_k; ++at)
        if (at < p.k) of_a[at] = a[row * p.a.row_stride + at * p.a.column_stride];
      double sum[columns];
      AP_UNROLL
      for (int j = 0; j < columns; ++j) sum[j] = multiply(of_a, of_b[j]);
      if (p.k > 2) {
        const int exponent_of_a = exponent_of(of_a);
        AP_UNROLL
        for (int j = 0; j < columns; ++j)
          if (const int e = exponent_of(sum[j]); e < exponent_of_a + exponent_of_b[j] && e != not_finite) sum[j] = exact(of_a, of_b[j]);
      }
      store(p, {member, row, column, c + row * p.c.row_stride + column * p.c.column_stride, left, p.packs && aligned && left == columns},
            sum);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
