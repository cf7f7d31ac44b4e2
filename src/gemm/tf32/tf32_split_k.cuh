// SPDX-License-Identifier: Apache-2.0
// Split-K of TF32 parts: adds up the sums of a tile that blocks of a cluster and clusters share (sm_90a).
#pragma once
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/warp.cuh>
#include "src/gemm/tf32/tf32_layout.cuh"
#include "src/gemm/tf32/tf32_outputs.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A block adds up its share of the fragments. Every part of K but the last leaves its sums in the workspace,
// block by block, followed by what it knows of the lines. Sums are added in the order of k.
template <tf32_policy P, class Layout> struct tf32_split_k : tf32_outputs {
  using storage = typename Layout::storage;
  static constexpr int computing_threads = Layout::computing_threads,
                       computing_barrier = Layout::computing_barrier;

  // The block's fragments are `count` from `first` on. Returns whether this is the last part, which waits for
  // the others: `value` then holds the sums, and s.lines[1] covers all of K.
  AP_DEV static bool add_parts(const params& p, storage& s, const seat& t, std::uint32_t tile, int part,
                               int first, int count, sums& value) {
    const int cluster = cluster_extent(), rank = cluster_rank();
    leave(s, t, cluster, value);
    const std::int64_t of_part = std::int64_t{4} * count * computing_threads + 2 * tf32_lines::count,
                       mine = (std::int64_t{tile} * cluster + rank) * p.of.parts;
    float* const partial = reinterpret_cast<float*>(p.of.partial) + mine * of_part;
    float* const sums_there = partial + t.member;
    const bool last = part + 1 == p.of.parts;
    AP_UNROLL
    for (float& x : value) x = 0;
    if (p.of.parts > 1 && last) {
      wait_for_parts(p, t, p.of.arrived + mine, part);
      AP_ROLLED
      for (int other = 0; other < part; ++other) {
        AP_UNROLL
        for (int i = 0; i < registers; ++i)
          if (i / 4 < count) value[i] += sums_there[other * of_part + i * computing_threads];
      }
    }
    sums here = {};
    AP_ROLLED
    for (int block = 0; block < cluster; ++block) {
      const auto& from = cluster > 1 ? *map_shared(&s.parts, block) : s.parts;
      AP_UNROLL
      for (int i = 0; i < registers; ++i)
        if (i / 4 < count) here[i] += from[4 * first + i][t.member];
    }
    for (int n = t.member; n < tf32_lines::count; n += computing_threads) {
      std::uint32_t least = no_least;
      int nonzeros = 0;
      const auto add = [&](std::uint32_t of_least, int of_nonzeros) {
        least = of_least < least ? of_least : least;
        nonzeros += of_nonzeros;
      };
      for (int block = 0; block < cluster; ++block) {
        const tf32_lines& from = cluster > 1 ? *map_shared(&s.lines[2], block) : s.lines[2];
        add(from.least[n], from.nonzeros[n]);
      }
      float* const there = partial + std::int64_t{4} * count * computing_threads + n;
      if (last) {
        for (int other = 0; other < part; ++other)
          add(bit_cast<std::uint32_t>(there[other * of_part]),
              static_cast<int>(there[other * of_part + tf32_lines::count]));
      } else {
        there[part * of_part] = bit_cast<float>(least);
        there[part * of_part + tf32_lines::count] =
            static_cast<float>(nonzeros <= sparse_nonzeros ? nonzeros : sparse_nonzeros + 1);
      }
      s.lines[1].least[n] = least;
      s.lines[1].nonzeros[n] = nonzeros;
    }
    AP_UNROLL
    // fragments of other blocks: at the floor, which all_plain() accepts
    for (int i = 0; i < registers; ++i) value[i] = i / 4 < count ? value[i] + here[i] : p.floor;
    if (!last) {
      AP_UNROLL
      for (int i = 0; i < registers; ++i)
        if (i / 4 < count) sums_there[part * of_part + i * computing_threads] = value[i];
    }
    named_barrier_sync(computing_barrier, computing_threads);
    if (!last && t.member == 0) store_release(p.of.arrived + mine + part, p.of.call);
    if (cluster > 1) {
      warp_sync();
      cluster_arrive();  // tf32_consumer::run waits
    }
    return last;
  }

 private:
  // Leaves the block's sums in shared memory, and in s.lines[2] what it knows of the lines.
  AP_DEV static void leave(storage& s, const seat& t, int cluster, const sums& value) {
    // the ring is free, and all lines are noted
    named_barrier_sync(computing_barrier, computing_threads);
    // copied by threads that take part in the cluster's barrier
    if (const int n = t.member; n < tf32_lines::count) {
      s.lines[2].least[n] = s.lines[0].least[n];
      s.lines[2].nonzeros[n] = s.lines[0].nonzeros[n];
    }
    AP_UNROLL
    for (int i = 0; i < registers; ++i) s.parts[i][t.member] = value[i];
    if (cluster > 1) {
      warp_sync();
      cluster_barrier();
      warp_sync();
    } else {
      named_barrier_sync(computing_barrier, computing_threads);
    }
  }
  // flags: of the share's parts. Waits until those before `part` have arrived.
  AP_DEV static void wait_for_parts(const params& p, const seat& t, std::uint64_t* flags, int part) {
    for (int other = t.member; other < part; other += computing_threads) {
      std::uint64_t* const flag = flags + other;
      poll([&] { return load_acquire(flag) == p.of.call; });
      store_relaxed(flag, 0);  // for a replay of the same call
    }
    named_barrier_sync(computing_barrier, computing_threads);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
