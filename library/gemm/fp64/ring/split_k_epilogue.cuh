// SPDX-License-Identifier: Apache-2.0
// Split-K in FP64: adds up the sums of a tile that warps, blocks of a cluster and clusters share, and stores
// them.
#pragma once
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include "library/gemm/fp64/fp64_store.cuh"
#include "library/gemm/fp64/fp64_tile.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

//   leave sums in shared memory | add up the block's slabs | wait for the cluster
//   by cells of the block's share: add up parts in the workspace, add up blocks of the cluster | store
// Every part of K but the last leaves its sums in the workspace. The last part waits for the others and
// stores. Sums are added in the order of k. Threads: of the block, all of which call finish().
template <fp64_policy P, int Threads> struct split_k_epilogue {
  using params = tiled_problem;
  using seat = fp64_seat<P>;
  using sums = fp64_sums<P>;
  using cell = typename sums::cell;
  using out = fp64_store<P>;
  static constexpr int outputs_of_cell = sums::outputs_of_cell, lanes_of_slab = seat::lanes_of_slab;
  static constexpr int cells = sums::cells * lanes_of_slab;
  struct storage {
    double sum[P.slabs][sums::cells][outputs_of_cell][lanes_of_slab];
  };

  // computes: whether the thread has sums.
  AP_DEV static void finish(const params& p, storage& s, const fp64_work& w, const split_k_place& at,
                            bool computes, const seat& t, const sums& sum) {
    if (computes) leave(s, t, sum);
    if (at.cluster > 1) {
      add_slabs(s);
      cluster_barrier();
    } else {
      block_barrier();
    }
    store(p, s, w, at);
  }

 private:
  // in shared memory
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void leave(storage& s, const seat& t, const sums& sum) {
    AP_UNROLL
    for (int n = 0; n < sums::cells; ++n) {
      const cell v = sum.at(n);
      AP_UNROLL
      for (int e = 0; e < outputs_of_cell; ++e) s.sum[t.slab][n][e][t.lane] = v[e];
    }
  }
  // Adds the sums of all slabs to the first one's: the blocks of a cluster then read one sum of each other.
  AP_DEV static void add_slabs(storage& s) {
    if (P.slabs == 1) return;
    block_barrier();
    constexpr int outputs = cells * outputs_of_cell;
    double* const first = &s.sum[0][0][0][0];
    for (int n = thread_index(); n < outputs; n += Threads) {
      double sum = 0;
      AP_UNROLL
      for (int slab = 0; slab < P.slabs; ++slab) sum += first[slab * outputs + n];
      first[n] = sum;
    }
  }

  // Adds value(0) to value(count - 1). Values of other blocks take long to arrive, so this many are requested
  // before the first one is added. Sums do not start at a negative zero, so adding zeros beyond the end
  // changes none.
  static constexpr int cells_at_once = 32 / outputs_of_cell;
  AP_DEV static void add_in_order(int count, cell& to, auto value) {
    const auto add_some = [&](auto ask) {
      cell next[cells_at_once] = {};
      AP_UNROLL
      for (int n = 0; n < cells_at_once; ++n) ask(n, next[n]);
      AP_UNROLL
      for (int n = 0; n < cells_at_once; ++n) to.add(next[n]);
    };
    int first = 0;
    AP_ROLLED
    for (; first + cells_at_once <= count; first += cells_at_once)
      add_some([&](int n, cell& next) { next = value(first + n); });
    if (first < count)
      add_some([&](int n, cell& next) {
        if (first + n < count) next = value(first + n);
      });
  }

  // Cell n of a lane: of all blocks of the cluster, or of the lone block's slabs.
  AP_DEV static void add_cluster(storage& s, int cluster, int n, int lane, cell& to) {
    const auto sums_at = [&](const auto& from) { return cell::of([&](int e) { return from[e][lane]; }); };
    if (cluster > 1) {
      add_in_order(cluster, to, [&](int block) { return sums_at(*map_shared(&s.sum[0][n], block)); });
    } else {
      AP_UNROLL
      for (int slab = 0; slab < P.slabs; ++slab) to.add(sums_at(s.sum[slab][n]));
    }
  }

  // in the workspace
  // ---------------------------------------------------------------------------------------------------------
  // flags: of the tile's parts. Waits until those before `part` have arrived.
  AP_DEV static void wait_for_parts(const params& p, std::uint64_t* flags, int part) {
    for (int other = thread_index(); other < part; other += Threads) {
      std::uint64_t* const flag = flags + other;
      poll([&] { return load_acquire(flag) == p.call; });
      store_relaxed(flag, 0);  // for a replay of the same call
    }
    block_barrier();
  }
  AP_DEV static void store(const params& p, storage& s, const fp64_work& w, const split_k_place& at) {
    const int cluster = cluster_extent(), rank = cluster_rank(), thread = thread_index(), part = at.part;
    const int share = (cells + cluster - 1) / cluster, first = rank * share,
              end = first + share < cells ? first + share : cells;
    const std::int64_t doubles = std::int64_t{share} * outputs_of_cell,  // of a part
        mine = (std::int64_t{at.tile} * cluster + rank) * p.parts;
    double* const partial = p.partial + mine * doubles;
    const bool last = part + 1 == p.parts;
    if (p.parts > 1 && last) wait_for_parts(p, p.arrived + mine, part);
    for (int c = first + thread; c < end; c += Threads) {
      const int n = c / lanes_of_slab, lane = c % lanes_of_slab;
      cell v = {}, here = {};
      double* const there = partial + c - first;
      if (last)
        add_in_order(part, v, [&](int other) {
          return cell::of([&](int e) { return there[other * doubles + e * share]; });
        });
      add_cluster(s, cluster, n, lane, here);
      v.add(here);
      if (last) {
        const cell_place place = out::place_of(n, lane);
        out(p, w, place).template store<1, 1>([&](int) { return v; });
      } else {
        AP_UNROLL
        for (int e = 0; e < outputs_of_cell; ++e) there[part * doubles + e * share] = v[e];
      }
    }
    if (!last) {
      block_barrier();
      if (thread == 0) store_release(p.arrived + mine + part, p.call);
    }
    if (cluster > 1) cluster_barrier();  // no block exits while others read its sums
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
