// SPDX-License-Identifier: Apache-2.0
// Small products as inner products, each by a few lanes of a warp (sm_75).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/warp.cuh>
#include "src/gemm/dots/dots_outputs.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
//   load, multiply ... | add up the lanes | store
// A small product takes as long as one thread's instructions in a row, of which most run for the first time and have to be fetched. So this
// kernel has few: an output belongs to some lanes of a warp, which read their elements straight from memory, eight of each operand before
// the first is used, and add up by shuffles. There is no shared memory and no barrier, elements come one by one wherever they lie, and each
// output reads both of its lines. What the caches then bring more than once is little while C is small.
// Lane n of an output has k = n, n + lanes, n + 2 lanes ... Neighbouring lanes of a warp take neighbours in memory, along k or along lines;
// which lane of an output has which k, and the order of additions, are the same in both cases. Where C is not so small, lanes have a square
// of outputs together, so that each element that they load is used twice.
template <int Square, bool Finishes> struct dots_by_lanes : dots_outputs<Finishes> {
  static constexpr int threads = dots_lanes_threads;
  static constexpr shared_kind shared = shared_kind::fixed;
  static constexpr bool overlaps_previous = true;
  using params = dots_problem;
  static constexpr int at_once = dots_lanes_step / Square;  // elements of each line that a lane loads before it multiplies
  struct storage {
    double value[threads / warp_size][Square][Square];  // of warps that share outputs
    std::uint32_t nonzeros[threads / warp_size][Square];
    line_nonzeros found[threads / warp_size];  // of the line that a warp looks at
  };

 private:
  static constexpr int warp_bits = 5;
  static_assert(1 << warp_bits == warp_size && dots_lanes_most_k < 1 << 16);
  using stores = dots_outputs<Finishes>;
  // Where a thread is in its block.
  struct seat {
    int line, k, apart;  // line of the long operand, first k; from a lane to the one with the next k
    AP_DEV static seat mine(const params& p) {
      const int thread = thread_index(), bits = p.slot_bits, line_bits = warp_bits - bits;
      if (p.of_long.along_k || line_bits <= 0) return {thread >> bits, thread & ((1 << bits) - 1), 1};
      const int lane = thread % warp_size, line = lane & ((1 << line_bits) - 1);
      return {(thread / warp_size << line_bits) + line, lane >> line_bits, 1 << line_bits};
    }
  };
  struct sums {
    double value[Square][Square] = {};
    std::uint32_t nonzeros[Square] = {};  // of a line of the long operand in the upper half, of one of the short operand in the lower
    AP_DEV void add(auto value_of, auto nonzeros_of) {  // (i, j), (i): what is added
      AP_UNROLL
      for (int i = 0; i < Square; ++i) {
        AP_UNROLL
        for (int j = 0; j < Square; ++j) value[i][j] += value_of(i, j);
        nonzeros[i] += nonzeros_of(i);
      }
    }
  };
  // The lines of an operand that a lane reads. Those behind the end are the last one.
  struct lane_lines {
    std::int64_t from[Square], apart;  // elements, from those of the member; from a value of k to the next one that is the lane's
    AP_DEV lane_lines(const line_operand& o, std::int64_t first, int line_apart, int k, int slot_bits) : apart(o.k_stride << slot_bits) {
      AP_UNROLL
      for (int n = 0; n < Square; ++n) {
        const std::int64_t line = first + n * line_apart;
        from[n] = (line < o.lines ? line : o.lines - 1) * o.line_stride + k * o.k_stride;
      }
    }
  };
  AP_DEV static sums multiply(const float* x, const lane_lines& of_x, const float* y, const lane_lines& of_y, int k, int end, int lanes) {
    sums sum;
    AP_ROLLED
    for (; k < end; k += at_once * lanes) {
      float a[at_once][Square], b[at_once][Square];
      AP_UNROLL
      for (int e = 0; e < at_once; ++e) {
        const bool is_there = k + e * lanes < end;
        AP_UNROLL
        for (int n = 0; n < Square; ++n) {
          a[e][n] = is_there ? x[of_x.from[n]] : 0;
          b[e][n] = is_there ? y[of_y.from[n]] : 0;
        }
        x += of_x.apart;
        y += of_y.apart;
      }
      AP_UNROLL
      for (int e = 0; e < at_once; ++e) {
        AP_UNROLL
        for (int i = 0; i < Square; ++i) {
          AP_UNROLL
          for (int j = 0; j < Square; ++j) sum.value[i][j] = multiply_add(double{a[e][i]}, double{b[e][j]}, sum.value[i][j]);
          sum.nonzeros[i] += (a[e][i] != 0 ? 1u << 16 : 0) + (b[e][i] != 0);
        }
      }
    }
    return sum;
  }
  AP_DEV static void add_up_lanes(sums& sum, int other) {
    sum.add([&](int i, int j) { return shuffle(sum.value[i][j], other); }, [&](int i) { return shuffle(sum.nonzeros[i], other); });
  }
  // The first of so many warps has their sums then.
  AP_DEV static void add_up_warps(storage& s, const seat& t, int warps, sums& sum) {
    const int warp = thread_index() / warp_size;
    if (lane_index() == 0) {
      AP_UNROLL
      for (int i = 0; i < Square; ++i) {
        AP_UNROLL
        for (int j = 0; j < Square; ++j) s.value[warp][i][j] = sum.value[i][j];
        s.nonzeros[warp][i] = sum.nonzeros[i];
      }
    }
    block_barrier();
    if (t.k != 0) return;
    AP_ROLLED
    for (int w = warp + 1; w < warp + warps; ++w)
      sum.add([&](int i, int j) { return s.value[w][i][j]; }, [&](int i) { return s.nonzeros[w][i]; });
  }

 public:
  // kernel ----------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    const int bits = p.slot_bits, lanes = 1 << bits, lines = threads >> bits;
    const seat t = seat::mine(p);
    const std::uint32_t block = block_index().x, tile = block % p.tiles;
    const std::int64_t member = block / p.tiles;
    const std::int64_t i = std::int64_t{tile} * (lines * Square) + t.line, j = std::int64_t{block_index().y} * Square;
    const lane_lines of_long(p.of_long, i, lines, t.k, bits), of_short(p.of_short, j, 1, t.k, bits);
    const auto is_mine = [&](int n, int m) { return t.k == 0 && i + n * lines < p.of_long.lines && j + m < p.of_short.lines; };
    std::int64_t first = member;
    AP_UNROLL
    for (int n = 0; n < Square; ++n) first ^= of_long.from[n] ^ of_short.from[n];
    compute_first(static_cast<std::uint32_t>(first));
    wait_for_previous_grid();
    start_next_grid();
    const typename stores::member_data of{member, p.of_long.of_member(member), p.of_short.of_member(member)};
    // C is read before the sums are there, so that they need not wait for it.
    float before[Square][Square] = {};
    AP_UNROLL
    for (int n = 0; n < Square; ++n) {
      AP_UNROLL
      for (int m = 0; m < Square; ++m)
        if (!Finishes && p.end.beta != 0 && is_mine(n, m)) before[n][m] = *stores::place_at(p, member, i + n * lines, j + m);
    }
    sums sum = multiply(of.of_long, of_long, of.of_short, of_short, t.k, static_cast<int>(p.k), lanes);
    AP_UNROLL
    for (int by = warp_size / 2; by > 0; by /= 2)
      if (by < lanes) add_up_lanes(sum, lane_index() ^ by * t.apart);
    storage& s = antiphase::shared<storage, shared>();
    if (lanes > warp_size) add_up_warps(s, t, lanes / warp_size, sum);
    unsigned sparse = 0, by_long = 0;  // a bit for each output
    AP_UNROLL
    for (int n = 0; n < Square; ++n) {
      AP_UNROLL
      for (int m = 0; m < Square; ++m) {
        const int output = n * Square + m;
        const bool of_line = is_sparse_count(static_cast<int>(sum.nonzeros[n] >> 16));
        const bool is_sparse = is_mine(n, m) && (of_line || is_sparse_count(static_cast<int>(sum.nonzeros[m] & 0xFFFFu)));
        by_long |= static_cast<unsigned>(of_line) << output;
        sparse |= static_cast<unsigned>(is_sparse) << output;
        if (!is_mine(n, m) || is_sparse) continue;
        if constexpr (Finishes)
          stores::store_at(p, member, i + n * lines, j + m, sum.value[n][m]);
        else
          *stores::place_at(p, member, i + n * lines, j + m) = blend(p.end, static_cast<float>(sum.value[n][m]), &before[n][m]);
      }
    }
    if (ballot(sparse != 0) == 0) return;
    line_nonzeros& found = s.found[warp_index()];
    AP_UNROLL
    for (int n = 0; n < Square; ++n) {
      AP_UNROLL
      for (int m = 0; m < Square; ++m) {
        const int output = n * Square + m;
        stores::store_exact_at(p, found, of, (sparse >> output & 1u) != 0, (by_long >> output & 1u) != 0, i + n * lines, j + m,
                               sum.value[n][m]);
      }
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
