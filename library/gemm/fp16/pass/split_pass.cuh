// SPDX-License-Identifier: Apache-2.0
// Operands as Tensor Cores take them: scaled by line, split into two FP16 numbers, measured; both operands of
// a product in one launch.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <type_traits>
#include "library/gemm/fp16/pass/split_facts.cuh"
#include "library/gemm/fp16/pass/split_pass.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// What a thread has read stays in its registers while all threads of a line agree, on the largest element
// and, once they know the scale, on how many are tiny and how large their sum is:
//   load | find | agree | measure | gather | split, store
// Whatever the strides, a thread holds pieces of eight neighbours along k, which fill half of the 64 bytes of
// a line's 16 k. Another lane of the warp has the other half, so that stores fill sectors.
//   along k       k_stride 1: neighbouring lanes have neighbouring pieces
//   along lines   otherwise: lanes have four neighbouring lines, and eight neighbouring pieces of each; right
//                 for all strides, fast for
//                 line_stride 1. Of more lines a load would bring more neighbours, but a store fewer, and
//                 stores are what waits
//                 (docs/notebook/gemm.md, "What the split pass waits for")
// Maxima and sums are those of integers, so that they do not depend on the order.

// What the threads of a line tell each other, next to its range.
template <class T> struct line_sums {
  T size = 0;  // of |scaled|, each rounded up
  T tiny = 0;
  template <class Wider> AP_DEV operator line_sums<Wider>() const { return {size, tiny}; }
  AP_DEV void add(const line_sums& other) {
    size += other.size;
    tiny += other.tiny;
  }
};

template <split_policy P> struct split_pass {
  static_assert(valid(P));
  static constexpr int threads = P.threads, blocks_wanted = P.blocks;
  static constexpr int warps = threads / warp_size, warp_lines = 4,
                       strip_warps = P.strip / warp_lines;      // side by side along lines
  static constexpr int warp_step = 8 * warp_size / warp_lines;  // the k of a warp's pieces, along lines
  // of a block, at most
  static constexpr int most_lines = threads / P.least_threads,
                       slots = most_lines > P.strip ? most_lines : P.strip;
  // of a cluster
  static constexpr int most_blocks = P.clusters ? 16 : 1;
  static constexpr bool overlaps_previous = true;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = split_arguments;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  struct storage {
    line_range range_of_warp[warps][16], range_of_block[P.strip], range[P.strip];
    line_sums<std::uint64_t> sums_of_warp[warps][16];
    // In the first block of a cluster:
    line_sums<std::uint64_t> sums_of_block[most_blocks][P.strip];
    // the k of sparse lines' nonzero elements, in any order
    std::int32_t found[slots], sparse[slots][sparse_nonzeros];
  };

 private:
  template <int N> using values = float[N][8];

  // A thread's line and its pieces of it: at first, first + step ..., and again `chunk` further, `chunks`
  // times.
  struct work {
    AP_DEV work(const operand_lines& lines, const split_operand& result) : source(lines), target(result) {}
    const operand_lines& source;
    const split_operand& target;
    bool along_k, wide;      // wide: 16 bytes at a time
    bool clustered;          // the blocks of the cluster share their lines
    int rank;                // of the block among them
    int slots, slot;         // lines of the block, and the thread's among them
    int line_lanes = 1;      // along k: lanes of a warp with the same line
    int line_warps = 1;      // along k: warps with the same lines
    std::int64_t top, line;  // the block's first line, the thread's
    std::int64_t k_stride;
    int k, first, step, chunk, chunks;
    float lost;

    AP_DEV bool present() const { return line < source.lines; }
    AP_DEV int at(int c) const { return first + chunk * c; }
  };
  // `number`: of the cluster among those of the operand.
  template <bool AlongK, int N>
  AP_DEV static work work_of(const params& p, bool second, std::int64_t number) {
    const int thread = thread_index(), warp = warp_index(), lane = lane_index(),
              blocks = in_cluster::extent();
    work w{p.sources[second], p.targets[second]};
    w.along_k = AlongK;
    w.wide = w.clustered = false;
    w.rank = in_cluster::rank();
    w.k = static_cast<int>(w.source.k);
    w.lost = second ? p.lost : 0;
    if (AlongK) {
      w.wide = reinterpret_cast<std::uintptr_t>(w.source.data) % 16 == 0 &&
               (w.source.line_stride % 4 == 0 || w.source.lines == 1);
      w.k_stride = 1;
      w.slots = threads / p.line_threads;
      w.slot = thread / p.line_threads;
      w.line_lanes = p.line_threads < warp_size ? p.line_threads : warp_size;
      w.line_warps = p.line_threads / w.line_lanes;
      w.top = (number * blocks + w.rank) * w.slots;
      w.first = thread % p.line_threads * 8;
      w.step = p.line_threads * 8;
    } else {
      w.clustered = blocks > 1;
      w.k_stride = w.source.k_stride;
      w.slots = P.strip;
      w.slot = warp % strip_warps * warp_lines + lane % warp_lines;
      w.top = number * P.strip;
      w.step = warps / strip_warps * warp_step;
      w.first = w.rank * N * w.step + warp / strip_warps * warp_step + lane / warp_lines * 8;
    }
    w.line = w.top + w.slot;
    w.chunk = w.step * N * (w.clustered ? blocks : 1);
    w.chunks = ceil_div(w.k, w.chunk);
    return w;
  }

  // Clusters where there are some.
  struct in_cluster {
    AP_DEV static int extent() {
      if constexpr (P.clusters) return cluster_extent();
      return 1;
    }
    AP_DEV static int rank() {
      if constexpr (P.clusters) return cluster_rank();
      return 0;
    }
    // `telling`: has written for other blocks. A warp arrives as one: if its lanes do so apart, the others
    // wait for ever.
    AP_DEV static void arrive(bool telling) {
      if constexpr (P.clusters) {
        warp_sync();
        telling ? cluster_arrive() : cluster_arrive_silent();
      }
    }
    AP_DEV static void wait() {
      if constexpr (P.clusters) cluster_wait();
    }
    template <class T> AP_DEV static T* map(const work& w, T* mine, int rank) {
      if constexpr (P.clusters)
        if (w.clustered) return map_shared(mine, rank);
      return mine;
    }
  };

  // load
  // ---------------------------------------------------------------------------------------------------------
  // Zeros beyond the end.
  template <int N> AP_DEV static void load(values<N>& x, const work& w, int c) {
    const float* at = w.source.data + w.line * w.source.line_stride + std::int64_t{w.at(c)} * w.k_stride;
    const int left = w.present() ? w.k - w.at(c) : 0;
    clear(x);
    if (!w.wide) {
      const std::int64_t next = w.step * w.k_stride;
      const bool inside = left >= (N - 1) * w.step + 8;
      AP_UNROLL
      for (int i = 0; inside && i < N; ++i, at += next) load_elements(x[i], at, 8, w.k_stride);
      AP_UNROLL
      for (int i = 0; !inside && i < N; ++i, at += next)
        load_elements(x[i], at, left - i * w.step, w.k_stride);
      return;
    }
    AP_UNROLL
    for (int i = 0; i < N; ++i)
      if (left >= i * w.step + 8) {
        AP_UNROLL
        for (int e = 0; e < 8; e += 4) {
          const pack<float, 4> v = load_pack<4>(at + i * w.step + e);
          AP_UNROLL
          for (int j = 0; j < 4; ++j) x[i][e + j] = v.element[j];
        }
      }
    if (left % 8 == 0) return;
    AP_UNROLL
    for (int i = 0; i < N; ++i)
      if (left < i * w.step + 8) load_elements(x[i], at + i * w.step, left - i * w.step, 1);
  }
  AP_DEV static void load_elements(float (&x)[8], const float* at, int left, std::int64_t stride) {
    AP_UNROLL
    for (int e = 0; e < 8; ++e, at += stride)
      if (e < left) x[e] = *at;
  }

  // find, measure
  // ---------------------------------------------------------------------------------------------------------
  template <int N> AP_DEV static void find(line_range& range, const values<N>& x) {
    // counts are floats: a comparison gives 1 or 0, and one addition is left
    float largest = 0, nonzeros = 0;
    AP_UNROLL
    for (int i = 0; i < N; ++i) {
      AP_UNROLL
      for (int e = 0; e < 8; ++e) {
        largest = larger_magnitude(largest, x[i][e]);
        nonzeros += x[i][e] != 0 ? 1.f : 0.f;
      }
    }
    range.add({bit_cast<std::uint32_t>(largest), static_cast<std::uint32_t>(nonzeros)});
  }
  // Counts zeros as tiny.
  template <int N, class T>
  AP_DEV static void measure(line_sums<T>& sums, const values<N>& x, const line_facts& by) {
    float tiny = 0;
    AP_UNROLL
    for (int i = 0; i < N; ++i) {
      float size = 0x1p23f;
      AP_UNROLL
      for (int e = 0; e < 8; ++e) {
        size = add_rounded_up(size, std::abs(x[i][e]), by.second);
        tiny += std::abs(x[i][e]) < by.not_tiny ? 1.f : 0.f;
      }
      // the last place of 2^23 is 1
      sums.size += bit_cast<std::uint32_t>(size) - bit_cast<std::uint32_t>(0x1p23f);
    }
    sums.tiny += static_cast<std::uint32_t>(tiny);
  }
  // For sparse lines, which are rare: a thread that has read a nonzero element adds it to the list in the
  // cluster's first block.
  template <int N>
  AP_DEV static void list(storage& s, const values<N>& x, const work& w, const line_facts& by, int c) {
    std::int32_t *found = in_cluster::map(w, &s.found[w.slot], 0),
                 *sparse = in_cluster::map(w, &s.sparse[w.slot][0], 0);
    AP_UNROLL
    for (int i = 0; i < N; ++i) {
      bool any = !by.finite;
      AP_UNROLL
      for (int e = 0; e < 8; ++e) any |= x[i][e] != 0;
      const int begin = w.at(c) + i * w.step, end = w.k - begin < 8 ? w.k : begin + 8;
      for (int k = begin; any && w.present() && k < end; ++k) {
        const float again = w.source.data[w.line * w.source.line_stride + k * w.k_stride];
        if (again != 0 || !by.finite) sparse[atomic_add(found, 1)] = k;
      }
    }
  }
  // Only x itself must be in registers while threads wait for each other.
  template <int N> AP_DEV static void keep(values<N>& x) {
    AP_UNROLL
    for (int i = 0; i < N; ++i) {
      AP_UNROLL
      for (int e = 0; e < 8; ++e) rematerialise(x[i][e]);
    }
  }
  // Rare as well: elements of a line that is not finite become zero; those of a line with two factors are
  // multiplied by the first.
  template <int N> AP_DEV static void prepare(values<N>& x, const line_facts& by) {
    if (by.finite && by.first == 1) return;
    AP_UNROLL
    for (int i = 0; i < N; ++i) {
      AP_UNROLL
      for (int e = 0; e < 8; ++e) x[i][e] = by.finite ? x[i][e] * by.first : 0;
    }
  }
  template <int N> AP_DEV static void clear(values<N>& x) {
    AP_UNROLL
    for (int i = 0; i < N; ++i) {
      AP_UNROLL
      for (int e = 0; e < 8; ++e) x[i][e] = 0;
    }
  }

  // agree, gather
  // ---------------------------------------------------------------------------------------------------------
  template <class T, class Mine>
  AP_DEV static void tell_block(T (&of_warp)[warps][16], const work& w, Mine mine) {
    const int warp = warp_index(), lane = lane_index(), first = w.along_k ? w.line_lanes / 2 : warp_size / 2,
              last = w.along_k ? 1 : warp_lines;
    for (int by = first; by >= last; by /= 2) mine.add(shuffle_down(mine, by));
    const bool tells = w.along_k ? lane % w.line_lanes == 0 : lane < warp_lines;
    if (tells) of_warp[warp][w.along_k ? lane / w.line_lanes : lane] = T(mine);
    warp_sync();  // the block's barrier is next, and lanes may still be apart
  }
  template <class T> AP_DEV static T of_block(const T (&of_warp)[warps][16], const work& w, int slot) {
    T all;
    if (w.along_k)
      for (int i = 0, lines = warp_size / w.line_lanes; i < w.line_warps; ++i)
        all.add(of_warp[slot / lines * w.line_warps + i][slot % lines]);
    else
      for (int i = slot / warp_lines; i < warps; i += strip_warps) all.add(of_warp[i][slot % warp_lines]);
    return all;
  }
  AP_DEV static line_range agree(storage& s, const work& w, const line_range& mine) {
    const int thread = thread_index();
    if (thread < slots) s.found[thread] = 0;
    tell_block(s.range_of_warp, w, mine);
    block_barrier();
    if (!w.clustered) return of_block(s.range_of_warp, w, w.slot);
    if (thread < P.strip) s.range_of_block[thread] = of_block(s.range_of_warp, w, thread);
    in_cluster::arrive(thread < warp_size);
    in_cluster::wait();
    warp_sync();  // lanes leave it apart
    if (thread < P.strip) {
      line_range all;
      for (int i = 0; i < in_cluster::extent(); ++i)
        all.add(*in_cluster::map(w, &s.range_of_block[thread], i));
      s.range[thread] = all;
    }
    warp_sync();
    block_barrier();
    return s.range[w.slot];
  }
  // To the first block of the cluster.
  template <class T> AP_DEV static void gather(storage& s, const work& w, const line_sums<T>& mine) {
    const int thread = thread_index();
    tell_block(s.sums_of_warp, w, mine);
    block_barrier();
    if (w.clustered && thread < P.strip)
      *in_cluster::map(w, &s.sums_of_block[w.rank][thread], 0) = of_block(s.sums_of_warp, w, thread);
    if (w.clustered) in_cluster::arrive(thread < warp_size);
  }

  // split, store
  // ---------------------------------------------------------------------------------------------------------
  // The lower part of an element of which the upper one leaves `rest`, larger by the share `lost` of the
  // element, which Tensor Cores cut off on average. Elements of up to 22 bits, such as integers, have none:
  // their products may be exact.
  AP_DEV static float lower_part(float element, float rest, float lost) {
    return multiply_add(element, (bit_cast<std::uint32_t>(element) & 3) != 0 ? lost : 0, rest);
  }
  template <bool Shares>
  AP_DEV static void split(std::uint32_t* to, const float (&x)[8], const line_facts& by, float lost) {
    pack<std::uint32_t, 4> hi, lo;
    AP_UNROLL
    for (int e = 0; e < 8; e += 2) {
      constexpr float up = 1 << lo_exponent;
      const float a = x[e] * by.second, b = x[e + 1] * by.second;
      const std::uint32_t both = to_halves(a, b);
      float of_a = a - lower_half(both), of_b = b - upper_half(both);
      if (Shares) of_a = lower_part(a, of_a, lost), of_b = lower_part(b, of_b, lost);
      hi.element[e / 2] = both;
      lo.element[e / 2] = to_halves(of_a * up, of_b * up);
    }
    store_pack(to, hi);
    store_pack(to + 8, lo);
  }
  template <bool Shares, int N>
  AP_DEV static void split(const values<N>& x, const work& w, const line_facts& by, int c) {
    const int padded = ceil_div(w.k, 16) * 16, end = w.present() ? padded : 0;
    // in words a line has as many as k
    auto* line = reinterpret_cast<std::uint32_t*>(w.target.parts) + w.line * padded;
    int k = w.at(c);
    rematerialise(k);
    AP_UNROLL
    for (int i = 0; i < N; ++i, k += w.step)
      if (k < end)  // 16 k are 8 words of hi, 8 of lo
        split<Shares>(line + (k - (k & 15) / 2), x[i], by, w.lost);
  }
  // Lines with few nonzeros have no share: there is little to cut off.
  template <int N> AP_DEV static void split(const values<N>& x, const work& w, const line_facts& by, int c) {
    if (w.lost != 0 && 8 * std::int64_t{by.nonzeros} >= w.k)
      split<true, N>(x, w, by, c);
    else
      split<false, N>(x, w, by, c);
  }
  AP_DEV static void finish(const storage& s, const work& w) {
    const int slot = thread_index();
    const std::int64_t line = w.top + slot;
    if (slot >= w.slots || line >= w.source.lines) return;
    line_sums<std::uint64_t> sums;
    if (w.clustered)
      for (int i = 0; i < in_cluster::extent(); ++i) sums.add(s.sums_of_block[i][slot]);
    else
      sums = of_block(s.sums_of_warp, w, slot);
    const line_facts by(w.clustered ? s.range[slot] : of_block(s.range_of_warp, w, slot), w.k);
    w.target.line[line] = by.line(sums.tiny, sums.size);
    w.target.scale[line] = by.scale_back(sums.tiny > 0);
    if (!by.is_sparse()) return;
    for (int i = 0; i < sparse_nonzeros; ++i) {
      int before = i;
      if (i < by.nonzeros) before = 0;
      for (int j = 0; i < by.nonzeros && j < by.nonzeros; ++j)
        before += s.sparse[slot][j] < s.sparse[slot][i];
      w.target.sparse[line].k[before] = i < by.nonzeros ? s.sparse[slot][i] : -1;
    }
  }
  // Padding lines.
  AP_DEV static void pad(const work& w) {
    const std::int64_t line = w.source.lines + thread_index();
    if (line < ceil_div<std::int64_t>(w.source.lines, split_tile) * split_tile)
      w.target.scale[line] = line_scale::padding;
  }

  // kernel
  // ---------------------------------------------------------------------------------------------------------
  template <bool AlongK, int N, bool Resident>
  AP_DEV static void run(const params& p, bool second, std::int64_t number) {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const work w = work_of<AlongK, N>(p, second, number);
    const int chunks = Resident ? 1 : w.chunks;
    values<N> x;
    line_range range;
    int last = -1;
    do {
      load(x, w, ++last);
      find(range, x);
    } while (last + 1 < chunks);
    keep(x);
    const line_facts by(agree(s, w, range), w.k);
    line_sums<std::conditional_t<Resident, std::uint32_t, std::uint64_t>> sums;
    for (int c = last; c >= 0; --c) {
      if (c < last) load(x, w, c);  // the last chunk is still there
      if (by.is_sparse()) list(s, x, w, by, c);
      prepare(x, by);
      measure(sums, x, by);
      if (c > 0) split(x, w, by, c);
    }
    sums.tiny -= static_cast<std::uint32_t>(chunks) * 8 * N - range.nonzeros;
    keep(x);
    gather(s, w, sums);
    start_next_grid();
    split(x, w, by, 0);
    if (w.clustered) in_cluster::wait();
    if (!w.clustered || w.rank == 0) finish(s, w);
    if (w.top == 0 && w.rank == 0) pad(w);
  }

  // `depth`: the k that registers hold. Longer lines go through in chunks, of which only the last is not read
  // twice.
  template <bool AlongK>
  AP_DEV static void run(const params& p, bool second, std::int64_t number, int depth) {
    if (p.sources[second].k <= depth)
      run<AlongK, P.pieces, true>(p, second, number);
    else
      run<AlongK, ceil_div(P.pieces, 2), false>(p, second, number);
  }

 public:
  AP_DEV void operator()(const params& p) const {
    wait_for_previous_grid();
    const std::uint64_t group = block_index().x / static_cast<unsigned>(in_cluster::extent()),
                        of_second = group * p.share >> 32;
    const bool second = (group + 1) * p.share >> 32 > of_second;
    const auto number = static_cast<std::int64_t>(second ? of_second : group - of_second);
    if (p.sources[second].k_stride == 1)
      run<true>(p, second, number, p.line_threads * 8 * P.pieces);
    else
      run<false>(p, second, number, in_cluster::extent() * P.block_depth());
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
