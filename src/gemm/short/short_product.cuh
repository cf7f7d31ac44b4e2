// SPDX-License-Identifier: Apache-2.0
// Products with so few values of k that reading and writing are the work: sums in FP64, one launch, no workspace (sm_75).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/vector.cuh>
#include "src/gemm/exact_sum.cuh"
#include "src/gemm/short/short_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
// A block computes a tile of C, a thread 4 x 8 of its outputs. All of k fits into shared memory, so no ring is needed:
//   load | classify lines | multiply | store
// Products of FP32 are exact in FP64 and none overflows. A line, a row of A or a column of B, is sparse if it has three or four nonzeros:
// exact_sum then keeps the digits that FP64 cuts off, where they can be seen, which is in small results of large elements. With fewer
// nonzeros nothing visible is cut off, with more nothing is promised.
struct short_product {
  static constexpr int threads = 256, blocks_wanted = 2;
  static constexpr int tile_rows = short_tile.m, tile_columns = short_tile.n;
  static constexpr int across = 16, rows = 4, columns = 8;  // threads side by side; outputs of a thread
  static_assert(across * rows == tile_rows && across * columns == tile_columns && across * across == threads);

  // params ----------------------------------------------------------------------------------------------------------------------
  using params = problem;

  // storage ---------------------------------------------------------------------------------------------------------------------
  enum class line_kind : std::uint8_t { ordinary, sparse, infinite };
  template <int Lines> struct operand {
    alignas(16) double element[short_k][Lines + 2];  // padded: lines are written side by side in k, too
    line_kind kind[Lines];
    std::int16_t exponent[Lines];  // of the largest element, with FP64's bias
  };
  struct storage {
    operand<tile_rows> a;
    operand<tile_columns> b;
  };

 private:
  // load, classify lines -------------------------------------------------------------------------------------------------------
  // Zeros beyond the end. Neighbouring threads read neighbours in memory.
  template <int Lines> AP_DEV static void load(operand<Lines>& to, const operand_lines& from, std::int64_t first) {
    const int k = static_cast<int>(from.k);
    const bool along_k = from.k_stride == 1;
    for (int i = thread_index(); i < Lines * k; i += threads) {
      const int line = along_k ? i / k : i % Lines, at = along_k ? i % k : i / Lines;
      const std::int64_t l = first + line;
      to.element[at][line] = l < from.lines ? from.data[l * from.line_stride + at * from.k_stride] : 0;
    }
  }
  template <int Lines> AP_DEV static void classify_line(operand<Lines>& o, int k, int line) {
    int nonzeros = 0, largest = 0;
    bool finite = true;
    for (int at = 0; at < k; ++at) {
      const double x = o.element[at][line];
      nonzeros += x != 0;
      finite = finite && x - x == 0;
      const int here = exponent_of(x);
      largest = here > largest ? here : largest;
    }
    o.kind[line] = !finite ? line_kind::infinite : nonzeros == 3 || nonzeros == 4 ? line_kind::sparse : line_kind::ordinary;
    o.exponent[line] = static_cast<std::int16_t>(largest);
  }
  // With its bias; 0 of zero.
  AP_DEV static int exponent_of(double x) { return static_cast<int>(bit_cast<std::uint64_t>(x) >> 52 & 0x7FF); }

  // multiply, store -------------------------------------------------------------------------------------------------------------
  // Thread t has 4 lines from 4 t on, and 4 more half a tile further: packets of C, and no bank conflicts.
  AP_DEV static int line_of(int thread, int i) { return 4 * thread + i % 4 + i / 4 * 4 * across; }
  template <int N> AP_DEV static void read(double (&to)[N], const double* line, int thread) {
    AP_UNROLL
    for (int i = 0; i < N; i += 2) {
      const pack<double, 2> two = load_pack<2>(line + line_of(thread, i));
      to[i] = two.element[0];
      to[i + 1] = two.element[1];
    }
  }
  using sums = double[rows][columns];
  AP_DEV static void multiply(sums& sum, const storage& s, int k, int y, int x) {
    for (int at = 0; at < k; ++at) {
      double a[rows], b[columns];
      read(a, s.a.element[at], y);
      read(b, s.b.element[at], x);
      AP_UNROLL
      for (int i = 0; i < rows; ++i) {
        AP_UNROLL
        for (int j = 0; j < columns; ++j) sum[i][j] = multiply_add(a[i], b[j], sum[i][j]);
      }
    }
  }
  AP_DEV static void store(const params& p, const sums& sum, std::int64_t top, std::int64_t left, int y, int x) {
    const bool packets = p.c.column_stride == 1 && p.c.row_stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(p.c.data) % 16 == 0;
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      const std::int64_t row = top + line_of(y, i);
      if (row >= p.m()) continue;
      AP_UNROLL
      for (int j = 0; j < columns; j += 4) {
        const std::int64_t column = left + line_of(x, j);
        float* const c = &p.c(row, column);
        if (packets && column + 4 <= p.n()) {
          pack<float, 4> out{};
          if (p.beta != 0) out = load_pack<4>(c);
          AP_UNROLL
          for (int e = 0; e < 4; ++e) out.element[e] = blend(p, static_cast<float>(sum[i][j + e]), &out.element[e]);
          store_pack<4>(c, out);
        } else {
          AP_UNROLL
          for (int e = 0; e < 4; ++e)
            if (column + e < p.n()) store_rounded(p, row, column + e, sum[i][j + e]);
        }
      }
    }
  }

  // Replaces the sums of sparse lines that are so small beside the lines' elements, by 2^-10, that what FP64 has cut off may be seen: of
  // four products that is at most 2^-50 of the largest, so 2^-40 of other results.
  AP_DEV static void mend(sums& sum, const storage& s, int k, int y, int x) {
    constexpr int visible = 10, bias = 1023;
    int exponent_of_row[rows], exponent_of_column[columns];
    unsigned sparse_rows = 0, sparse_columns = 0;
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      exponent_of_row[i] = s.a.exponent[line_of(y, i)] - bias - visible;
      sparse_rows |= static_cast<unsigned>(s.a.kind[line_of(y, i)] == line_kind::sparse) << i;
    }
    AP_UNROLL
    for (int j = 0; j < columns; ++j) {
      exponent_of_column[j] = s.b.exponent[line_of(x, j)];
      sparse_columns |= static_cast<unsigned>(s.b.kind[line_of(x, j)] == line_kind::sparse) << j;
    }
    if ((sparse_rows | sparse_columns) == 0) return;
    unsigned small = 0;  // outputs, by bit
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      AP_UNROLL
      for (int j = 0; j < columns; ++j) {
        const bool sparse = ((sparse_rows >> i | sparse_columns >> j) & 1u) != 0;
        const bool is_small = exponent_of(sum[i][j]) < exponent_of_row[i] + exponent_of_column[j];
        small |= static_cast<unsigned>(sparse && is_small) << (i * columns + j);
      }
    }
    AP_ROLLED
    for (int output = 0; small >> output != 0; ++output) {
      if ((small >> output & 1u) == 0) continue;
      const int row = line_of(y, output / columns), column = line_of(x, output % columns);
      exact_sum exact;
      AP_ROLLED
      for (int at = 0; at < k; ++at) exact.add(s.a.element[at][row] * s.b.element[at][column]);
      AP_UNROLL
      for (int i = 0; i < rows; ++i) {
        AP_UNROLL
        for (int j = 0; j < columns; ++j)  // so that the sums stay in registers
          if (i * columns + j == output) sum[i][j] = exact.value + exact.cut;
      }
      if (output == rows * columns - 1) break;  // a word cannot be shifted by all its bits
    }
  }

 public:
  // kernel ----------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const std::int64_t tiles_across = ceil_div<std::int64_t>(p.n(), tile_columns);
    const std::int64_t top = block_index().x / tiles_across * tile_rows, left = block_index().x % tiles_across * tile_columns;
    const int thread = thread_index(), y = thread / across, x = thread % across, k = static_cast<int>(p.k());
    load(s.a, rows_of_a(p), top);
    load(s.b, columns_of_b(p), left);
    block_barrier();
    if (thread < tile_rows) classify_line(s.a, k, thread);
    if (thread >= threads - tile_columns) classify_line(s.b, k, thread - (threads - tile_columns));
    block_barrier();
    sums sum = {};
    multiply(sum, s, k, y, x);
    mend(sum, s, k, y, x);
    store(p, sum, top, left, y, x);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
