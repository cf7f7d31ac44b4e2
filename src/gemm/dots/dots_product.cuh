// SPDX-License-Identifier: Apache-2.0
// Products with up to eight rows or columns, as inner products: reading the long operand is the work (sm_75; clusters: sm_90).
#pragma once
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include "src/gemm/blend.cuh"
#include "src/gemm/dots/dots_product.hpp"
#include "src/gemm/finished.cuh"
#include "src/gemm/sparse_lines.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan --------------------------------------------------------------------------------------------------------------------------
//   load, multiply ... | add up the threads of a line, the blocks of a cluster | store
// Many threads with a few loads each in flight take the place of a ring: of the long operand nothing is used twice. The short one comes
// from the caches if its lines lie along k; else threads would read it in scattered places, so the block stages its next k in shared
// memory. Products of FP32 are exact in FP64, and sums stay FP64 until they are stored. A thread has a few lines of the long operand and 4
// values of k at a time. Neighbouring threads take neighbours in memory: along k, or along lines; the k of a thread's slot are the same in
// both cases.
template <int Short, bool Finishes> struct dots_product {
  static constexpr int threads = dots_threads, blocks_wanted = 2;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  using params = dots_problem;

  static constexpr int rows = dots_rows(Short), step = dots_step;  // of a thread: lines of the long operand, values of k
  static constexpr int most_lines = dots_threads / dots_least_slots * rows, most_slots = dots_most_slots(Short);
  static constexpr int outputs_of_thread = ceil_div(most_lines * Short, threads);
  static constexpr int steps_of_stage = 4, most_staged = steps_of_stage * step * most_slots;
  struct storage {
    alignas(16) float staged[Short][most_staged + step];
    double part[threads * rows * Short + most_slots];  // by slot, output of the block: a slot's begin an odd number apart
    double total[most_lines * Short];                  // of the block
    line_register<most_lines + Short> lines;
    std::int32_t any_sparse;
  };

 private:
  struct work {
    std::int64_t member, top;  // first line
    std::int64_t k, k_end;
    const float* of_long;
    const float* of_short;
  };
  struct seat {
    int slot, line;  // of the thread's first line in the block: the others are `apart` further each
    int apart;
    AP_DEV static seat mine(const params& p) {
      const int thread = thread_index(), apart = threads / p.slots;
      if (p.of_long.along_k) return {thread % p.slots, thread / p.slots, apart};
      return {thread / apart, thread % apart * rows, 1};
    }
  };
  struct sums {
    double value[rows][Short];
    std::int32_t nonzeros_of_long[rows], nonzeros_of_short[Short];
  };

  // load ------------------------------------------------------------------------------------------------------------------------
  // Loads without branches, so that all of them are in flight at once. Wide: packs, of operands whose rows begin at multiples of 16 bytes
  // and are multiples of packs long. 4 values of k of a line: `left` of them, zeros behind. Wide: all or none.
  template <bool Wide> AP_DEV static void load_along_k(float (&to)[step], const line_operand& o, const float* from, int left) {
    if constexpr (Wide) {
      pack<float, step> all{};
      if (left > 0) all = load_pack<step>(from);
      AP_UNROLL
      for (int e = 0; e < step; ++e) to[e] = all.element[e];
    } else {
      AP_UNROLL
      for (int e = 0; e < step; ++e) to[e] = e < left ? from[e * o.k_stride] : 0;
    }
  }
  AP_DEV static int below(std::int64_t left, int most) { return left >= most ? most : left > 0 ? static_cast<int>(left) : 0; }
  // x[i][e]: line i of the thread at k + e.
  template <bool Wide, bool AlongK>
  AP_DEV static void load_long(float (&x)[rows][step], const params& p, const work& w, const seat& t, std::int64_t k) {
    const line_operand& o = p.of_long;
    const int k_left = below(w.k_end - k, step);
    const std::int64_t line = w.top + t.line;
    const float* const from = w.of_long + line * o.line_stride + k * o.k_stride;
    if constexpr (AlongK) {
      AP_UNROLL
      for (int i = 0; i < rows; ++i)
        load_along_k<Wide>(x[i], o, from + i * t.apart * o.line_stride, line + i * t.apart < o.lines ? k_left : 0);
    } else {
      const int lines_left = below(o.lines - line, rows);
      AP_UNROLL
      for (int e = 0; e < step; ++e) {
        pack<float, rows> of_k{};
        if constexpr (Wide) {
          if (lines_left > 0 && e < k_left) of_k = load_pack<rows>(from + e * o.k_stride);
        } else {
          AP_UNROLL
          for (int i = 0; i < rows; ++i) of_k.element[i] = i < lines_left && e < k_left ? from[e * o.k_stride + i * o.line_stride] : 0;
        }
        AP_UNROLL
        for (int i = 0; i < rows; ++i) x[i][e] = of_k.element[i];
      }
    }
  }

  // stage -----------------------------------------------------------------------------------------------------------------------
  // `count` values of k of the short operand, from k on: zeros behind the ends. Neighbouring threads read neighbours in memory.
  AP_DEV static void stage(const params& p, storage& s, const work& w, std::int64_t k, int count) {
    const line_operand& o = p.of_short;
    const int k_left = below(w.k_end - k, count), lines = static_cast<int>(o.lines);
    const float* const from = w.of_short + k * o.k_stride;
    for (int n = thread_index(); n < Short * count; n += threads) {
      const int j = o.along_k ? n / count : n % Short, at = o.along_k ? n % count : n / Short;
      s.staged[j][at] = j < lines && at < k_left ? from[j * o.line_stride + at * o.k_stride] : 0;
    }
  }

  // multiply --------------------------------------------------------------------------------------------------------------------
  AP_DEV static void load_staged(float (&y)[Short][step], const storage& s, int at) {
    AP_UNROLL
    for (int j = 0; j < Short; ++j) {
      const pack<float, step> all = load_pack<step>(s.staged[j] + at);
      AP_UNROLL
      for (int e = 0; e < step; ++e) y[j][e] = all.element[e];
    }
  }
  template <bool Wide> AP_DEV static void load_short(float (&y)[Short][step], const params& p, const work& w, std::int64_t k) {
    const line_operand& o = p.of_short;
    const int k_left = below(w.k_end - k, step);
    AP_UNROLL
    for (int j = 0; j < Short; ++j) load_along_k<Wide>(y[j], o, w.of_short + j * o.line_stride + k * o.k_stride, j < o.lines ? k_left : 0);
  }
  AP_DEV static void multiply(const float (&x)[rows][step], const float (&y)[Short][step], sums& sum) {
    AP_UNROLL
    for (int e = 0; e < step; ++e) {
      AP_UNROLL
      for (int i = 0; i < rows; ++i) sum.nonzeros_of_long[i] += x[i][e] != 0;
      AP_UNROLL
      for (int j = 0; j < Short; ++j) {
        sum.nonzeros_of_short[j] += y[j][e] != 0;
        AP_UNROLL
        for (int i = 0; i < rows; ++i) sum.value[i][j] = multiply_add(double{x[i][e]}, double{y[j][e]}, sum.value[i][j]);
      }
    }
  }
  template <int Lines> AP_DEV static void take(float (&now)[Lines][step], const float (&next)[Lines][step]) {
    AP_UNROLL
    for (int i = 0; i < Lines; ++i) {
      AP_UNROLL
      for (int e = 0; e < step; ++e) now[i][e] = next[i][e];
    }
  }
  template <bool Wide, bool AlongK, bool WideShort> AP_DEV static void compute(const params& p, const work& w, const seat& t, sums& sum) {
    const std::int64_t apart = std::int64_t{step} * p.slots;
    constexpr bool both_ahead = Short == 1;  // more lines take registers that are not there
    float now[rows][step], next[rows][step], y[Short][step], next_y[Short][step];
    std::int64_t k = w.k + t.slot * step;
    load_long<Wide, AlongK>(now, p, w, t, k);
    if constexpr (both_ahead) load_short<WideShort>(y, p, w, k);
    AP_ROLLED
    for (; k < w.k_end; k += apart) {
      load_long<Wide, AlongK>(next, p, w, t, k + apart);
      load_short<WideShort>(both_ahead ? next_y : y, p, w, both_ahead ? k + apart : k);
      multiply(now, y, sum);
      take(now, next);
      if constexpr (both_ahead) take(y, next_y);
    }
  }
  template <bool Wide, bool AlongK>
  AP_DEV static void compute_staged(const params& p, storage& s, const work& w, const seat& t, sums& sum) {
    const int apart = step * p.slots;
    const std::int64_t mine = t.slot * step;
    float now[rows][step], next[rows][step], y[Short][step];
    load_long<Wide, AlongK>(now, p, w, t, w.k + mine);
    AP_ROLLED
    for (std::int64_t first = w.k; first < w.k_end; first += steps_of_stage * apart) {
      if (first > w.k) block_barrier();                                                  // nobody needs what was staged before
      const std::int64_t left = ceil_div<std::int64_t>(w.k_end - first, apart) * apart;  // to the end of the last step
      stage(p, s, w, first, below(left, steps_of_stage * apart));
      block_barrier();
      AP_ROLLED
      for (int n = 0; n < steps_of_stage && first + n * apart < w.k_end; ++n) {
        load_long<Wide, AlongK>(next, p, w, t, first + (n + 1) * apart + mine);
        load_staged(y, s, n * apart + t.slot * step);
        multiply(now, y, sum);
        take(now, next);
      }
    }
  }
  AP_DEV static bool is_wide(const line_operand& o, const float* data, std::int64_t row) {
    return o.width == 4 && row % step == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  }
  AP_DEV static void compute(const params& p, storage& s, const work& w, const seat& t, sums& sum) {
    const bool along_k = p.of_long.along_k, wide = is_wide(p.of_long, w.of_long, along_k ? p.k : p.of_long.lines);
    if (!p.of_short.along_k) {
      if (along_k) return wide ? compute_staged<true, true>(p, s, w, t, sum) : compute_staged<false, true>(p, s, w, t, sum);
      return wide ? compute_staged<true, false>(p, s, w, t, sum) : compute_staged<false, false>(p, s, w, t, sum);
    }
    if (wide && is_wide(p.of_short, w.of_short, p.k))
      return along_k ? compute<true, true, true>(p, w, t, sum) : compute<true, false, true>(p, w, t, sum);
    if (wide) return along_k ? compute<true, true, false>(p, w, t, sum) : compute<true, false, false>(p, w, t, sum);
    return along_k ? compute<false, true, false>(p, w, t, sum) : compute<false, false, false>(p, w, t, sum);
  }

  // add up ----------------------------------------------------------------------------------------------------------------------
  AP_DEV static void add_up(const params& p, storage& s, const seat& t, const sums& sum) {
    const int outputs = p.lines * Short, apart = outputs | 1;
    AP_UNROLL
    for (int i = 0; i < rows; ++i) {
      const int line = t.line + i * t.apart;
      AP_UNROLL
      for (int j = 0; j < Short; ++j) s.part[t.slot * apart + j * p.lines + line] = sum.value[i][j];
      if (sum.nonzeros_of_long[i] != 0) atomic_add<scope::block>(&s.lines.nonzeros[line], below(sum.nonzeros_of_long[i], dense_line));
    }
    if (t.line == 0) {
      AP_UNROLL
      for (int j = 0; j < Short; ++j)
        if (sum.nonzeros_of_short[j] != 0)
          atomic_add<scope::block>(&s.lines.nonzeros[most_lines + j], below(sum.nonzeros_of_short[j], dense_line));
    }
    block_barrier();
    if (most_slots <= warp_size || p.slots <= warp_size) {
      for (int o = thread_index(); o < outputs; o += threads) s.total[o] = sum_of_slots(s, o, apart, 0, 1, p.slots);
    } else {  // few outputs: a warp for each
      for (int o = warp_index(); o < outputs; o += threads / warp_size) {
        double total = sum_of_slots(s, o, apart, lane_index(), warp_size, p.slots);
        AP_UNROLL
        for (int by = warp_size / 2; by > 0; by /= 2) total += shuffle_down(total, by);
        if (lane_index() == 0) s.total[o] = total;
      }
    }
  }
  AP_DEV static double sum_of_slots(const storage& s, int output, int apart, int first, int by, int slots) {
    double total = 0;
    for (int slot = first; slot < slots; slot += by) total += s.part[slot * apart + output];
    return total;
  }
  // Of all blocks of the cluster.
  AP_DEV static int nonzeros_of(storage& s, int line, int cluster) {
    if (cluster == 1) return s.lines.nonzeros[line];
    int all = 0;
    for (int block = 0; block < cluster; ++block) all += *map_shared(&s.lines.nonzeros[line], block);
    return all;
  }
  AP_DEV static double total_of(storage& s, int output, int cluster) {
    if (cluster == 1) return s.total[output];
    double all = 0;
    for (int block = 0; block < cluster; ++block) all += *map_shared(&s.total[output], block);
    return all;
  }

  // store -----------------------------------------------------------------------------------------------------------------------
  AP_DEV static void find_sparse(const params& p, storage& s, const work& w, const int (&counts)[2]) {
    // The counts of all blocks replace those of this one, once nobody reads them any more.
    for (int n = 0; n < 2; ++n)
      if (const int line = thread_index() + n * threads; line < most_lines + Short) s.lines.nonzeros[line] = counts[n];
    block_barrier();
    for (int n = warp_index(); n < most_lines + Short; n += threads / warp_size) {
      if (!is_sparse_count(s.lines.nonzeros[n])) continue;
      const bool of_long = n < most_lines;
      const line_operand& o = of_long ? p.of_long : p.of_short;
      const std::int64_t line = of_long ? w.top + n : n - most_lines;
      find_nonzeros((of_long ? w.of_long : w.of_short) + line * o.line_stride, o.k_stride, p.k, s.lines.found[n]);
    }
    block_barrier();
  }
  AP_DEV static void store(const params& p, storage& s, const work& w, int output, double sum, bool sparse) {
    const int line = output % p.lines, j = output / p.lines;
    const std::int64_t i = w.top + line;
    if (i >= p.of_long.lines || j >= p.of_short.lines) return;
    if (sparse) {
      const bool by_line = is_sparse_count(s.lines.nonzeros[line]), by_column = is_sparse_count(s.lines.nonzeros[most_lines + j]);
      if ((by_line || by_column) && sum - sum == 0)  // what an infinity or a NaN has made of it stays
        sum = exact_output(p.of_long, w.of_long, i, p.of_short, w.of_short, j, s.lines.found[by_line ? line : most_lines + j]);
    }
    float* const c = p.c_member != nullptr ? p.c_member[w.member] : p.c + w.member * p.batch_stride;
    float* const to = c + i * p.long_stride + j * p.short_stride;
    if constexpr (Finishes)
      *to = finished(p.end, static_cast<float>(sum), i, j, w.member, to);
    else
      *to = blend(p.end, static_cast<float>(sum), to);
  }

 public:
  // kernel ----------------------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    for (int n = thread_index(); n < most_lines + Short; n += threads) s.lines.nonzeros[n] = 0;
    if (thread_index() == 0) s.any_sparse = 0;
    block_barrier();
    wait_for_previous_grid();
    start_next_grid();
    const int cluster = cluster_extent(), rank = cluster_rank();
    const std::uint32_t tile = block_index().x / static_cast<unsigned>(cluster);
    const std::int64_t member = tile / p.tiles, k = rank * p.k_of_block, end = k + p.k_of_block;
    const work w{member,
                 std::int64_t{tile % p.tiles} * p.lines,
                 k < p.k ? k : p.k,
                 end < p.k ? end : p.k,
                 p.of_long.of_member(member),
                 p.of_short.of_member(member)};
    const seat t = seat::mine(p);
    sums sum = {};
    compute(p, s, w, t, sum);
    add_up(p, s, t, sum);
    if (cluster > 1)
      cluster_barrier();
    else
      block_barrier();
    static_assert(most_lines + Short <= 2 * threads);
    int counts[2] = {};
    for (int n = 0; n < 2; ++n) {
      const int line = thread_index() + n * threads;
      const bool is_there = line < most_lines ? line < p.lines && w.top + line < p.of_long.lines
                                              : line < most_lines + Short && line - most_lines < p.of_short.lines;
      if (is_there) counts[n] = nonzeros_of(s, line, cluster);
      if (is_sparse_count(counts[n])) atomic_add<scope::block>(&s.any_sparse, 1);
    }
    // Each block of the cluster stores a share of the outputs.
    const int outputs = p.lines * Short, share = (outputs + cluster - 1) / cluster, first = rank * share;
    const int last = first + share < outputs ? first + share : outputs;
    double mine[outputs_of_thread];
    AP_UNROLL
    for (int n = 0; n < outputs_of_thread; ++n)
      if (const int output = first + thread_index() + n * threads; output < last) mine[n] = total_of(s, output, cluster);
    if (cluster > 1)
      cluster_barrier();  // what other blocks read is read
    else
      block_barrier();
    const bool sparse = s.any_sparse != 0;
    if (sparse) find_sparse(p, s, w, counts);
    AP_UNROLL
    for (int n = 0; n < outputs_of_thread; ++n)
      if (const int output = first + thread_index() + n * threads; output < last) store(p, s, w, output, mine[n], sparse);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
