// SPDX-License-Identifier: Apache-2.0
// Small products as dot products, each by some threads of a block (sm_75).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/global.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/warp.cuh>
#include <type_traits>
#include "library/gemm/fp64/dots/dots_outputs.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
//   load, multiply ... | add up the lanes | add up the warps, if several have an output | store
// A small product takes as long as one thread's chain of instructions, most of which run once and have to be
// fetched first. So this kernel has few: an output belongs to some lanes of a warp, or to whole warps, which
// load their elements straight from global memory, eight of each operand before the first is used, and add up
// by shuffles. Elements are loaded one by one in any layout, and each output reads both of its lines: while C
// is small, the caches bring little of that more than once. Lane n of an output has k = n, n + lanes, n + 2
// lanes ... Adjacent lanes of a warp read adjacent elements, along k or along lines; which lane of an output
// has which k, and the order of additions, are the same in both cases. Where C is not so small, lanes have a
// square of outputs, so that each element that they load is used twice.
//
// Across: many lanes per output, and an operand that is contiguous across k. A warp with a single line of it
// would use 4 of every 32 bytes that it loads. So a warp has eight adjacent lines and four lanes of each, in
// a block that is large enough for that. Before they are added up, sums move through shared memory to the
// threads that have them in the other kernel, so the bits are the same.
template <int Square, bool Finishes, bool Across> struct dots_by_lanes : dots_outputs<Finishes> {
  static constexpr int threads = dots_threads_of_lanes(Across);
  static constexpr shared_kind shared = shared_kind::fixed;
  static constexpr bool overlaps_previous = true;
  using params = dots_problem;
  // elements of each line that a lane loads before it multiplies
  static constexpr int at_once = dots_lanes_step / Square;
  struct nothing {};
  // sums that change threads, padded against bank conflicts between lines
  struct places {
    static constexpr int pad = 2;
    double value[Square * Square][threads + threads / dots_least_across * pad];
  };
  struct storage {
    double value[threads / warp_size][Square][Square];  // sums of warps that share outputs
    [[no_unique_address]] std::conditional_t<Across, places, nothing> changed;
  };

 private:
  static constexpr int warp_bits = 5;
  static_assert(1 << warp_bits == warp_size);
  using stores = dots_outputs<Finishes>;
  struct scaling {
    float alpha, beta;
  };
  // A thread's place in its block.
  struct seat {
    int line, k, apart;  // line of the long operand, first k; lanes between adjacent k
    AP_DEV static seat along_k(const params& p) {
      return {thread_index() >> p.slot_bits, thread_index() & ((1 << p.slot_bits) - 1), 1};
    }
    // 2^line_bits adjacent lines in a warp; all lanes of these lines are in consecutive warps.
    AP_DEV static seat across_k(const params& p, int line_bits) {
      const int lane = thread_index() % warp_size, warp = thread_index() / warp_size,
                k_bits = warp_bits - line_bits;
      const int warp_bits_of_line = p.slot_bits - k_bits, group = warp >> warp_bits_of_line;
      return {(group << line_bits) + (lane & ((1 << line_bits) - 1)),
              ((warp & ((1 << warp_bits_of_line) - 1)) << k_bits) + (lane >> line_bits), 1 << line_bits};
    }
    // The place from which a thread loads.
    AP_DEV static seat mine(const params& p) {
      if constexpr (Across) return across_k(p, side_by_side_bits);
      const int line_bits = warp_bits - p.slot_bits;
      return p.of_long.along_k || line_bits <= 0 ? along_k(p) : across_k(p, line_bits);
    }
  };
  static constexpr int side_by_side_bits = 3;  // 8 adjacent lines: 8 floats are a sector of 32 bytes
  struct sums {
    double value[Square][Square] = {};
    AP_DEV void add(auto value_of) {  // value_of(i, j): what is added
      AP_UNROLL
      for (int i = 0; i < Square; ++i) {
        AP_UNROLL
        for (int j = 0; j < Square; ++j) value[i][j] += value_of(i, j);
      }
    }
  };
  // The lines of an operand that a lane reads, from its first k on. Lines past the end repeat the last one.
  struct lane_lines {
    std::int64_t offsets[Square];  // offset in the member, in elements
    const char* addresses[Square];
    std::int64_t apart;  // bytes from one k of the lane to its next one
    AP_DEV lane_lines(const line_operand& o, std::int64_t member, std::int64_t first, int line_apart, int k,
                      int slot_bits)
        : apart(4 * o.k_stride << slot_bits) {
      AP_UNROLL
      for (int n = 0; n < Square; ++n) {
        const std::int64_t line = first + n * line_apart;
        offsets[n] = (line < o.lines ? line : o.lines - 1) * o.line_stride + k * o.k_stride;
      }
      begin(o.data + member * o.batch_stride);
    }
    AP_DEV void begin(const float* data) {
      AP_UNROLL
      for (int n = 0; n < Square; ++n) addresses[n] = reinterpret_cast<const char*>(data + offsets[n]);
    }
    AP_DEV void load(float (&to)[Square], bool is_there) {
      AP_UNROLL
      for (int n = 0; n < Square; ++n) {
        to[n] = is_there ? *reinterpret_cast<const float*>(in_global_memory(addresses[n])) : 0;
        addresses[n] += apart;
      }
    }
  };
  // left: number of the lane's k.
  AP_DEV static sums multiply(lane_lines of_long, lane_lines of_short, int left) {
    sums sum;
    AP_ROLLED
    for (; left > 0; left -= at_once) {
      float a[at_once][Square], b[at_once][Square];
      AP_UNROLL
      for (int e = 0; e < at_once; ++e) {
        of_long.load(a[e], e < left);
        of_short.load(b[e], e < left);
      }
      AP_UNROLL
      for (int e = 0; e < at_once; ++e) {
        AP_UNROLL
        for (int i = 0; i < Square; ++i) {
          AP_UNROLL
          for (int j = 0; j < Square; ++j)
            sum.value[i][j] = multiply_add(double{a[e][i]}, double{b[e][j]}, sum.value[i][j]);
        }
      }
    }
    return sum;
  }
  AP_DEV static void add_up_lanes(sums& sum, int other) {
    sum.add([&](int i, int j) { return shuffle(sum.value[i][j], other); });
  }
  // Adds up the sums of `warps` warps, in the first of them.
  AP_DEV static void add_up_warps(storage& s, const seat& t, int warps, sums& sum) {
    const int warp = thread_index() / warp_size;
    if (lane_index() == 0) {
      AP_UNROLL
      for (int i = 0; i < Square; ++i) {
        AP_UNROLL
        for (int j = 0; j < Square; ++j) s.value[warp][i][j] = sum.value[i][j];
      }
    }
    block_barrier();
    if (t.k != 0) return;
    AP_ROLLED
    for (int w = warp + 1; w < warp + warps; ++w) sum.add([&](int i, int j) { return s.value[w][i][j]; });
  }

  // Moves sums from the threads that computed them to those that add them up.
  AP_DEV static void change_places(const params& p, storage& s, const seat& from, const seat& to,
                                   sums& sum) requires Across {
    const auto place = [&](const seat& at) { return at.line * ((1 << p.slot_bits) + places::pad) + at.k; };
    AP_UNROLL
    for (int i = 0; i < Square; ++i) {
      AP_UNROLL
      for (int j = 0; j < Square; ++j) s.changed.value[i * Square + j][place(from)] = sum.value[i][j];
    }
    block_barrier();
    AP_UNROLL
    for (int i = 0; i < Square; ++i) {
      AP_UNROLL
      for (int j = 0; j < Square; ++j) sum.value[i][j] = s.changed.value[i * Square + j][place(to)];
    }
  }

  // Values that a thread computes before it waits for the previous grid. The first access to each part of the
  // parameters is slow, so all of them that it needs are read here, too.
  struct work {
    std::int64_t member, first, j;  // first, j: lines of the block's first output
    std::int64_t i;                 // line of the thread's first output, once added up
    int lines, left;                // lines between the thread's; number of its k
    lane_lines of_long, of_short;
    // offsets in elements: from the member's C to the first output, and from output to output
    std::int64_t from_c, by_i, by_j;
    float* c;  // address of the first output
    scaling of_c;
    bool by_pointers;

    AP_DEV work(const params& p, const seat& loads, const seat& adds)
        : work(p, loads, adds, dots_place(p, block_index().x)) {}
    AP_DEV work(const params& p, const seat& loads, const seat& adds, const dots_place& at)
        : member(at.member),
          first(std::int64_t{at.tile} * (threads >> p.slot_bits) * Square),
          j(std::int64_t{block_index().y} * Square),
          i(first + adds.line),
          lines(threads >> p.slot_bits),
          left((static_cast<int>(p.k) - loads.k + (1 << p.slot_bits) - 1) >> p.slot_bits),
          of_long(p.of_long, member, first + loads.line, lines, loads.k, p.slot_bits),
          of_short(p.of_short, member, j, 1, loads.k, p.slot_bits),
          from_c(i * p.long_stride + j * p.short_stride),
          by_i(lines * p.long_stride),
          by_j(p.short_stride),
          c(p.c + member * p.batch_stride + from_c),
          of_c{p.end.alpha, p.end.beta},
          by_pointers(p.c_member != nullptr) {
      auto all =
          static_cast<std::uint64_t>(of_long.apart ^ of_short.apart ^ by_i ^ by_j ^ left ^ int{by_pointers}) ^
          reinterpret_cast<std::uintptr_t>(c) ^ bit_cast<std::uint32_t>(of_c.alpha) ^
          bit_cast<std::uint32_t>(of_c.beta);
      AP_UNROLL
      for (int n = 0; n < Square; ++n)
        all ^= reinterpret_cast<std::uintptr_t>(of_long.addresses[n]) ^
               reinterpret_cast<std::uintptr_t>(of_short.addresses[n]);
      compute_first(static_cast<std::uint32_t>(all));
    }
    // After the wait: earlier work may have written the arrays of pointers.
    AP_DEV void find_members(const params& p) {
      if (!by_pointers) return;
      of_long.begin(p.of_long.member[member]);
      of_short.begin(p.of_short.member[member]);
      c = p.c_member[member] + from_c;
    }
    AP_DEV float* place(int n, int m) const { return c + n * by_i + m * by_j; }
  };

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    const int lanes = 1 << p.slot_bits;
    const seat loads = seat::mine(p), t = Across ? seat::along_k(p) : loads;
    work w(p, loads, t);
    const bool adds_up = t.k == 0;
    const auto is_mine = [&](int n, int m) {
      return adds_up && w.i + n * w.lines < p.of_long.lines && w.j + m < p.of_short.lines;
    };
    wait_for_previous_grid();
    start_next_grid();
    w.find_members(p);
    // C is loaded before the products are computed, so that sums do not wait for it.
    float before[Square][Square] = {};
    AP_UNROLL
    for (int n = 0; n < Square; ++n) {
      AP_UNROLL
      for (int m = 0; m < Square; ++m)
        if (!Finishes && w.of_c.beta != 0 && is_mine(n, m)) before[n][m] = *w.place(n, m);
    }
    sums sum = multiply(w.of_long, w.of_short, w.left);
    storage& s = antiphase::shared<storage, shared>();
    if constexpr (Across) change_places(p, s, loads, t, sum);
    AP_UNROLL
    for (int by = warp_size / 2; by > 0; by /= 2)
      if (by < lanes) add_up_lanes(sum, lane_index() ^ by * t.apart);
    if (lanes > warp_size) add_up_warps(s, t, lanes / warp_size, sum);
    AP_UNROLL
    for (int n = 0; n < Square; ++n) {
      AP_UNROLL
      for (int m = 0; m < Square; ++m) {
        if (!is_mine(n, m)) continue;
        if constexpr (Finishes)
          stores::store_at(p, w.member, w.i + n * w.lines, w.j + m, sum.value[n][m]);
        else
          *w.place(n, m) = blend(w.of_c, static_cast<float>(sum.value[n][m]), &before[n][m]);
      }
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
