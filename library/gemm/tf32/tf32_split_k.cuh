// SPDX-License-Identifier: Apache-2.0
// Split-K of TF32 parts: adds up the sums of a tile that blocks of a cluster and clusters share (sm_90a).
#pragma once
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/warp.cuh>
#include "library/gemm/tf32/load/tf32_layout.cuh"
#include "library/gemm/tf32/tf32_outputs.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// poll() of a warp, which goes on when all lanes are done. A vote on the GPU, so that the compiler knows that
// lanes stay together; the CPU executor would take a vote for progress and miss a deadlock.
#if AP_ON_GPU
AP_DEV void poll_together(auto done) {
  while (ballot(done()) != all_lanes) __nanosleep(32);
}
#else
AP_DEV void poll_together(auto done) { poll(done); }
#endif

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
    const std::int64_t of_part = std::int64_t{4} * count * computing_threads + words * tf32_lines::count,
                       mine = (std::int64_t{tile} * cluster + rank) * p.tiled.parts;
    float* const partial = reinterpret_cast<float*>(p.tiled.partial) + mine * of_part;
    float* const sums_there = partial + t.member;
    const bool last = part + 1 == p.tiled.parts;
    AP_UNROLL
    for (float& x : value) x = 0;
    if (p.tiled.parts > 1 && last) {
      wait_for_parts(p, t, p.tiled.arrived + mine, part);
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
      const auto& from = cluster > 1 ? *map_shared(&s.of_shares.parts, block) : s.of_shares.parts;
      AP_UNROLL
      for (int i = 0; i < registers; ++i)
        if (i / 4 < count) here[i] += from[4 * first + i][t.member];
    }
    for (int n = t.member; n < tf32_lines::count; n += computing_threads) {
      line_of_all all;
      for (int block = 0; block < cluster; ++block) {
        const tf32_lines& from = cluster > 1 ? *map_shared(&s.lines[2], block) : s.lines[2];
        const line_nonzeros some = from.nonzeros[n];
        const std::int64_t k = (std::int64_t{part} * cluster + block) * p.tiled.k_of_part;
        all.add({from.sizes[n], some.count(), static_cast<std::int32_t>(k + some.first()),
                 static_cast<std::int32_t>(k + some.last())});
      }
      auto* const there =
          reinterpret_cast<line_of_all*>(partial + std::int64_t{4} * count * computing_threads) + n;
      constexpr int apart = sizeof(line_of_all) / sizeof(float);
      if (last) {
        for (int other = 0; other < part; ++other) all.add(there[other * of_part / apart]);
      } else {
        there[part * of_part / apart] = all;
      }
      s.lines[1].sizes[n] = all.sizes;
      s.lines[1].nonzeros[n] = all.as_note();
      s.of_shares.places[n] = {all.first, all.last, all.nonzeros == 2};
    }
    AP_UNROLL
    // fragments of other blocks: at the floor, which keep_range() accepts
    for (int i = 0; i < registers; ++i) value[i] = i / 4 < count ? value[i] + here[i] : p.floor;
    if (!last) {
      AP_UNROLL
      for (int i = 0; i < registers; ++i)
        if (i / 4 < count) sums_there[part * of_part + i * computing_threads] = value[i];
    }
    named_barrier_sync(computing_barrier, computing_threads);
    if (!last && t.member == 0) store_release(p.tiled.arrived + mine + part, p.tiled.call);
    if (cluster > 1) {
      warp_sync();
      cluster_arrive();  // tf32_consumer::run waits
    }
    return last;
  }

 private:
  // Facts about a line from blocks whose shares of k differ.
  struct line_of_all {
    line_sizes sizes;
    std::int32_t nonzeros = 0, first = 0, last = 0;
    AP_DEV void add(const line_of_all& other) {
      sizes.add(other.sizes);
      if (other.nonzeros == 0) return;
      first = nonzeros == 0 || other.first < first ? other.first : first;
      last = nonzeros == 0 || other.last > last ? other.last : last;
      nonzeros = nonzeros + other.nonzeros < 3 ? nonzeros + other.nonzeros : 3;
    }
    // Their number alone.
    AP_DEV line_nonzeros as_note() const {
      return {static_cast<std::uint32_t>(nonzeros) << 2 * line_nonzeros::bits_of_k};
    }
  };
  static constexpr int words = sizeof(line_of_all) / sizeof(float);

  // Leaves the block's sums in shared memory, and in s.lines[2] what it knows of the lines.
  AP_DEV static void leave(storage& s, const seat& t, int cluster, const sums& value) {
    // the ring is free, and all lines are noted
    named_barrier_sync(computing_barrier, computing_threads);
    // copied by threads that take part in the cluster's barrier
    if (const int n = t.member; n < tf32_lines::count) {
      s.lines[2].sizes[n] = s.lines[0].sizes[n];
      s.lines[2].nonzeros[n] = s.lines[0].nonzeros[n];
    }
    AP_UNROLL
    for (int i = 0; i < registers; ++i) s.of_shares.parts[i][t.member] = value[i];
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
    for (int first = 0; first < part; first += computing_threads) {
      const bool mine = first + t.member < part;
      std::uint64_t* const flag = flags + first + (mine ? t.member : 0);
      poll_together([&] { return !mine || load_acquire(flag) == p.tiled.call; });
      if (mine) store_relaxed(flag, 0);  // for a replay of the same call
    }
    named_barrier_sync(computing_barrier, computing_threads);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
