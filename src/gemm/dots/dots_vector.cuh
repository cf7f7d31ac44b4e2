// SPDX-License-Identifier: Apache-2.0
// A matrix times a vector: all there is to do is to read the matrix, and this kernel does nothing else for long (sm_75).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/global.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/warp.cuh>
#include <type_traits>
#include "src/gemm/dots/dots_load.cuh"
#include "src/gemm/dots/dots_outputs.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
//   load 8 x 16 bytes, multiply ... | add up the lanes of a warp | add up the warps of a line | store
// Memory is busy if enough loads are in flight, and if no multiprocessor waits for others to end. So a thread asks for eight packs at a
// time before it uses the first, and blocks are small and many: what a block does besides is short, for it comes once for a few lines.
//
// A line belongs to `slots` threads, of which each has every slots-th group of four k, in order. The 32 slots of a warp add up in pairs,
// warps one after another. That order is the same in both kernels, and so are the bits.
//
// Along k, a thread has two lines, and its neighbours have neighbouring k.
// Across k, it has four lines side by side, and its neighbours have more of them, so that pieces of memory are long enough. It may have
// several slots of them then, by turns. Sums meet in shared memory, a slot's behind the other.
//
// Whether a line has so few nonzeros that its output has to be exact shows in the threads that have seen one: with none it is a line of
// zeros, with five or more it has as many nonzeros. What is between is counted, by a warp.
template <bool Across> struct dots_vector : dots_outputs<false> {
  static constexpr int threads = dots_vector_threads, blocks_wanted = Across ? 2 : 3;
  static constexpr shared_kind shared = shared_kind::fixed;
  static constexpr bool overlaps_previous = true;
  using params = dots_problem;
  static constexpr int step = dots_step, rows = dots_vector_rows(Across);
  static constexpr int warps = threads / warp_size, most_lines = threads / dots_vector_least_slots * rows;
  static constexpr int most_own = Across ? dots_vector_most_own : 1;  // slots of a thread

 private:
  using stores = dots_outputs<false>;
  static constexpr int warp_bits = 5;
  static_assert(1 << warp_bits == warp_size && threads % warp_size == 0 && threads * rows % (warp_size * warps) == 0);
  struct of_warp {  // and of one of its lines: the sum of its slots, and how many threads have seen a nonzero
    double sum;
    int seen;
  };
  struct by_warps {
    of_warp line[warps][rows];
    int seen_of_short[warps];
  };
  // Slots of a line side by side, with a place left over from line to line.
  struct by_slots {
    double sum[threads * rows * most_own + most_lines];
    std::uint8_t seen[threads * rows + most_lines], seen_of_short[threads];  // by the line's threads
    of_warp total[threads * rows * most_own / warp_size];                    // of 32 slots
    int total_of_short;
  };

 public:
  struct storage {
    std::conditional_t<Across, by_slots, by_warps> part;
    line_nonzeros found[warps];
  };

 private:
  struct seat {
    int slot, line;  // the thread's first ones, of the block
    AP_DEV static seat mine(const params& p) {
      const int thread = thread_index(), of_line = threads_of_line(p), seats = threads / of_line;
      if constexpr (Across)
        return {thread / seats, thread % seats * rows};
      else
        return {thread & (of_line - 1), thread / of_line * rows};
    }
  };
  AP_DEV static int threads_of_line(const params& p) { return 1 << (p.slot_bits - p.own_bits); }
  AP_DEV static int lines_of_block(const params& p) { return threads / threads_of_line(p) * rows; }
  template <int Own> struct sums {
    double value[Own][rows] = {};
    std::uint32_t bits[rows] = {}, bits_of_short = 0;  // all elements' together
  };
  AP_DEV static bool has_nonzero(std::uint32_t bits) { return bits << 1 != 0; }  // the sign aside

  // load, multiply --------------------------------------------------------------------------------------------------------------
  // Where a thread reads its lines of the long operand: along k a pointer for each, across k one for all. Lines behind the end are the last
  // one along k; across k they are not read.
  struct lines_here {
    const float* at[Across ? 1 : rows];
    std::int64_t k_stride, line_stride;
    int there;
    AP_DEV lines_here(const line_operand& o, const float* data, std::int64_t first, int k)
        : k_stride(o.k_stride), line_stride(o.line_stride) {
      const std::int64_t left = o.lines - first;
      there = left < rows ? left > 0 ? static_cast<int>(left) : 0 : rows;
      AP_UNROLL
      for (int i = 0; i < (Across ? 1 : rows); ++i) at[i] = data + (i < left ? first + i : o.lines - 1) * line_stride + k * k_stride;
    }
    AP_DEV void go_on(std::int64_t k) {
      AP_UNROLL
      for (const float*& from : at) from += k * k_stride;
    }
    // x[e][i] across k, x[i][e] along: line i at `k` further, and e more.
    template <bool Wide, int Outer, int Inner> AP_DEV void load(float (&x)[Outer][Inner], std::int64_t k, int left) const {
      AP_UNROLL
      for (int n = 0; n < Outer; ++n) {
        if constexpr (Across)
          load_neighbours<Wide>(x[n], in_global_memory(at[0] + (k + n) * k_stride), line_stride, n < left ? there : 0);
        else
          load_neighbours<Wide>(x[n], in_global_memory(at[n] + k * k_stride), k_stride, left);
      }
    }
  };
  using elements = std::conditional_t<Across, float[step][rows], float[rows][step]>;
  template <int Own> AP_DEV static void multiply(const elements& x, const float (&y)[step], int own, sums<Own>& sum) {
    AP_UNROLL
    for (int e = 0; e < step; ++e) {
      sum.bits_of_short |= bit_cast<std::uint32_t>(y[e]);
      AP_UNROLL
      for (int i = 0; i < rows; ++i) {
        const float value = Across ? x[e][i] : x[i][e];
        sum.value[own][i] = multiply_add(double{value}, double{y[e]}, sum.value[own][i]);
        sum.bits[i] |= bit_cast<std::uint32_t>(value);
      }
    }
  }
  // Values of k that are there of a group, of those left.
  AP_DEV static int of_group(std::int64_t left) { return left >= step ? step : left > 0 ? static_cast<int>(left) : 0; }
  // Along k: as much at once as registers hold.
  template <bool Wide, bool WideShort>
  AP_DEV static sums<1> compute_at_once(const params& p, lines_here of_long, const float* of_short, std::int64_t left) {
    constexpr int at_once = Wide ? 8 / rows : 2;  // groups of k
    const std::int64_t apart = std::int64_t{step} * threads_of_line(p), short_stride = p.of_short.k_stride;
    sums<1> sum;
    const auto multiply_groups = [&](auto left_of) {
      elements x[at_once];
      AP_UNROLL
      for (int n = 0; n < at_once; ++n) of_long.template load<Wide>(x[n], n * apart, left_of(n));
      AP_UNROLL
      for (int n = 0; n < at_once; ++n) {  // of the vector, which the caches have, one by one: registers are for what takes long
        float y[step];
        load_neighbours<WideShort>(y, in_global_memory(of_short + n * apart * short_stride), short_stride, left_of(n));
        multiply(x[n], y, 0, sum);
      }
      of_long.go_on(at_once * apart);
      of_short += at_once * apart * short_stride;
    };
    AP_ROLLED
    for (; left >= (at_once - 1) * apart + step; left -= at_once * apart) multiply_groups([](int) { return step; });
    if (left > 0) multiply_groups([&](int n) { return of_group(left - n * apart); });
    return sum;
  }
  // Across k: the thread's slots by turns, each group while the next one is on its way.
  template <int Own, bool Wide, bool WideShort>
  AP_DEV static sums<Own> compute_by_turns(const params& p, lines_here of_long, const float* of_short, std::int64_t left) {
    const std::int64_t apart = std::int64_t{step} * threads_of_line(p), short_stride = p.of_short.k_stride;
    sums<Own> sum;
    elements x[2];
    float y[2][step];
    const auto load = [&](int to) {
      of_long.template load<Wide>(x[to], 0, of_group(left));
      load_neighbours<WideShort>(y[to], in_global_memory(of_short), short_stride, of_group(left));
      of_long.go_on(apart);
      of_short += apart * short_stride;
      left -= apart;
    };
    constexpr int turns = 2;
    static_assert(turns % Own == 0);
    load(0);
    AP_ROLLED
    for (std::int64_t groups = left + apart; groups > 0; groups -= turns * apart) {
      AP_UNROLL
      for (int turn = 0; turn < turns; ++turn) {
        load((turn + 1) % 2);
        multiply(x[turn % 2], y[turn % 2], turn % Own, sum);
      }
    }
    return sum;
  }
  template <int Own, bool Wide, bool WideShort>
  AP_DEV static sums<Own> compute(const params& p, const lines_here& of_long, const float* of_short, const seat& t) {
    const std::int64_t left = p.k - t.slot * step;  // values of k, from the thread's first group on
    if constexpr (Across)
      return compute_by_turns<Own, Wide, WideShort>(p, of_long, of_short, left);
    else
      return compute_at_once<Wide, WideShort>(p, of_long, of_short, left);
  }
  template <int Own> AP_DEV static sums<Own> compute(const params& p, const member_data& of, std::int64_t line, const seat& t) {
    const bool wide = p.of_long.along_k != Across && is_wide(p.of_long, of.of_long, Across ? p.of_long.lines : p.k);
    const bool wide_short = p.of_short.along_k && is_wide(p.of_short, of.of_short, p.k);
    const lines_here of_long(p.of_long, of.of_long, line, t.slot * step);
    const float* const of_short = of.of_short + t.slot * step * p.of_short.k_stride;
    if (wide && wide_short) return compute<Own, true, true>(p, of_long, of_short, t);
    return wide ? compute<Own, true, false>(p, of_long, of_short, t) : compute<Own, false, false>(p, of_long, of_short, t);
  }
  AP_DEV static void compute_and_leave(const params& p, storage& s, const member_data& of, std::int64_t line, const seat& t) {
    if constexpr (Across) {
      if (p.own_bits > 0) return leave(p, s.part, t, compute<most_own>(p, of, line, t));
    }
    leave(p, s.part, t, compute<1>(p, of, line, t));
  }

  // add up ----------------------------------------------------------------------------------------------------------------------
  AP_DEV static double add_up_lanes(double x) {
    AP_UNROLL
    for (int by = warp_size / 2; by > 0; by /= 2) x += shuffle(x, lane_index() ^ by);
    return x;
  }
  // Of output n of the block, when all warps have left their sums; its thread asks.
  struct total {
    double sum;
    int seen, seen_of_short;
  };
  AP_DEV static void leave(const params&, by_warps& s, const seat&, const sums<1>& sum) requires(!Across) {
    const int warp = warp_index();
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      const of_warp mine{add_up_lanes(sum.value[0][i]), bit_count(ballot(has_nonzero(sum.bits[i])))};
      if (lane_index() == 0) s.line[warp][i] = mine;
    }
    const int of_short = bit_count(ballot(has_nonzero(sum.bits_of_short)));
    if (lane_index() == 0) s.seen_of_short[warp] = of_short;
    block_barrier();
  }
  AP_DEV static total total_of(const params& p, const by_warps& s, int n) requires(!Across) {
    const int of_line = (1 << p.slot_bits) / warp_size, first = n / rows * of_line;
    total all{};
    for (int w = first; w < first + of_line; ++w) {
      all.sum += s.line[w][n % rows].sum;
      all.seen += s.line[w][n % rows].seen;
      all.seen_of_short += s.seen_of_short[w];
    }
    return all;
  }
  template <int Own> AP_DEV static void leave(const params& p, by_slots& s, const seat& t, const sums<Own>& sum) requires Across {
    const int slots = 1 << p.slot_bits, apart = slots + 1, of_line = threads_of_line(p);
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      AP_UNROLL
      for (int own = 0; own < Own; ++own) s.sum[(t.line + i) * apart + own * of_line + t.slot] = sum.value[own][i];
      s.seen[(t.line + i) * (of_line + 1) + t.slot] = has_nonzero(sum.bits[i]);
    }
    if (t.line == 0) s.seen_of_short[t.slot] = has_nonzero(sum.bits_of_short);
    block_barrier();
    // A warp adds up 32 slots after the other, of which there are as many in any division: several at once, for each takes long.
    constexpr int at_once = threads * rows / warp_size / warps;
    const int lane = lane_index(), warp = warp_index(), of_line_bits = p.slot_bits - warp_bits;
    const auto count = [&](const std::uint8_t* seen, int first) {
      return bit_count(ballot(first < of_line && seen[first < of_line ? first + lane : 0] != 0));
    };
    AP_UNROLL
    for (int turn = 0; turn < Own; ++turn) {
      of_warp all[at_once];
      AP_UNROLL
      for (int n = 0; n < at_once; ++n) {
        const int unit = (turn * at_once + n) * warps + warp, line = unit >> of_line_bits,
                  first = (unit & ((1 << of_line_bits) - 1)) * warp_size;
        all[n] = {add_up_lanes(s.sum[line * apart + first + lane]), count(s.seen + line * (of_line + 1), first)};
      }
      AP_UNROLL
      for (int n = 0; n < at_once; ++n)
        if (lane == 0) s.total[(turn * at_once + n) * warps + warp] = all[n];
    }
    if (warp == 0) {
      int seen = 0;
      for (int first = 0; first < of_line; first += warp_size) seen += count(s.seen_of_short, first);
      if (lane == 0) s.total_of_short = seen;
    }
    block_barrier();
  }
  AP_DEV static total total_of(const params& p, const by_slots& s, int n) requires Across {
    const int of_line = 1 << (p.slot_bits - warp_bits);
    total all{0, 0, s.total_of_short};
    for (int unit = n * of_line; unit < (n + 1) * of_line; ++unit) {
      all.sum += s.total[unit].sum;
      all.seen += s.total[unit].seen;
    }
    return all;
  }

  // store -----------------------------------------------------------------------------------------------------------------------
  // Those of a warp's outputs of which too few threads have seen a nonzero. ask: this lane's is one of them.
  AP_DEV static void store_uncertain(const params& p, line_nonzeros& found, const member_data& of, bool ask, std::int64_t line,
                                     double sum) {
    const bool short_is_sparse = is_sparse_line(of.of_short, p.of_short.k_stride, p.k);
    bool sparse = ask && short_is_sparse, by_long = false;
    AP_ROLLED
    for (unsigned asked = ballot(ask); asked != 0; asked &= asked - 1) {
      const int lane = bit_count((asked & (0u - asked)) - 1);
      const bool is = is_sparse_line(of.of_long + shuffle(line, lane) * p.of_long.line_stride, p.of_long.k_stride, p.k);
      if (lane_index() == lane) sparse = sparse || is, by_long = is;
    }
    if (ask && !sparse) stores::store_at(p, of.member, line, 0, sum);
    stores::store_exact_at(p, found, of, sparse, by_long, line, 0, sum);
  }

 public:
  // kernel ----------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const std::int64_t member = block_index().x / p.tiles, top = std::int64_t{block_index().x % p.tiles} * lines_of_block(p);
    const seat t = seat::mine(p);
    wait_for_previous_grid();
    start_next_grid();
    const member_data of{member, p.of_long.of_member(member), p.of_short.of_member(member)};
    compute_and_leave(p, s, of, top + t.line, t);
    const int output = thread_index();
    if (output >= ceil_div(most_lines, warp_size) * warp_size) return;
    const std::int64_t line = top + output;
    const bool mine = output < lines_of_block(p) && line < p.of_long.lines;
    const total all = mine ? total_of(p, s.part, output) : total{};
    const auto few = [](int seen) { return seen > 0 && seen < dense_line; };
    const bool ask = mine && (few(all.seen) || few(all.seen_of_short));
    if (mine && !ask) stores::store_at(p, member, line, 0, all.sum);
    if (ballot(ask) != 0) store_uncertain(p, s.found[warp_index()], of, ask, line, all.sum);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
