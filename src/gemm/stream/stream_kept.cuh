// SPDX-License-Identifier: Apache-2.0
// Streaming products of few k and many outputs, where writing C is most of the work (sm_80).
#pragma once
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <type_traits>
#include "src/gemm/blend.cuh"
#include "src/gemm/exact_sum.cuh"
#include "src/gemm/finished.cuh"
#include "src/gemm/sparse_lines.cuh"
#include "src/gemm/stream/stream_lanes.cuh"
#include "src/gemm/stream/stream_reader.cuh"
#include "src/gemm/stream/stream_store.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
//   load a warp's lines of the short operand, as FP64 | by rounds: load lines of the long one, multiply (FP64 Tensor Cores), store
// A warp takes all k of 32 lines of the short operand to registers for good. In each round it reads 16 lines of the long one, those of the
// next round ahead, and writes 16 x 32 outputs: in packs straight from registers or, where rows of C do not begin at multiples of 16 bytes,
// through shared memory, so that neighbouring lanes still store neighbours. Warps have nothing to do with each other.
// Where K is all that a warp can keep and no tile has an edge, a kernel that knows nothing else (whole) asks for all of a round by twos
// before it uses any. An output has the same sum in the same order as of any other stream that does not divide K.
template <stream_policy P> struct stream_kept {
  static_assert(valid(P) && P.by == stream_loader::kept);
  using sums = stream_sums<P>;
  static_assert(sums::rows == P.tile.m && sums::rows == 16 && sums::two == 2);
  static constexpr int warps_of_block = kept_warps, threads = warps_of_block * warp_size, blocks_wanted = P.blocks;
  static constexpr bool overlaps_previous = true;
  using params = stream_problem;

  // storage ---------------------------------------------------------------------------------------------------------------------
  static constexpr int rows = sums::rows, columns = sums::columns;
  struct storage {
    staged_rows<P> c[warps_of_block];
    std::int32_t size_of_column[warps_of_block][columns];  // where they have to be known
  };

 private:
  using cell = typename sums::cell;
  using long_lines = lane_block<rows, P.stages>;
  using short_lines = lane_block<columns, P.stages>;

  // read ------------------------------------------------------------------------------------------------------------------------
  // Lines of a warp, all k: asked for, and later taken.
  template <int Lines> struct reading_any {
    lane_block<Lines, P.stages> next;
    // Those from line `first` on, of `left` from `top` on.
    AP_DEV void ask(const line_operand& o, const float* data, std::int64_t top, int first, int left, int k, int g, int q) {
      lane_source(o, data, top, k).read(next, first, left, g, q);
    }
    AP_DEV lane_block<Lines, P.stages> take(const line_operand&, int) const { return next; }
  };
  template <int Lines> struct reading_whole {
    lane_reader<Lines, true> at;
    lane_reads<Lines> next[P.stages];
    AP_DEV void begin(const line_operand& o, const float* data, std::int64_t top, int g, int q) { at.begin(o, data, top, 0, g, q); }
    // In order.
    AP_DEV void ask(const line_operand& o, const float*, std::int64_t, int first, int, int, int g, int q) {
      if (first > 0) at.move(Lines * o.line_stride);
      AP_UNROLL
      for (int n = 0; n < P.stages; ++n) {
        lane_reader<Lines, true> half = at;
        half.move(16 * n * o.k_stride);
        half.read(next[n], o, 16, g, q);
      }
    }
    AP_DEV lane_block<Lines, P.stages> take(const line_operand& o, int q) const {
      lane_block<Lines, P.stages> all;
      AP_UNROLL
      for (int n = 0; n < P.stages; ++n) {
        const lane_elements<Lines> some = at.take(next[n], o, 16, q);
        AP_UNROLL
        for (int l = 0; l < all.count; ++l) {
          AP_UNROLL
          for (int i = 0; i < 4; ++i) all.x[n][l][i] = some.x[l][i];
        }
      }
      return all;
    }
  };
  template <int Lines> using reading = std::conditional_t<P.whole, reading_whole<Lines>, reading_any<Lines>>;

  // exact outputs ---------------------------------------------------------------------------------------------------------------
  // Of a sum of three or four products that is small beside them, by 2^-20, what FP64 has cut off may be seen: it is computed again
  // (short_product says why; what is compared here, the powers of two in the largest elements, is up to four times smaller). Sizes are
  // compared by their exponents, as the upper word of an FP64 number has them.
  static constexpr int step = 1 << 20, bias = 1023 * step, visible = 20 * step, least = -(1 << 28);
  AP_DEV static int size_of(double x) { return x != 0 ? static_cast<int>(bit_cast<std::uint64_t>(x) >> 32 & 0x7FFFFFFF) : least; }
  AP_DEV static int size_of(float x) {
    return x != 0 ? static_cast<int>((bit_cast<std::uint32_t>(x) & 0x7FFFFFFF) >> 3) + (1023 - 127) * step : least;
  }
  // Of the largest element of line l, of which four lanes have elements. No product is as small as a line of zeros.
  template <class T, int Count> AP_DEV static int size_of_line(const T (&x)[P.stages][Count][4], int l) {
    int largest = least;
    AP_UNROLL
    for (int n = 0; n < P.stages; ++n) {
      AP_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int here = size_of(x[n][l][i]);
        largest = here > largest ? here : largest;
      }
    }
    AP_UNROLL
    for (int by = 1; by < 4; by *= 2) {
      const int other = shuffle(largest, lane_index() ^ by);
      largest = other > largest ? other : largest;
    }
    return largest & ~(step - 1);
  }
  // By output of the lane, whether it is small.
  AP_DEV static unsigned small_outputs(const sums& sum, const int (&row)[2], const std::int32_t (&column)[columns], int q) {
    unsigned small = 0;
    AP_UNROLL
    for (int n = 0; n < sums::cells; ++n) {
      const cell v = sum.at(n);
      const pack<std::int32_t, sums::wide> others = load_pack<sums::wide>(&column[16 * n + sums::wide * q]);
      AP_UNROLL
      for (int i = 0; i < 2; ++i) {
        AP_UNROLL
        for (int j = 0; j < sums::wide; ++j) {
          const int here = static_cast<int>(bit_cast<std::uint64_t>(v.value[i][j]) >> 32 & 0x7FFFFFFF);
          if (here < row[i] - bias - visible + others.element[j]) small |= 1u << (i * sums::outputs_of_row + n * sums::wide + j);
        }
      }
    }
    return small;
  }
  // Computes those again that are outputs of lines with three or four nonzeros. line: of the long operand, the first of the round's.
  AP_DEV static void mend(const params& p, const stream_work& w, unsigned small, std::int64_t line, int g, int q, staged_rows<P>& out) {
    AP_ROLLED
    for (int n = 0; small >> n != 0; ++n) {
      const cell_place at = sums::output(n, g, q);
      if ((small >> n & 1u) == 0 || line + at.row >= p.of_long.lines || w.left + at.column >= p.of_short.lines) continue;
      const float* const a = w.of_long + (line + at.row) * p.of_long.line_stride;
      const float* const b = w.of_short + (w.left + at.column) * p.of_short.line_stride;
      exact_sum exact;
      int of_a = 0, of_b = 0;  // nonzeros
      AP_ROLLED
      for (std::int64_t k = 0; k < p.k; ++k) {
        const float one = a[k * p.of_long.k_stride], other = b[k * p.of_short.k_stride];
        exact.add(double{one} * other);
        of_a += one != 0, of_b += other != 0;
      }
      if (is_sparse_count(of_a) || is_sparse_count(of_b)) out.at[at.row][at.column] = static_cast<float>(exact.value + exact.cut);
    }
  }

 public:
  // kernel ----------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int warp = warp_index(), lane = lane_index(), g = lane / 4, q = lane % 4, k = static_cast<int>(p.k);
    const std::uint32_t tile = block_index().x * warps_of_block + static_cast<unsigned>(warp);
    const auto [member, along_long, along_short] = p.tile(tile);
    const int lines = p.rounds * rows;
    const std::int64_t top = std::int64_t{along_long} * lines, left = std::int64_t{along_short} * columns;
    stream_work w{member, top, left, 0, k, nullptr, nullptr, as_many(p.of_long.lines - top), as_many(p.of_short.lines - left)};
    const int lines_left = w.long_left < lines ? w.long_left : lines, columns_left = w.short_left < columns ? w.short_left : columns;
    reading<rows> of_long;
    reading<columns> of_short;
    const auto find = [&](bool known) {  // operands: an address that stands in memory is known behind the wait
      if ((p.of_long.member == nullptr) == known) {
        w.of_long = p.of_long.of_member(w.member);
        if constexpr (P.whole) of_long.begin(p.of_long, w.of_long, w.top, g, q);
      }
      if ((p.of_short.member == nullptr) == known) {
        w.of_short = p.of_short.of_member(w.member);
        if constexpr (P.whole) of_short.begin(p.of_short, w.of_short, w.left, g, q);
      }
    };
    std::uint32_t known_first = static_cast<std::uint32_t>(lines_left ^ columns_left);
    if constexpr (P.whole) {
      find(true);
      known_first ^= of_long.at.digest() ^ of_short.at.digest();
    }
    compute_first(known_first);
    wait_for_previous_grid(p);
    start_next_grid();
    if (tile >= p.tiles) return;
    if constexpr (!P.whole) find(true);
    find(false);
    float* c = p.c_member != nullptr ? p.c_member[w.member] : p.c + w.member * p.batch_stride;
    const bool packs = stores_packs<P>(p, c, columns_left);
    c += w.top * p.long_stride + w.left * p.short_stride;

    of_long.ask(p.of_long, w.of_long, w.top, 0, lines_left, k, g, q);
    double kept[P.stages][short_lines::count][4];
    bool columns_plenty = k >= dense_line;
    {
      of_short.ask(p.of_short, w.of_short, w.left, 0, columns_left, k, g, q);
      const short_lines b = of_short.take(p.of_short, q);
      AP_UNROLL
      for (int n = 0; n < P.stages; ++n) {
        AP_UNROLL
        for (int l = 0; l < short_lines::count; ++l) {
          AP_UNROLL
          for (int i = 0; i < 4; ++i) kept[n][l][i] = b.x[n][l][i];
        }
      }
      columns_plenty = columns_plenty && ballot(!plenty(b.x[0], k - 2 * q, 0)) == 0;
    }
    staged_rows<P>& out = s.c[warp];
    bool columns_known = false;
    AP_ROLLED
    for (int line = 0; line < lines_left; line += rows, c += rows * p.long_stride) {
      const long_lines a = of_long.take(p.of_long, q);
      if (line + rows < lines_left) of_long.ask(p.of_long, w.of_long, w.top, line + rows, lines_left, k, g, q);
      sums sum = {};
      AP_UNROLL
      for (int n = 0; n < P.stages; ++n) {
        AP_UNROLL
        for (int i = 0; i < 4; i += 2) {
          if (16 * n + 4 * i >= k) break;
          const double of_a[4] = {a.x[n][0][i], a.x[n][1][i], a.x[n][0][i + 1], a.x[n][1][i + 1]};
          AP_UNROLL
          for (int j = 0; j < short_lines::count; ++j) {
            const double of_b[2] = {kept[n][j][i], kept[n][j][i + 1]};
            mma(sum.value[0][j], of_a, of_b);
          }
        }
      }
      unsigned small = 0;
      if (k > 2 && (!columns_plenty || ballot(!plenty(a.x[0], k - 2 * q, 0)) != 0)) {
        if (!columns_known) {
          AP_UNROLL
          for (int l = 0; l < short_lines::count; ++l) {
            const int here = size_of_line(kept, l);
            if (q == 0) s.size_of_column[warp][line_of_lane<2>(0, l, g)] = here;
          }
          warp_sync();
          columns_known = true;
        }
        const int row[2] = {size_of_line(a.x, 0), size_of_line(a.x, 1)};
        small = small_outputs(sum, row, s.size_of_column[warp], q);
      }
      if (packs && ballot(small != 0) == 0) {
        store_lane_packs<P>(p, sum, 0, c, lines_left - line, columns_left, g, q);
        continue;
      }
      out.put(sum, 0, g, q);
      mend(p, w, small, w.top + line, g, q, out);
      warp_sync();
      out.store(p, c, w.top + line, w.left, lines_left - line, columns_left, w.member);
      warp_sync();
    }
  }
};

template <stream_policy P> stream_instance stream_kept_of(const char* name) { return {P, kernel_of<stream_kept<P>>(name)}; }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
