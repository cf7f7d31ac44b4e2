// SPDX-License-Identifier: Apache-2.0
// How outputs of tf32 kernels are certified, computed again where that fails, and stored (sm_90a).
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <cstdint>
#include "library/gemm/operands/finish/blend.cuh"
#include "library/gemm/operands/rows_to_store.cuh"
#include "library/gemm/tf32/load/tf32_lines.cuh"
#include "library/gemm/tf32/load/tf32_operand.cuh"
#include "library/gemm/tf32/tf32_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A tile's outputs in its computing warps.
struct tf32_outputs : tf32_rows {
  // store
  // ---------------------------------------------------------------------------------------------------------
  // A lane's outputs are fragments of 16 x 8, as wgmma leaves them: value[4 f + 2 h + e] is row g + 8 h of
  // its warp and column 8 (first + f) + 2 q + e of the tile.
  static constexpr int fragments = tf32_tile.n / 8;
  AP_DEV static bool is_special(const tf32_lines& lines, int line) {
    return tf32_lines::is_sparse(lines.nonzeros[line]) || lines.sizes[line].least() < least_whole;
  }
  // Whether a line demands that each output be checked by itself: any of the tile's columns, or of the warp's
  // rows.
  AP_DEV static bool any_special_column(const tf32_lines& lines) {
    const int column = tf32_tile.m + lane_index();
    return ballot(is_special(lines, column) || is_special(lines, column + warp_size)) != 0;
  }
  AP_DEV static bool any_special(const tf32_lines& lines, const seat& t) {
    return ballot(is_special(lines, t.top + lane_index() % 16)) != 0 || any_special_column(lines);
  }
  // Whether a line has an element that loses bits: any of the tile's columns, or of the warp's rows.
  AP_DEV static bool any_small(const tf32_lines& lines, const lane_rows& rows, const seat& t) {
    const int column = tf32_tile.m + 4 * t.g + t.q;
    const auto is_small = [](const line_sizes& of) { return of.least() < least_whole; };
    return ballot(is_small(rows.sizes[0]) || is_small(rows.sizes[1]) || is_small(lines.sizes[column]) ||
                  is_small(lines.sizes[column + warp_size])) != 0;
  }
  AP_DEV static std::uint32_t least_of_warp(std::uint32_t least) {
    AP_UNROLL
    for (int by = warp_size / 2; by > 0; by /= 2) {
      const std::uint32_t other = shuffle(least, lane_index() ^ by);
      least = other < least ? other : least;
    }
    return least;
  }
  // Whether all of the warp's outputs are finite and lose nothing for lack of range, without a branch for
  // each: they reach the floor, or, zeros above all, products of the lines' least elements do. least_of_rows:
  // of any of the warp's rows, by lane. A negative zero becomes zero, as in other kernels.
  AP_DEV static bool keep_range(const params& p, const tf32_lines& lines, std::uint32_t least_of_rows,
                                sums& value) {
    std::uint32_t least = infinite, largest = 0;
    AP_UNROLL
    for (const float x : value) {
      const std::uint32_t bits = bit_cast<std::uint32_t>(x) & 0x7FFFFFFFu;
      least = bits < least ? bits : least;
      largest = bits > largest ? bits : largest;
    }
    if (ballot(least < bit_cast<std::uint32_t>(p.floor) || largest >= infinite) == 0) return true;
    AP_UNROLL
    for (int i = 0; i < registers; ++i) value[i] += 0.f;
    const std::uint32_t one = lines.sizes[tf32_tile.m + lane_index()].least(),
                        other = lines.sizes[tf32_tile.m + warp_size + lane_index()].least();
    const bool all = keeps_all(least_of_warp(least_of_rows), least_of_warp(one < other ? one : other));
    // A vote, although all lanes have the same `all`: else the compiler prepares the loop over tiles of
    // tf32_kept, which this may end, for lanes that part.
    return ballot(largest >= infinite || !all) == 0;
  }
  AP_DEV static bool is_whole(const params& p, const work& w) {
    return w.top + tf32_tile.m <= p.tiled.of_long.lines && w.left + tf32_tile.n <= p.tiled.of_short.lines;
  }
  // Outputs outside C become `floor`, so that they pass keep_range().
  AP_DEV static void hide_outside(const params& p, const work& w, const seat& t, sums& value) {
    if (is_whole(p, w)) return;
    const std::int64_t rows_left = p.tiled.of_long.lines - w.top - t.top - t.g,
                       columns_left = p.tiled.of_short.lines - w.left - 2 * t.q;
    AP_UNROLL
    for (int i = 0; i < registers; ++i)
      if (i / 2 % 2 * 8 >= rows_left || i / 4 * 8 + i % 2 >= columns_left) value[i] = p.floor;
  }
  AP_DEV static float* output_at(const params& p, const work& w, int row, int column) {
    return p.tiled.c + w.batch * p.tiled.batch_stride + (w.top + row) * p.tiled.long_stride +
           (w.left + column) * p.tiled.short_stride;
  }
  // Stores `count` fragments from `first` on, through shared memory, wherever rows of C begin.
  template <class Rows> AP_DEV static void store_by_rows(const params& p, Rows& through, const work& w,
                                                         const seat& t, int first, int count,
                                                         const sums& value) {
    static_assert(Rows::columns % 8 == 0 && Rows::rows % 8 == 0);
    constexpr int of_some = Rows::columns / 8;  // fragments
    AP_UNROLL
    for (int some = 0; some < fragments; some += of_some) {
      if (some >= count) break;
      const std::int64_t column = w.left + 8 * (first + some);
      const int there = 8 * (count - some), in_c = as_many(p.tiled.of_short.lines - column),
                columns_left = in_c < there ? in_c : there;
      AP_UNROLL
      for (int top = 0; top < 16; top += Rows::rows) {
        AP_UNROLL
        for (int f = 0; f < of_some; ++f) {
          AP_UNROLL
          for (int low = 0; low < Rows::rows; low += 8) {
            const int i = 4 * (some + f) + 2 * ((top + low) / 8);
            store_pack<2>(&through.elements[t.g + low][8 * f + 2 * t.q],
                          pack<float, 2>{{value[i], value[i + 1]}});
          }
        }
        warp_sync();
        const std::int64_t row = w.top + t.top + top;
        through.store(p.tiled, output_at(p, w, t.top + top, 8 * (first + some)), row, column,
                      as_many(p.tiled.of_long.lines - row), columns_left, w.batch);
        warp_sync();
      }
    }
  }
  // Whether the pairs of adjacent outputs that lanes hold fill whole sectors of 32 bytes of C.
  AP_DEV static bool pairs_fill_sectors(const params& p, const work& w) {
    return p.tiled.packs != packing::none && is_whole(p, w) &&
           (reinterpret_cast<std::uintptr_t>(output_at(p, w, 0, 0)) |
            static_cast<std::uintptr_t>(4 * p.tiled.long_stride)) %
                   32 ==
               0;
  }
  // Stores `count` fragments from `first` on where pairs_fill_sectors().
  AP_DEV static void store_by_pairs(const params& p, const work& w, const seat& t, int first, int count,
                                    const sums& value) {
    float* c = output_at(p, w, t.top + t.g, 8 * first + 2 * t.q);
    AP_UNROLL
    for (int h = 0; h < 2; ++h, c += 8 * p.tiled.long_stride) {
      // holds C first, all of which is read before the first write, so that the reads overlap
      pack<float, 2> out[fragments] = {};
      if (p.tiled.end.beta != 0) {
        AP_UNROLL
        for (int f = 0; f < fragments; ++f)
          if (f < count) out[f] = load_pack<2>(c + 8 * f);
      }
      AP_UNROLL
      for (int f = 0; f < fragments; ++f) {
        AP_UNROLL
        for (int e = 0; e < 2; ++e)
          out[f].element[e] = blend(p.tiled.end, value[4 * f + 2 * h + e], &out[f].element[e]);
        if (f < count) store_pack<2>(c + 8 * f, out[f]);
      }
    }
  }

  // compute again
  // ---------------------------------------------------------------------------------------------------------
  // By output, at bit 4 f + 2 h + e: those that exist, and those of sparse rows and columns.
  AP_DEV static std::uint32_t existing(const params& p, const work& w, const seat& t, int first, int count) {
    const std::uint32_t all = count == fragments ? ~0u : (1u << 4 * count) - 1;
    if (is_whole(p, w)) return all;
    const std::int64_t rows_left = p.tiled.of_long.lines - w.top - t.top - t.g,
                       columns_left = p.tiled.of_short.lines - w.left - 8 * first - 2 * t.q;
    std::uint32_t there = 0;
    AP_UNROLL
    for (int i = 0; i < registers; ++i)
      there |= std::uint32_t{i / 2 % 2 * 8 < rows_left && i / 4 * 8 + i % 2 < columns_left} << i;
    return there & all;
  }
  AP_DEV static std::uint32_t of_sparse_columns(const tf32_lines& lines, const seat& t, int first,
                                                int count) {
    std::uint32_t bits = 0;
    const int column = tf32_tile.m + 4 * t.g + t.q;
    if (ballot(tf32_lines::is_sparse(lines.nonzeros[column]) ||
               tf32_lines::is_sparse(lines.nonzeros[column + warp_size])) == 0)
      return bits;
    AP_UNROLL
    for (int i = 0; i < 2 * fragments; ++i)
      if (i / 2 < count &&
          tf32_lines::is_sparse(lines.nonzeros[tf32_tile.m + 8 * (first + i / 2) + 2 * t.q + i % 2]))
        bits |= 5u << (i / 2 * 4 + i % 2);
    return bits;
  }
  // Outputs that the certificate does not cover. A line's elements below 2^-112 have lost too much unless the
  // output is large next to the other line. Those in `exact` need none, but results that are not finite may
  // have come from a product of parts.
  AP_DEV static std::uint32_t uncertain(const params& p, const tf32_lines& lines, const seat& t, int first,
                                        const lane_rows& rows, std::uint32_t there, std::uint32_t exact,
                                        const sums& value) {
    std::uint32_t again = 0;
    const float of_largest = p.floor * 0x1p13f;  // k 2^-112
    AP_UNROLL
    for (int i = 0; i < registers; ++i) {
      // of outputs that are not there, any column
      const int h = i / 2 % 2, column = tf32_tile.m + 8 * ((first + i / 4) % fragments) + 2 * t.q + i % 2;
      const line_sizes a = rows.sizes[h], b = lines.sizes[column];
      const float size = std::fabs(value[i]), by_a = a.least() < least_whole ? of_largest * b.largest() : 0,
                  by_b = b.least() < least_whole ? of_largest * a.largest() : 0;
      const bool lost =
          !(size >= std::fmax(by_a, by_b)) || (!(size >= p.floor) && !keeps_all(a.least(), b.least()));
      again |= std::uint32_t{!(size <= 0x1.fffffep127f) || ((exact >> i & 1u) == 0 && lost)} << i;
    }
    return again & there;
  }
  // Sums of a fragment in FP64, in the order of k. The warp reads its lines from global memory.
  AP_DEV static void multiply_again(const params& p, const work& w, const seat& t, int fragment,
                                    double (&sum)[4]) {
    constexpr int ahead = 8;
    const line_operand &a = p.tiled.of_long, &b = p.tiled.of_short;
    const std::int64_t row = w.top + t.top + t.g, column = w.left + 8 * fragment + t.g;
    const bool there[3] = {row < a.lines, row + 8 < a.lines, column < b.lines};
    const float *const of_row = first_of(a, w) + row * a.line_stride, *const of_column =
                                                                          first_of(b, w) +
                                                                          column * b.line_stride;
    AP_ROLLED
    for (std::int64_t first = 0; first < p.tiled.k; first += 4 * ahead) {
      float x[ahead][2], y[ahead];
      AP_UNROLL
      for (int n = 0; n < ahead; ++n) {
        const std::int64_t k = first + 4 * n + t.q;
        x[n][0] = there[0] && k < p.tiled.k ? of_row[k * a.k_stride] : 0;
        x[n][1] = there[1] && k < p.tiled.k ? of_row[8 * a.line_stride + k * a.k_stride] : 0;
        y[n] = there[2] && k < p.tiled.k ? of_column[k * b.k_stride] : 0;
      }
      AP_UNROLL
      for (int n = 0; n < ahead; ++n) {
        const double both[2] = {x[n][0], x[n][1]};
        mma(sum, both, double{y[n]});
      }
    }
  }
  // Of lines that one block has seen, from its share's first k on.
  struct places_in_lines {
    const tf32_lines& lines;
    std::int64_t k;
    AP_DEV sparse_places operator()(int line) const {
      const line_nonzeros n = lines.nonzeros[line];
      return {k + n.first(), k + n.last(), n.count() == 2};
    }
  };
  // Outputs of sparse rows: one or two products, which are exact in FP64; one of them needs only FP32. All
  // that they are made of is loaded before the first is used, so that the loads overlap.
  AP_DEV static void multiply_sparse_rows(const params& p, const lane_rows& rows, const work& w,
                                          const seat& t, int first, std::uint32_t wanted, sums& value) {
    const line_operand &a = p.tiled.of_long, &b = p.tiled.of_short;
    const float* const column = first_of(b, w) + (w.left + 8 * first + 2 * t.q) * b.line_stride;
    float x[2][2] = {}, y[2][registers] = {};
    const float* meets[2][2] = {};
    bool two[2] = {};
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      if ((wanted & 0x33333333u << 2 * h) == 0) continue;
      const sparse_places& at = rows.places[h];
      const float* const row = first_of(a, w) + (w.top + t.top + t.g + 8 * h) * a.line_stride;
      two[h] = at.two;
      x[h][0] = row[at.first * a.k_stride], meets[h][0] = column + at.first * b.k_stride;
      if (at.two) x[h][1] = row[at.last * a.k_stride], meets[h][1] = column + at.last * b.k_stride;
    }
    const bool any_two = ballot(two[0] || two[1]) != 0;
    // pairs of adjacent columns, where all of the warp's outputs are wanted
    const bool pairs = b.line_stride == 1 && b.width >= 2 &&
                       ballot(wanted != ~0u || reinterpret_cast<std::uintptr_t>(column) % 8 != 0) == 0;
    const auto load = [&](int n) {
      if (pairs) {
        AP_UNROLL
        for (int i = 0; i < registers; i += 2) {
          if (n == 1 && !two[i / 2 % 2]) continue;
          const pack<float, 2> both = load_pack<2>(meets[i / 2 % 2][n] + i / 4 * 8);
          y[n][i] = both.element[0], y[n][i + 1] = both.element[1];
        }
        return;
      }
      AP_UNROLL
      for (int i = 0; i < registers; ++i) {
        const int h = i / 2 % 2;
        if ((wanted >> i & 1u) != 0 && (n == 0 || two[h]))
          y[n][i] = meets[h][n][(i / 4 * 8 + i % 2) * b.line_stride];
      }
    };
    load(0);
    if (any_two) {
      load(1);
      AP_UNROLL
      for (int i = 0; i < registers; ++i) {
        const int h = i / 2 % 2;
        const auto sum = static_cast<float>(double{x[h][0]} * y[0][i] + double{x[h][1]} * y[1][i]);
        if ((wanted >> i & 1u) != 0) value[i] = sum;
      }
    } else {
      AP_UNROLL
      for (int i = 0; i < registers; ++i)
        if ((wanted >> i & 1u) != 0) value[i] = x[i / 2 % 2][0] * y[0][i] + 0.f;
    }
  }
  // The same of sparse columns, four fragments at a time.
  AP_DEV static void multiply_sparse_columns(const params& p, auto places, const work& w, const seat& t,
                                             int first, int count, std::uint32_t wanted, sums& value) {
    const line_operand &a = p.tiled.of_long, &b = p.tiled.of_short;
    const float* const row = first_of(a, w) + (w.top + t.top + t.g) * a.line_stride;
    const float* column = first_of(b, w) + (w.left + 8 * first + 2 * t.q) * b.line_stride;
    AP_ROLLED
    for (int f = 0; f < count; f += 4, column += 32 * b.line_stride) {
      const std::uint32_t here = wanted >> 4 * f & 0xFFFFu;
      if (ballot(here != 0) == 0) continue;
      float x[2][16] = {}, y[2][8] = {}, sum[16];
      bool two = false;
      AP_UNROLL
      for (int c = 0; c < 8; ++c) {
        const int i = c / 2 * 4 + c % 2;  // and i + 2, eight rows below
        if ((here >> i & 5u) == 0) continue;
        const sparse_places at = places(tf32_tile.m + 8 * (first + f + c / 2) + 2 * t.q + c % 2);
        const float* const of_column = column + (c / 2 * 8 + c % 2) * b.line_stride;
        two = two || at.two;
        AP_UNROLL
        for (int n = 0; n < 2; ++n) {
          if (n == 1 && !at.two) continue;
          const std::int64_t k = n == 0 ? at.first : at.last;
          const float* const in_row = row + k * a.k_stride;
          y[n][c] = of_column[k * b.k_stride];
          if ((here >> i & 1u) != 0) x[n][i] = *in_row;
          if ((here >> i & 4u) != 0) x[n][i + 2] = in_row[8 * a.line_stride];
        }
      }
      AP_UNROLL
      for (int i = 0; i < 16; ++i) sum[i] = x[0][i] * y[0][i / 4 * 2 + i % 2] + 0.f;
      if (ballot(two) != 0) {
        AP_UNROLL
        for (int i = 0; i < 16; ++i) {
          const int c = i / 4 * 2 + i % 2;
          sum[i] = static_cast<float>(double{x[0][i]} * y[0][c] + double{x[1][i]} * y[1][c]);
        }
      }
      replace(value, f, here, sum);
    }
  }
  // Replaces values in the registers of fragments from `fragment` on, without an index that would move the
  // sums to local memory.
  template <int Count>
  AP_DEV static void replace(sums& value, int fragment, std::uint32_t wanted, const float (&by)[Count]) {
    AP_UNROLL
    for (int i = 0; i < registers; ++i)
      if (i / Count == fragment / (Count / 4) && (wanted >> i % Count & 1u) != 0) value[i] = by[i % Count];
  }
  // Computes what is not certified, and the outputs of sparse lines, `count` fragments from `first` on.
  // in_range: keep_range(). places(line): the sparse_places of a sparse column.
  AP_DEV static void compute_again(const params& p, const tf32_lines& lines, const lane_rows& rows,
                                   auto places, const work& w, seat t, int first, int count, bool in_range,
                                   sums& value) {
    // otherwise values computed from these are spilled during the whole product
    rematerialise(t.top), rematerialise(t.g), rematerialise(t.q);
    const std::uint32_t there = existing(p, w, t, first, count),
                        of_rows =
                            there & ((rows.sparse[0] ? 0x33333333u : 0) | (rows.sparse[1] ? 0xCCCCCCCCu : 0));
    std::uint32_t exact = of_rows | (of_sparse_columns(lines, t, first, count) & there);
    if (!in_range || any_small(lines, rows, t)) {
      std::uint32_t again = uncertain(p, lines, t, first, rows, there, exact, value), computed = 0;
      AP_ROLLED
      for (int f = 0; f < count; ++f) {
        std::uint32_t wanted = again >> 4 * f & 15u;
        if (ballot(wanted != 0) == 0) continue;
        double sum[4] = {};
        multiply_again(p, w, t, first + f, sum);
        float rounded[4];
        AP_UNROLL
        for (int i = 0; i < 4; ++i) {
          rounded[i] = static_cast<float>(sum[i]);
          const bool is_exact = (exact >> (4 * f + i) & 1u) != 0;
          if (is_exact && sum[i] - sum[i] == 0) wanted &= ~(1u << i);
        }
        exact &= ~(wanted << 4 * f);
        AP_UNROLL
        for (int i = 0; i < 4; ++i) computed += wanted >> i & 1u;
        replace(value, f, wanted, rounded);
      }
      if (computed > 0 && p.recomputed != nullptr) atomic_add(p.recomputed, std::uint64_t{computed});
    }
    const std::uint32_t of_columns = exact & ~of_rows;
    exact &= of_rows;
    if (ballot(exact != 0) != 0) multiply_sparse_rows(p, rows, w, t, first, exact, value);
    if (ballot(of_columns != 0) != 0)
      multiply_sparse_columns(p, places, w, t, first, count, of_columns, value);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
