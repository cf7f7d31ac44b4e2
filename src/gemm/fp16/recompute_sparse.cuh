// SPDX-License-Identifier: Apache-2.0
// Recomputes outputs of lines of few nonzeros, from the original operands and exactly.
#pragma once
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/warp.cuh>
#include "src/gemm/fp16/line_kinds.cuh"
#include "src/gemm/fp16/recompute_shape.cuh"
#include "src/gemm/operands/exact_sum.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Outputs that one lane computes at once: all is read before the first sum, and C before the first of it is
// written.
template <int Count> struct exact_outputs {
  bool wanted[Count];
  std::int64_t row[Count], column[Count];
  int k[Count][sparse_nonzeros];  // of the products; -1: none

  // Of any output of the warp.
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
  // With more sparse columns than these, lanes take them side by side: rows of C are written as a whole then.
  constexpr int few_columns = 8;
  static_assert(shape::rows == warp_size && columns == 2);
  const int warp = member / warp_size, lane = member % warp_size;
  top += warp / 2 * shape::rows, left += warp % 2 * shape::columns;
  const known_line mine(a, top + lane), of_b[columns] = {{b, left + lane}, {b, left + warp_size + lane}};
  const unsigned sparse_rows = mine.all_sparse(), with_sparse = mine.all_partners();
  unsigned sparse_columns[columns] = {of_b[0].all_sparse(), of_b[1].all_sparse()};
  const bool many = bit_count(sparse_columns[0]) + bit_count(sparse_columns[1]) > few_columns;
  // Takes the lines of a set one after the other.
  const auto next = [](unsigned& left_over) {
    int first = 0;
    for (; (left_over >> first & 1u) == 0; ++first) {
    }
    left_over &= left_over - 1;
    return first;
  };
  // Row by row, with the lane's columns: sparse rows, or all with what is sparse.
  unsigned rows = many ? sparse_rows | with_sparse : sparse_rows;
  AP_ROLLED
  while (rows != 0) {
    constexpr int at_once = 4;
    exact_outputs<at_once * columns> out;
    AP_UNROLL
    for (int i = 0; i < at_once; ++i) {
      const bool any = rows != 0;
      const int from = any ? next(rows) : 0;
      const bool sparse = (sparse_rows >> from & 1u) != 0;
      AP_UNROLL
      for (int j = 0; j < columns; ++j) {
        const int o = i * columns + j;
        out.row[o] = top + from, out.column[o] = of_b[j].number;
        out.wanted[o] = any && (sparse ? of_b[j].partner : of_b[j].sparse) && out.column[o] < p.n();
        AP_UNROLL
        for (int n = 0; n < sparse_nonzeros; ++n) {
          const int of_row = shuffle(mine.indices.k[n], from);
          out.k[o][n] = sparse ? of_row : of_b[j].indices.k[n];
        }
      }
    }
    out.store(p);
  }
  if (many) return;
  // Few sparse columns, with the lane's row, unless that is sparse too.
  AP_UNROLL
  for (int j = 0; j < columns; ++j) {
    AP_ROLLED
    while (sparse_columns[j] != 0) {
      constexpr int at_once = 4;
      exact_outputs<at_once> out;
      AP_UNROLL
      for (int o = 0; o < at_once; ++o) {
        const bool any = sparse_columns[j] != 0;
        const int from = any ? next(sparse_columns[j]) : 0;
        out.row[o] = mine.number, out.column[o] = left + j * warp_size + from;
        out.wanted[o] = any && mine.partner && !mine.sparse && out.column[o] < p.n();
        AP_UNROLL
        for (int n = 0; n < sparse_nonzeros; ++n) out.k[o][n] = shuffle(of_b[j].indices.k[n], from);
      }
      out.store(p);
    }
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
