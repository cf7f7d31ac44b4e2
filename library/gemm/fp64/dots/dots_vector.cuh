// SPDX-License-Identifier: Apache-2.0
// A matrix times a vector, bound by reading the matrix (sm_75).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/global.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/warp.cuh>
#include <type_traits>
#include "library/gemm/fp64/dots/dots_load.cuh"
#include "library/gemm/fp64/dots/dots_outputs.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
//   load packs of 16 bytes, multiply ... | add up the lanes of a warp | add up the warps of a line | store
// Memory is busy if enough loads are in flight and no multiprocessor idles at the end. So a thread issues all
// loads of a turn before it uses the first, and blocks are small and many: a block's further work is short,
// since it comes once for a few lines.
//
// A line belongs to `slots` threads, each of which takes every slots-th group of four k, in order. The sums
// of a warp's 32 slots are added in pairs, those of warps one after another. All kernels have this order, and
// so the same bits, whatever the number of lines of a thread and of a block.
//
// Along k, a thread has one line or two, and adjacent threads have adjacent k. With one line, occupancy is
// higher. Across k, a thread has four adjacent lines, and adjacent threads have the next ones. Large blocks
// are best there, because contiguous pieces of memory are long. Sums meet in shared memory.
//
// Rows: lines of a thread.
template <bool Across, int Rows, bool Finishes> struct dots_vector : dots_outputs<Finishes> {
  static constexpr int threads = dots_vector_threads(Across), blocks_wanted = dots_vector_places(Rows);
  static constexpr shared_kind shared = shared_kind::fixed;
  static constexpr bool overlaps_previous = true;
  using params = dots_problem;
  static constexpr int step = dots_step, rows = Rows;
  static constexpr int warps = threads / warp_size, most_lines = threads / dots_vector_least_slots * rows;

 private:
  using stores = dots_outputs<Finishes>;
  static constexpr int warp_bits = 5, most_warps_of_line = dots_vector_most_slots / warp_size;
  static_assert(1 << warp_bits == warp_size);
  struct by_warps {
    double sum[warps][rows];
  };
  // The slots of a line are adjacent, and a line is padded by one.
  struct by_slots {
    double sum[threads * rows + most_lines];
    double total[threads * rows / warp_size];  // of 32 slots
  };

 public:
  struct storage {
    std::conditional_t<Across, by_slots, by_warps> part;
  };

 private:
  struct seat {
    int slot, line;  // the thread's slot, and its first line within the block
    AP_DEV static seat mine(const params& p) {
      const int thread = thread_index();
      if constexpr (Across) {
        const int seat_bits = p.thread_bits - p.slot_bits;
        return {thread >> seat_bits, (thread & ((1 << seat_bits) - 1)) * rows};
      } else {
        return {thread & ((1 << p.slot_bits) - 1), (thread >> p.slot_bits) * rows};
      }
    }
  };
  AP_DEV static int lines_of_block(const params& p) { return rows << (p.thread_bits - p.slot_bits); }
  struct sums {
    double value[rows] = {};
  };

  // load, multiply
  // ---------------------------------------------------------------------------------------------------------
  // A thread's addresses in the long operand: along k a pointer for each line, across k one for all. Lines
  // past the end repeat the last one along k; across k they are not read.
  struct lines_here {
    const float* addresses[Across ? 1 : rows];
    std::int64_t k_stride, line_stride;
    int there;
    AP_DEV lines_here(const line_operand& o, const float* data, std::int64_t first, int k)
        : k_stride(o.k_stride), line_stride(o.line_stride) {
      const std::int64_t left = o.lines - first;
      there = left < rows ? left > 0 ? static_cast<int>(left) : 0 : rows;
      AP_UNROLL
      for (int i = 0; i < (Across ? 1 : rows); ++i)
        addresses[i] = data + (i < left ? first + i : o.lines - 1) * line_stride + k * k_stride;
    }
    // Wide accesses along k imply a stride of 1, then known at compile time.
    template <bool Wide> AP_DEV std::int64_t apart_in_k() const { return Wide && !Across ? 1 : k_stride; }
    template <bool Wide> AP_DEV void go_on(std::int64_t k) {
      AP_UNROLL
      for (const float*& from : addresses) from += k * apart_in_k<Wide>();
    }
    // Loads x[e][i] across k, x[i][e] along: element k + e, from the current place on, of line i.
    template <bool Wide, int Outer, int Inner>
    AP_DEV void load(float (&x)[Outer][Inner], std::int64_t k, int left) const {
      AP_UNROLL
      for (int n = 0; n < Outer; ++n) {
        if constexpr (Across)
          load_neighbours<Wide>(x[n], in_global_memory(addresses[0] + (k + n) * k_stride), line_stride,
                                n < left ? there : 0);
        else
          load_neighbours<Wide>(x[n], in_global_memory(addresses[n] + k * apart_in_k<Wide>()), k_stride,
                                left);
      }
    }
  };
  using elements = std::conditional_t<Across, float[step][rows], float[rows][step]>;
  AP_DEV static void multiply(const elements& x, const float (&y)[step], sums& sum) {
    AP_UNROLL
    for (int e = 0; e < step; ++e) {
      AP_UNROLL
      for (int i = 0; i < rows; ++i) {
        const float value = Across ? x[e][i] : x[i][e];
        sum.value[i] = multiply_add(double{value}, double{y[e]}, sum.value[i]);
      }
    }
  }
  // Existing k of a group, if `left` are left.
  AP_DEV static int of_group(std::int64_t left) {
    return left >= step ? step : left > 0 ? static_cast<int>(left) : 0;
  }
  // Along k: as many loads at once as registers hold. Slots: their number, if all is read in packs, else 0.
  // With a constant number, all loads are at constant offsets from the first ones, and none waits for its
  // address.
  template <bool Wide, bool WideShort, int Slots>
  AP_DEV static sums compute_at_once(const params& p, lines_here of_long, const float* of_short,
                                     std::int64_t left) {
    constexpr int at_once = Wide ? 4 : 2;  // groups of k
    const std::int64_t apart = Slots > 0 ? step * Slots : std::int64_t{step} << p.slot_bits,
                       short_stride = WideShort ? 1 : p.of_short.k_stride;
    sums sum;
    const auto multiply_groups = [&](auto left_of) {
      elements x[at_once];
      AP_UNROLL
      for (int n = 0; n < at_once; ++n) of_long.template load<Wide>(x[n], n * apart, left_of(n));
      AP_UNROLL
      // the vector is cached, so its groups are loaded one by one: registers are for slow loads
      for (int n = 0; n < at_once; ++n) {
        float y[step];
        load_neighbours<WideShort>(y, in_global_memory(of_short + n * apart * short_stride), short_stride,
                                   left_of(n));
        multiply(x[n], y, sum);
      }
      of_long.template go_on<Wide>(at_once * apart);
      of_short += at_once * apart * short_stride;
    };
    AP_ROLLED
    for (; left >= (at_once - 1) * apart + step; left -= at_once * apart)
      multiply_groups([](int) { return step; });
    if (left > 0) multiply_groups([&](int n) { return of_group(left - n * apart); });
    return sum;
  }
  // Across k, double-buffered: each group is multiplied while the next one is loaded.
  template <bool Wide, bool WideShort>
  AP_DEV static sums compute_by_turns(const params& p, lines_here of_long, const float* of_short,
                                      std::int64_t left) {
    const std::int64_t apart = std::int64_t{step} << p.slot_bits,
                       short_stride = WideShort ? 1 : p.of_short.k_stride;
    sums sum;
    if (Wide && of_long.there == 0) return sum;  // with packs, all lines exist or none
    if (Wide) of_long.there = rows;
    elements x[2];
    float y[2][step];
    const auto load = [&](int to, int count) {
      of_long.template load<Wide>(x[to], 0, count);
      load_neighbours<WideShort>(y[to], in_global_memory(of_short), short_stride, count);
      of_long.template go_on<Wide>(apart);
      of_short += apart * short_stride;
    };
    if (left >= step) load(0, step);
    AP_ROLLED
    for (; left >= apart + step; left -= 2 * apart) {
      load(1, step);
      multiply(x[0], y[0], sum);
      if (left >= 2 * apart + step) load(0, step);
      multiply(x[1], y[1], sum);
    }
    if (left >= step) {
      multiply(x[0], y[0], sum);
      left -= apart;
    }
    if (left > 0) {
      load(0, of_group(left));
      multiply(x[0], y[0], sum);
    }
    return sum;
  }
  AP_DEV static sums compute(const params& p, const typename stores::member_data& of, std::int64_t line,
                             const seat& t) {
    const bool wide =
        p.of_long.along_k != Across && is_wide(p.of_long, of.of_long, Across ? p.of_long.lines : p.k);
    const bool wide_short = p.of_short.along_k && is_wide(p.of_short, of.of_short, p.k);
    const lines_here of_long(p.of_long, of.of_long, line, t.slot * step);
    const float* const of_short = of.of_short + t.slot * step * p.of_short.k_stride;
    const std::int64_t left = p.k - t.slot * step;  // k, from the thread's first group on
    if constexpr (Across) {
      if (!wide) return compute_by_turns<false, false>(p, of_long, of_short, left);
      return wide_short ? compute_by_turns<true, true>(p, of_long, of_short, left)
                        : compute_by_turns<true, false>(p, of_long, of_short, left);
    } else {
      if (!wide) return compute_at_once<false, false, 0>(p, of_long, of_short, left);
      if (!wide_short) return compute_at_once<true, false, 0>(p, of_long, of_short, left);
      switch (p.slot_bits) {
        case 5: return compute_at_once<true, true, 32>(p, of_long, of_short, left);
        case 6: return compute_at_once<true, true, 64>(p, of_long, of_short, left);
        case 7: return compute_at_once<true, true, 128>(p, of_long, of_short, left);
        default: return compute_at_once<true, true, 256>(p, of_long, of_short, left);
      }
    }
  }

  // add up
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static double add_up_lanes(double x) {
    AP_UNROLL
    for (int by = warp_size / 2; by > 0; by /= 2) x += shuffle(x, lane_index() ^ by);
    return x;
  }
  AP_DEV static void leave(const params&, by_warps& s, const seat&, const sums& sum) requires(!Across) {
    const int warp = warp_index();
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      const double mine = add_up_lanes(sum.value[i]);
      if (lane_index() == 0) s.sum[warp][i] = mine;
    }
    block_barrier();
  }
  // The sum of output n of the block, after all warps have stored theirs.
  AP_DEV static double total_of(const params& p, const by_warps& s, int n) requires(!Across) {
    const int bits = p.slot_bits - warp_bits, first = n / rows << bits;
    double all = 0;
    AP_UNROLL
    for (int w = 0; w < most_warps_of_line; ++w)  // constant bound: several reads precede the first addition
      if (w >> bits == 0) all += s.sum[first + w][n % rows];
    return all;
  }
  AP_DEV static void leave(const params& p, by_slots& s, const seat& t, const sums& sum) requires Across {
    const int slots = 1 << p.slot_bits, apart = slots + 1;
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      s.sum[(t.line + i) * apart + t.slot] = sum.value[i];
    }
    block_barrier();
    // A warp adds up `rows` groups of 32 slots, whatever the division: interleaved, since each is a chain of
    // latencies.
    const int lane = lane_index(), warp = warp_index(), warps_here = 1 << (p.thread_bits - warp_bits),
              bits = p.slot_bits - warp_bits;
    double all[rows];
    AP_UNROLL
    for (int n = 0; n < rows; ++n) {
      const int unit = n * warps_here + warp,
                at = (unit >> bits) * apart + (unit & ((1 << bits) - 1)) * warp_size + lane;
      all[n] = add_up_lanes(s.sum[at]);
    }
    AP_UNROLL
    for (int n = 0; n < rows; ++n)
      if (lane == 0) s.total[n * warps_here + warp] = all[n];
    block_barrier();
  }
  AP_DEV static double total_of(const params& p, const by_slots& s, int n) requires Across {
    const int bits = p.slot_bits - warp_bits, first = n << bits;
    double all = 0;
    AP_UNROLL
    for (int w = 0; w < most_warps_of_line; ++w)
      if (w >> bits == 0) all += s.total[first + w];
    return all;
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const dots_place at(p, block_index().x);
    const std::int64_t member = at.member, top = std::int64_t{at.tile} * lines_of_block(p);
    const seat t = seat::mine(p);
    wait_for_previous_grid(p);
    start_next_grid();
    const typename stores::member_data of{member, p.of_long.of_member(member), p.of_short.of_member(member)};
    leave(p, s.part, t, compute(p, of, top + t.line, t));
    const int output = thread_index();
    const std::int64_t line = top + output;
    if (output < lines_of_block(p) && line < p.of_long.lines)
      stores::store_at(p, member, line, 0, total_of(p, s.part, output));
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
