// SPDX-License-Identifier: Apache-2.0
// Facts that tf32 kernels record about their lines, and how outputs are certified, stored and computed again
// (sm_90a).
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <cstdint>
#include "src/gemm/operands/blend.cuh"
#include "src/gemm/operands/exact_sum.cuh"
#include "src/gemm/operands/rows_to_store.cuh"
#include "src/gemm/tf32/tf32_operand.cuh"
#include "src/gemm/tf32/tf32_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Facts about the lines of a tile: first the long operand's, then the short one's.
struct tf32_lines {
  static constexpr int count = tf32_tile.m + tf32_tile.n;
  std::uint32_t least[count];    // the smallest least_of()
  std::int32_t nonzeros[count];  // exact only up to sparse_nonzeros
};
// Orders numbers by magnitude, zero last: twice the bits without the sign, minus one.
AP_DEV std::uint32_t least_of(float x) { return 2 * bit_cast<std::uint32_t>(x) - 1; }
AP_DEV float value_of_least(std::uint32_t least) { return bit_cast<float>((least >> 1) + 1); }
constexpr std::uint32_t infinite = 0x7F800000;
// a line of zeros: its least element counts as infinite
constexpr std::uint32_t no_least = 2 * infinite - 1;
// least_of(2^-112): smaller elements lose bits of lo
constexpr std::uint32_t least_whole = 2 * ((127u - 112) << 23) - 1;

// A tile's outputs in its computing warps, eight of 16 x 64 each, and the facts about its lines that the
// certificate needs.
struct tf32_outputs {
  static constexpr int computing_warps = 8;
  using params = tf32_problem;
  static constexpr int registers = 32;  // of a thread's sums
  using sums = float[registers];

  struct work {
    std::int64_t batch, top, left;  // first lines of the long and the short operand
    std::int64_t k, k_end;
    AP_DEV int chunks() const { return static_cast<int>(ceil_div<std::int64_t>(k_end - k, tf32_chunk)); }
    AP_DEV int steps() const { return chunks() * (tf32_chunk / tf32_stage_k); }
  };
  AP_DEV static const float* first_of(const line_operand& o, const work& w) { return o.of_member(w.batch); }

  // lines
  // ---------------------------------------------------------------------------------------------------------
  // Facts that a thread records about its line.
  struct line_watch {
    std::uint32_t least = no_least;
    int nonzeros = 0;
    AP_DEV explicit line_watch(bool exists) : nonzeros(exists ? 0 : sparse_nonzeros + 1) {}
    AP_DEV void see(float x) {
      const std::uint32_t now = least_of(x);
      least = now < least ? now : least;
    }
  };
  AP_DEV static void note(tf32_lines& lines, int line, const line_watch& watch) {
    lines.least[line] = watch.least;
    lines.nonzeros[line] = watch.nonzeros;
  }
  // Combines it with what another thread has noted.
  AP_DEV static void add_to_note(tf32_lines& lines, int line, const line_watch& watch) {
    lines.least[line] = watch.least < lines.least[line] ? watch.least : lines.least[line];
    lines.nonzeros[line] += watch.nonzeros;
  }
  // A computing thread's place: its warp's first row of the tile, its number among the computing threads.
  struct seat {
    int top, g, q, member;
    AP_DEV static seat mine() {
      const int warp = warp_index() - computing_warps / 2, lane = lane_index();
      return {16 * warp, lane / 4, lane % 4, warp * warp_size + lane};
    }
  };
  struct row_pair {
    line_watch row[2];
    bool counts;
    AP_DEV row_pair(const params& p, const work& w, const seat& t)
        : row{line_watch(w.top + t.top + t.g < p.of.of_long.lines),
              line_watch(w.top + t.top + t.g + 8 < p.of.of_long.lines)},
          counts(true) {}
    AP_DEV void see(const tf32_values& x) {
      AP_UNROLL
      for (int i = 0; i < 8; ++i) row[i % 2].see(x[i]);
    }
    // Counts nonzeros until rows have enough of them, mostly after one call.
    AP_DEV void count(const tf32_values& x) {
      if (!counts) return;
      bool zero = false;
      AP_UNROLL
      for (int i = 0; i < 8; ++i) zero = zero || x[i] == 0;
      counts = ballot(zero) != 0;
      if (!counts) {  // the usual case: four lanes have four elements each of a row
        row[0].nonzeros += 4, row[1].nonzeros += 4;
        return;
      }
      AP_UNROLL
      for (int i = 0; i < 8; ++i) row[i % 2].nonzeros += x[i] != 0;
      counts = ballot(row[0].nonzeros <= sparse_nonzeros || row[1].nonzeros <= sparse_nonzeros) != 0;
    }
    // Whether the warp's rows have neither small elements nor few nonzeros, so that nothing has to be noted.
    // With small K no lane alone sees enough nonzeros, so the four lanes of a row add theirs.
    AP_DEV bool ordinary() const {
      if (ballot(row[0].least < least_whole || row[1].least < least_whole) != 0) return false;
      if (!counts) return true;
      const int one = of_four_lanes(row[0].nonzeros), other = of_four_lanes(row[1].nonzeros);
      return ballot(one <= sparse_nonzeros || other <= sparse_nonzeros) == 0;
    }
    AP_DEV static int of_four_lanes(int count) {
      count += shuffle(count, lane_index() ^ 1);
      return count + shuffle(count, lane_index() ^ 2);
    }
    // Notes the rows, from the four lanes that share them.
    AP_DEV void note(tf32_lines& lines, const seat& t) {
      AP_UNROLL
      for (int r = 0; r < 2; ++r) {
        AP_UNROLL
        for (int by = 2; by > 0; by /= 2) {
          const std::uint32_t other = shuffle_down(row[r].least, by);
          row[r].least = other < row[r].least ? other : row[r].least;
          row[r].nonzeros += shuffle_down(row[r].nonzeros, by);
        }
        if (t.q == 0) tf32_outputs::note(lines, t.top + t.g + 8 * r, row[r]);
      }
      warp_sync();
    }
  };

  // store
  // ---------------------------------------------------------------------------------------------------------
  // A lane's outputs are fragments of 16 x 8, as wgmma leaves them: value[4 f + 2 h + e] is row g + 8 h of
  // its warp and column 8 (first + f) + 2 q + e of the tile.
  static constexpr int fragments = tf32_tile.n / 8;
  struct verdict {  // by output, at bit 4 (first + f) + 2 h + e
    std::uint32_t again = 0, exact = 0;
  };
  // Lines of zeros are not sparse: their sums are 0 in any case.
  AP_DEV static bool is_sparse(const tf32_lines& lines, int line) {
    return static_cast<std::uint32_t>(lines.nonzeros[line] - 1) < sparse_nonzeros;
  }
  AP_DEV static bool is_special(const tf32_lines& lines, int line) {
    return is_sparse(lines, line) || lines.least[line] < least_whole;
  }
  // Whether a line demands that each output be judged by itself: any of the tile's columns, or of the warp's
  // rows.
  AP_DEV static bool any_special_column(const tf32_lines& lines) {
    const int column = tf32_tile.m + lane_index();
    return ballot(is_special(lines, column) || is_special(lines, column + warp_size)) != 0;
  }
  AP_DEV static bool any_special(const tf32_lines& lines, const seat& t) {
    return ballot(is_special(lines, t.top + lane_index() % 16)) != 0 || any_special_column(lines);
  }
  // Whether all are finite and reach the floor, without a branch for each.
  AP_DEV static bool all_plain(const params& p, const sums& value) {
    std::uint32_t least = infinite, largest = 0;
    AP_UNROLL
    for (const float x : value) {
      const std::uint32_t bits = bit_cast<std::uint32_t>(x) & 0x7FFFFFFFu;
      least = bits < least ? bits : least;
      largest = bits > largest ? bits : largest;
    }
    return ballot(least < bit_cast<std::uint32_t>(p.floor) || largest >= infinite) == 0;
  }
  AP_DEV static bool is_whole(const params& p, const work& w) {
    return w.top + tf32_tile.m <= p.of.of_long.lines && w.left + tf32_tile.n <= p.of.of_short.lines;
  }
  // Outputs outside C become `floor`, so that they pass all_plain().
  AP_DEV static void hide_outside(const params& p, const work& w, const seat& t, sums& value) {
    if (is_whole(p, w)) return;
    const std::int64_t rows_left = p.of.of_long.lines - w.top - t.top - t.g,
                       columns_left = p.of.of_short.lines - w.left - 2 * t.q;
    AP_UNROLL
    for (int i = 0; i < registers; ++i)
      if (i / 2 % 2 * 8 >= rows_left || i / 4 * 8 + i % 2 >= columns_left) value[i] = p.floor;
  }
  // Whether no product of the lines' parts is so small that FP32 loses bits of it.
  AP_DEV static bool keeps_all(std::uint32_t a, std::uint32_t b) {
    return value_of_least(a) * value_of_least(b) >= 0x1p-102f;
  }
  // again: the certificate does not cover the output; exact: it belongs to a sparse line.
  AP_DEV static verdict judge(const params& p, const tf32_lines& lines, const work& w, float value, int row,
                              int column) {
    verdict v;
    if (w.top + row >= p.of.of_long.lines || w.left + column >= p.of.of_short.lines) return v;
    const int other = tf32_tile.m + column;
    const bool finite = std::fabs(value) <= 0x1.fffffep127f,
               sparse = is_sparse(lines, row) || is_sparse(lines, other);
    const std::uint32_t a = lines.least[row], b = lines.least[other];
    const bool lost =
        a < least_whole || b < least_whole || (!(std::fabs(value) >= p.floor) && !keeps_all(a, b));
    v.exact = sparse;
    v.again = !finite || (!sparse && lost);
    return v;
  }
  AP_DEV static float* output_at(const params& p, const work& w, int row, int column) {
    return p.of.c + w.batch * p.of.batch_stride + (w.top + row) * p.of.long_stride +
           (w.left + column) * p.of.short_stride;
  }
  AP_DEV static void store_one(const params& p, float* c, float sum) { *c = blend(p.of.end, sum, c); }
  // Stores a lane's outputs for which there(i) holds, one by one. All of C is read before the first is
  // written, so that the reads overlap.
  AP_DEV static void store_singly(const params& p, float* c, const sums& value, auto there) {
    const auto place = [&](int i) {
      return c + i / 2 % 2 * 8 * p.of.long_stride + (i / 4 * 8 + i % 2) * p.of.short_stride;
    };
    float before[registers] = {};
    if (p.of.end.beta != 0) {
      AP_UNROLL
      for (int i = 0; i < registers; ++i)
        if (there(i)) before[i] = *place(i);
    }
    AP_UNROLL
    for (int i = 0; i < registers; ++i)
      if (there(i)) *place(i) = blend(p.of.end, value[i], &before[i]);
  }
  // Stores `count` fragments from `first` on, all of whose outputs are certified, through shared memory,
  // wherever rows of C begin.
  template <class Rows> AP_DEV static void store_by_rows(const params& p, Rows& through, const work& w,
                                                         const seat& t, int first, int count,
                                                         const sums& value) {
    static_assert(Rows::columns % 8 == 0 && Rows::rows % 8 == 0);
    constexpr int of_some = Rows::columns / 8;  // fragments
    AP_UNROLL
    for (int some = 0; some < fragments; some += of_some) {
      if (some >= count) break;
      const std::int64_t column = w.left + 8 * (first + some);
      const int there = 8 * (count - some), in_c = as_many(p.of.of_short.lines - column),
                columns_left = in_c < there ? in_c : there;
      AP_UNROLL
      for (int top = 0; top < 16; top += Rows::rows) {
        AP_UNROLL
        for (int f = 0; f < of_some; ++f) {
          AP_UNROLL
          for (int low = 0; low < Rows::rows; low += 8) {
            const int i = 4 * (some + f) + 2 * ((top + low) / 8);
            store_pack<2>(&through.at[t.g + low][8 * f + 2 * t.q], pack<float, 2>{{value[i], value[i + 1]}});
          }
        }
        warp_sync();
        const std::int64_t row = w.top + t.top + top;
        through.store(p.of, output_at(p, w, t.top + top, 8 * (first + some)), row, column,
                      as_many(p.of.of_long.lines - row), columns_left, w.batch);
        warp_sync();
      }
    }
  }
  // Whether the pairs of adjacent outputs that lanes hold fill whole sectors of 32 bytes of C.
  AP_DEV static bool pairs_fill_sectors(const params& p, const work& w) {
    return p.of.packs != packing::none && is_whole(p, w) &&
           (reinterpret_cast<std::uintptr_t>(output_at(p, w, 0, 0)) |
            static_cast<std::uintptr_t>(4 * p.of.long_stride)) %
                   32 ==
               0;
  }
  // Stores `count` fragments from `first` on, but for outputs of the verdict, which it returns. ordinary: all
  // outputs are certified.
  AP_DEV static verdict store(const params& p, const tf32_lines& lines, const work& w, const seat& t,
                              int first, int count, bool ordinary, const sums& value) {
    verdict all;
    const bool whole = is_whole(p, w);
    if (!ordinary) {
      AP_UNROLL
      for (int i = 0; i < registers; ++i) {
        if (i / 4 >= count) continue;
        const verdict one =
            judge(p, lines, w, value[i], t.top + t.g + i / 2 % 2 * 8, 8 * (first + i / 4) + 2 * t.q + i % 2);
        all.again |= one.again << i;
        all.exact |= one.exact << i;
      }
    }
    const std::uint32_t unstored = all.again | all.exact;
    float* c = output_at(p, w, t.top + t.g, 8 * first + 2 * t.q);
    const bool pairs = p.of.packs != packing::none;
    if (whole && ballot(unstored != 0) == 0 && pairs && count == fragments) {
      AP_UNROLL
      for (int h = 0; h < 2; ++h, c += 8 * p.of.long_stride) {
        // holds C first, all read before the first write, as in store_singly()
        pack<float, 2> out[fragments] = {};
        if (p.of.end.beta != 0) {
          AP_UNROLL
          for (int f = 0; f < fragments; ++f) out[f] = load_pack<2>(c + 8 * f);
        }
        AP_UNROLL
        for (int f = 0; f < fragments; ++f) {
          AP_UNROLL
          for (int e = 0; e < 2; ++e)
            out[f].element[e] = blend(p.of.end, value[4 * f + 2 * h + e], &out[f].element[e]);
          store_pack<2>(c + 8 * f, out[f]);
        }
      }
      return {};
    }
    if (whole && ballot(unstored != 0) == 0 && !pairs) {
      store_singly(p, c, value, [&](int i) { return i / 4 < count; });
      return {};
    }
    const std::int64_t rows_left = p.of.of_long.lines - w.top - t.top - t.g,
                       columns_left = p.of.of_short.lines - w.left - 8 * first - 2 * t.q;
    store_singly(p, c, value, [&](int i) {
      return i / 4 < count && i / 2 % 2 * 8 < rows_left && i / 4 * 8 + i % 2 < columns_left &&
             (unstored >> i & 1u) == 0;
    });
    return {all.again << 4 * first, all.exact << 4 * first};
  }

  // store, what is not certified
  // ---------------------------------------------------------------------------------------------------------
  // Sums of a fragment in FP64, in the order of k. The warp reads its lines from global memory.
  AP_DEV static void multiply_again(const params& p, const work& w, const seat& t, int fragment,
                                    double (&sum)[4]) {
    constexpr int ahead = 8;
    const line_operand &a = p.of.of_long, &b = p.of.of_short;
    const std::int64_t row = w.top + t.top + t.g, column = w.left + 8 * fragment + t.g;
    const bool there[3] = {row < a.lines, row + 8 < a.lines, column < b.lines};
    const float *const of_row = first_of(a, w) + row * a.line_stride, *const of_column =
                                                                          first_of(b, w) +
                                                                          column * b.line_stride;
    AP_ROLLED
    for (std::int64_t first = 0; first < p.of.k; first += 4 * ahead) {
      float x[ahead][2], y[ahead];
      AP_UNROLL
      for (int n = 0; n < ahead; ++n) {
        const std::int64_t k = first + 4 * n + t.q;
        x[n][0] = there[0] && k < p.of.k ? of_row[k * a.k_stride] : 0;
        x[n][1] = there[1] && k < p.of.k ? of_row[8 * a.line_stride + k * a.k_stride] : 0;
        y[n] = there[2] && k < p.of.k ? of_column[k * b.k_stride] : 0;
      }
      AP_UNROLL
      for (int n = 0; n < ahead; ++n) {
        const double both[2] = {x[n][0], x[n][1]};
        mma(sum, both, double{y[n]});
      }
    }
  }
  // Finds the `count` nonzeros of a sparse line; all lanes call and get them.
  struct nonzeros {
    std::int32_t k[sparse_nonzeros];  // in order; -1: no more
  };
  AP_DEV static nonzeros find_nonzeros(const float* line, std::int64_t k_stride, int k_end, int count) {
    constexpr int ahead = 8;
    nonzeros found;
    for (std::int32_t& k : found.k) k = -1;
    int next = 0;
    AP_ROLLED
    for (int first = 0; first < k_end && next < count; first += ahead * warp_size) {
      float x[ahead];
      AP_UNROLL
      for (int n = 0; n < ahead; ++n) {
        const int k = first + n * warp_size + lane_index();
        x[n] = k < k_end ? line[k * k_stride] : 0;
      }
      std::uint32_t mine = 0;
      AP_UNROLL
      for (int n = 0; n < ahead; ++n) mine |= std::uint32_t{x[n] != 0} << n;
      if (ballot(mine != 0) == 0) continue;
      AP_ROLLED
      for (int n = 0; n < ahead; ++n) {
        unsigned there = ballot((mine >> n & 1u) != 0);
        AP_ROLLED
        for (int lane = 0; there != 0; ++lane, there >>= 1) {
          if ((there & 1u) == 0) continue;
          AP_UNROLL
          for (int i = 0; i < sparse_nonzeros; ++i)
            if (i == next) found.k[i] = first + n * warp_size + lane;
          ++next;
        }
      }
    }
    return found;
  }
  AP_DEV static float exact(const params& p, const work& w, int row, int column, const nonzeros& at) {
    const line_operand &a = p.of.of_long, &b = p.of.of_short;
    const float* const of_row = first_of(a, w) + (w.top + row) * a.line_stride;
    const float* const of_column = first_of(b, w) + (w.left + column) * b.line_stride;
    exact_sum sum;
    AP_UNROLL
    for (const std::int32_t k : at.k)
      if (k >= 0) sum.add(double{of_row[k * a.k_stride]} * of_column[k * b.k_stride]);
    return static_cast<float>(sum.value + sum.cut);
  }
  // Whether an output of the warp's rows is marked in the bits of the lane that holds it. All lanes call,
  // each for any output.
  AP_DEV static bool is_in(std::uint32_t bits, int row, int column) {
    const std::uint32_t of_owner = shuffle(bits, row % 8 * 4 + column % 8 / 2);
    return (of_owner >> (column / 8 * 4 + row / 8 * 2 + column % 2) & 1u) != 0;
  }
  // Computes and stores the marked outputs of the warp's sparse rows, then of sparse columns: adjacent lanes
  // take adjacent outputs.
  AP_DEV static void store_exact(const params& p, const tf32_lines& lines, const work& w, const seat& t,
                                 std::uint32_t bits) {
    int lane = lane_index();
    rematerialise(lane);  // otherwise values computed from it are spilled during the whole product
    const auto store = [&](bool wanted, int row, int column, const nonzeros& at) {
      if (wanted) store_one(p, output_at(p, w, t.top + row, column), exact(p, w, t.top + row, column, at));
    };
    AP_ROLLED
    for (int row = 0; row < 16; ++row) {
      const std::uint32_t mine = t.g == row % 8 ? bits & 0x33333333u << 2 * (row / 8) : 0;
      if (!is_sparse(lines, t.top + row) || ballot(mine != 0) == 0) continue;
      const line_operand& a = p.of.of_long;
      const nonzeros at = find_nonzeros(first_of(a, w) + (w.top + t.top + row) * a.line_stride, a.k_stride,
                                        static_cast<int>(p.of.k), lines.nonzeros[t.top + row]);
      AP_ROLLED
      for (int left = 0; left < tf32_tile.n; left += warp_size)
        store(is_in(mine, row, left + lane), row, left + lane, at);
      bits &= ~mine;
    }
    AP_ROLLED
    for (int column = 0; column < tf32_tile.n; ++column) {
      const std::uint32_t mine = t.q == column % 8 / 2 ? bits & 5u << (4 * (column / 8) + column % 2) : 0;
      if (ballot(mine != 0) == 0) continue;
      const line_operand& b = p.of.of_short;
      const nonzeros at = find_nonzeros(first_of(b, w) + (w.left + column) * b.line_stride, b.k_stride,
                                        static_cast<int>(p.of.k), lines.nonzeros[tf32_tile.m + column]);
      const int row = lane % 16;
      store(is_in(mine, row, column) && lane < 16, row, column, at);
      bits &= ~mine;
    }
  }
  AP_DEV static void store_rest(const params& p, const tf32_lines& lines, const work& w, const seat& t,
                                verdict v) {
    if (ballot((v.again | v.exact) != 0) == 0) return;
    std::uint32_t count = 0;
    AP_ROLLED
    for (int f = 0; f < tf32_tile.n / 8; ++f) {
      if (ballot((v.again >> 4 * f & 15u) != 0) == 0) continue;
      double sum[4] = {};
      multiply_again(p, w, t, f, sum);
      AP_UNROLL
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t bit = 1u << (4 * f + i);
        if ((v.again & bit) == 0) continue;
        if ((v.exact & bit) != 0 && sum[i] - sum[i] == 0) continue;
        v.exact &= ~bit;
        store_one(p, output_at(p, w, t.top + t.g + i / 2 * 8, 8 * f + 2 * t.q + i % 2),
                  static_cast<float>(sum[i]));
        ++count;
      }
    }
    if (count > 0 && p.recomputed != nullptr) atomic_add(p.recomputed, std::uint64_t{count});
    store_exact(p, lines, w, t, v.exact);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
