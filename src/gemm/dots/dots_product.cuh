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
//   load | multiply ... | add up the threads of a line, the blocks of a cluster | store
// Many threads with a few loads each in flight take the place of a ring: nothing is used twice but the short operand, which the caches keep.
// Products of FP32 are exact in FP64, and sums stay FP64 until they are stored.
// A thread has 4 lines of the long operand and 4 values of k at a time. Neighbouring threads take neighbours in memory: along k, or along
// lines; the k of a thread's slot are the same in both cases.
template <int Short, bool Finishes> struct dots_product {
  static constexpr int threads = dots_threads, blocks_wanted = Short > 4 ? 1 : 2;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  using params = dots_problem;

  static constexpr int most_lines = dots_threads / dots_least_slots * dots_step, step = dots_step;
  static constexpr int outputs_of_thread = ceil_div(most_lines * Short, threads);
  struct storage {
    double part[threads * step * Short + dots_most_slots];  // by slot, output of the block: a slot's begin an odd number apart
    double total[most_lines * Short];                       // of the block
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
      const int thread = thread_index(), rows = threads / p.slots;
      if (p.of_long.along_k) return {thread % p.slots, thread / p.slots, rows};
      return {thread / rows, thread % rows * step, 1};
    }
  };
  struct sums {
    double value[step][Short];
    std::int32_t nonzeros_of_long[step], nonzeros_of_short[Short];
  };

  // load ------------------------------------------------------------------------------------------------------------------------
  // 4 values of k of a line: zeros behind the end.
  AP_DEV static void load_along_k(float (&to)[step], const line_operand& o, const float* from, bool wide, int left) {
    if (wide && left >= step) {
      const pack<float, step> all = load_pack<step>(from);
      AP_UNROLL
      for (int e = 0; e < step; ++e) to[e] = all.element[e];
      return;
    }
    AP_UNROLL
    for (int e = 0; e < step; ++e) to[e] = e < left ? from[e * o.k_stride] : 0;
  }
  AP_DEV static bool is_wide(const line_operand& o, const float* data) {
    return o.width == 4 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  }
  AP_DEV static int below(std::int64_t left, int most) { return left >= most ? most : left > 0 ? static_cast<int>(left) : 0; }
  // x[i][e]: line i of the thread at k + e.
  AP_DEV static void load_long(float (&x)[step][step], const params& p, const work& w, const seat& t, bool wide, std::int64_t k) {
    const line_operand& o = p.of_long;
    const int k_left = below(w.k_end - k, step);
    const std::int64_t line = w.top + t.line;
    const float* const from = w.of_long + line * o.line_stride + k * o.k_stride;
    if (o.along_k) {
      AP_UNROLL
      for (int i = 0; i < step; ++i)
        load_along_k(x[i], o, from + i * t.apart * o.line_stride, wide, line + i * t.apart < o.lines ? k_left : 0);
      return;
    }
    const int lines_left = below(o.lines - line, step);
    AP_UNROLL
    for (int e = 0; e < step; ++e) {
      float row[step];  // of lines
      if (wide && lines_left == step && e < k_left) {
        const pack<float, step> all = load_pack<step>(from + e * o.k_stride);
        AP_UNROLL
        for (int i = 0; i < step; ++i) row[i] = all.element[i];
      } else {
        AP_UNROLL
        for (int i = 0; i < step; ++i) row[i] = i < lines_left && e < k_left ? from[e * o.k_stride + i * o.line_stride] : 0;
      }
      AP_UNROLL
      for (int i = 0; i < step; ++i) x[i][e] = row[i];
    }
  }

  // multiply --------------------------------------------------------------------------------------------------------------------
  AP_DEV static void multiply(const params& p, const work& w, const float (&x)[step][step], bool wide, std::int64_t k, sums& sum) {
    const line_operand& o = p.of_short;
    const int k_left = below(w.k_end - k, step);
    AP_UNROLL
    for (int i = 0; i < step; ++i) {
      AP_UNROLL
      for (int e = 0; e < step; ++e) sum.nonzeros_of_long[i] += x[i][e] != 0;
    }
    AP_UNROLL
    for (int j = 0; j < Short; ++j) {
      float y[step];
      load_along_k(y, o, w.of_short + j * o.line_stride + k * o.k_stride, wide, j < o.lines ? k_left : 0);
      AP_UNROLL
      for (int e = 0; e < step; ++e) {
        sum.nonzeros_of_short[j] += y[e] != 0;
        AP_UNROLL
        for (int i = 0; i < step; ++i) sum.value[i][j] = multiply_add(double{x[i][e]}, double{y[e]}, sum.value[i][j]);
      }
    }
  }
  AP_DEV static void compute(const params& p, const work& w, const seat& t, sums& sum) {
    const bool wide_long = is_wide(p.of_long, w.of_long), wide_short = p.of_short.along_k && is_wide(p.of_short, w.of_short);
    const std::int64_t apart = std::int64_t{step} * p.slots;
    std::int64_t k = w.k + t.slot * step;
    float now[step][step], next[step][step];  // two steps in flight
    load_long(now, p, w, t, wide_long, k);
    for (; k < w.k_end; k += 2 * apart) {
      load_long(next, p, w, t, wide_long, k + apart);
      multiply(p, w, now, wide_short, k, sum);
      if (k + apart >= w.k_end) break;
      load_long(now, p, w, t, wide_long, k + 2 * apart);
      multiply(p, w, next, wide_short, k + apart, sum);
    }
  }

  // add up ----------------------------------------------------------------------------------------------------------------------
  AP_DEV static void add_up(const params& p, storage& s, const seat& t, const sums& sum) {
    const int outputs = p.lines * Short, apart = outputs | 1;
    AP_UNROLL
    for (int i = 0; i < step; ++i) {
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
    for (int o = thread_index(); o < outputs; o += threads) {
      double total = 0;
      for (int slot = 0; slot < p.slots; ++slot) total += s.part[slot * apart + o];
      s.total[o] = total;
    }
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
    const work w{member, std::int64_t{tile % p.tiles} * p.lines, k < p.k ? k : p.k, end < p.k ? end : p.k, p.of_long.of_member(member),
                 p.of_short.of_member(member)};
    const seat t = seat::mine(p);
    sums sum = {};
    compute(p, w, t, sum);
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
