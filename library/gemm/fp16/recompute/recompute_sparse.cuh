// SPDX-License-Identifier: Apache-2.0
// Recomputes outputs of lines of few nonzeros, from the original operands and exactly.
#pragma once
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/warp.cuh>
#include "library/gemm/fp16/recompute/line_kinds.cuh"
#include "library/gemm/fp16/recompute/recompute_shape.cuh"
#include "library/gemm/operands/exact_sum.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Outputs that one lane computes at once: all is read before the first sum, and C before the first of it is
// written.
template <int Count> struct exact_outputs {
  bool wanted[Count];
  std::int64_t row[Count], column[Count];
  int k[Count][sparse_nonzeros];  // of the products; -1: none

  // The most products that an output of the warp has.
  AP_DEV int most_products() const {
    int most = 1;
    AP_UNROLL
    for (int n = 1; n < sparse_nonzeros; ++n) {
      bool any = false;
      AP_UNROLL
      for (int o = 0; o < Count; ++o) any = any || (wanted[o] && k[o][n] >= 0);
      if (ballot(any) != 0) most = n + 1;
    }
    return most;
  }
  template <class Problem> AP_DEV void store(const Problem& p) const {
    float a[sparse_nonzeros][Count] = {}, b[sparse_nonzeros][Count] = {};
    // Most lines that are sparse have one or two nonzeros.
    const int most = most_products();
    AP_UNROLL
    for (int n = 0; n < sparse_nonzeros; ++n) {
      if (n >= most) break;
      AP_UNROLL
      for (int o = 0; o < Count; ++o) {
        if (!wanted[o] || k[o][n] < 0) continue;
        a[n][o] = p.a(row[o], k[o][n]), b[n][o] = p.b(k[o][n], column[o]);
      }
    }
    exact_sum sum[Count];
    AP_UNROLL
    for (int n = 0; n < sparse_nonzeros; ++n) {
      if (n >= most) break;
      AP_UNROLL
      for (int o = 0; o < Count; ++o) sum[o].add(double{a[n][o]} * b[n][o]);
    }
    float result[Count];
    AP_UNROLL
    for (int o = 0; o < Count; ++o)
      if (wanted[o])
        result[o] = stored(p, static_cast<float>(sum[o].value + sum[o].cut), row[o], column[o],
                           &p.c(row[o], column[o]));
    AP_UNROLL
    for (int o = 0; o < Count; ++o)
      if (wanted[o]) p.c(row[o], column[o]) = result[o];
  }
};

// What a lane knows of one line of its warp's part of a tile, and all lanes of all.
struct known_line {
  std::int64_t number;
  bool sparse, partner;  // partner: outputs with a sparse line are computed
  sparse_indices indices;

  AP_DEV known_line(const split_operand& of, std::int64_t line) : number(line), indices{} {
    const split_line facts = line < of.lines ? of.line[line] : split_line{2 * 0x1p60f, 0, 0, 0};
    sparse = is_sparse(facts), partner = is_finite(facts) && facts.nonzeros > 0;
    for (int& k : indices.k) k = -1;
    if (sparse) indices = of.sparse[line];
  }
  AP_DEV unsigned all_sparse() const { return ballot(sparse); }
  AP_DEV unsigned all_partners() const { return ballot(partner); }
};

// Outputs of the tile at (top, left) in sparse rows of A or sparse columns of B. Those of lines with an
// infinity or NaN are not of these. a, b: the rows of A and the columns of B, as the split pass has described
// them. `member`: of 256 threads, as in recompute.cuh.
template <class Problem> AP_DEV void recompute_sparse(const Problem& p, std::int64_t top, std::int64_t left,
                                                      const split_operand& a, const split_operand& b,
                                                      int member) {
  using shape = recompute_shape;
  constexpr int columns = shape::columns / warp_size;  // of a lane
  // Sparse columns up to which they are taken one by one; with more, all rows are, along which C is written.
  constexpr int few_columns = 8;
  static_assert(shape::rows == warp_size && columns == 2);
  const int warp = member / warp_size, lane = member % warp_size;
  top += warp / 2 * shape::rows, left += warp % 2 * shape::columns;
  const known_line mine(a, top + lane), of_b[columns] = {{b, left + lane}, {b, left + warp_size + lane}};
  const std::uint32_t sparse_rows = mine.all_sparse();
  // Lines to take, one after the other: rows with the lane's columns, then columns with the lane's row.
  std::uint64_t rows = sparse_rows,
                of_columns = of_b[0].all_sparse() | std::uint64_t{of_b[1].all_sparse()} << warp_size;
  if (bit_count(of_columns) > few_columns) rows |= mine.all_partners(), of_columns = 0;
  // One piece of code for both: where it stood here three times, dense products of few k took 2 % longer.
  AP_ROLLED
  while ((rows | of_columns) != 0) {
    constexpr int count = 8;
    const bool by_rows = rows != 0;
    std::uint64_t left_over = by_rows ? rows : of_columns;
    exact_outputs<count> out;
    bool any = false;
    int line = 0;
    AP_UNROLL
    for (int o = 0; o < count; ++o) {
      const known_line& own = of_b[o % columns];
      if (!by_rows || o % columns == 0) {
        any = left_over != 0;
        line = any ? bit_count((left_over & (0 - left_over)) - 1) : 0;
        left_over &= left_over - 1;
      }
      const bool is_sparse = by_rows && (sparse_rows >> line % warp_size & 1u) != 0;
      out.row[o] = by_rows ? top + line : mine.number;
      out.column[o] = by_rows ? own.number : left + line;
      out.wanted[o] = any && out.column[o] < p.n() &&
                      (is_sparse ? own.partner
                       : by_rows ? own.sparse
                                 : mine.partner && !mine.sparse);
      AP_UNROLL
      for (int n = 0; n < sparse_nonzeros; ++n) {
        const int of_line = by_rows            ? mine.indices.k[n]
                            : line < warp_size ? of_b[0].indices.k[n]
                                               : of_b[1].indices.k[n];
        const int shared = shuffle(of_line, line % warp_size);
        out.k[o][n] = by_rows && !is_sparse ? own.indices.k[n] : shared;
      }
    }
    if (by_rows)
      rows = left_over;
    else
      of_columns = left_over;
    out.store(p);
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
