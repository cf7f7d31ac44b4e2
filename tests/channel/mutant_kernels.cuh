// SPDX-License-Identifier: Apache-2.0
// Broken rings, each with one fault, for the CPU executor, which must show it.
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/bulk.cuh>
#include "tests/channel/ring_kernels.cuh"

namespace antiphase::test {
inline namespace AP_TARGET {

enum class broken {
  nothing,
  no_wait,
  one_group_short,
  no_barrier,
  no_release,
  no_commit,
  next_slot,
  wait_after_barrier
};

template <int N, broken B> struct broken_async_copies {
  static constexpr int stages = N, groups_left = (N > 2 ? N - 2 : 0) + (B == broken::one_group_short ? 1 : 0);
  AP_DEV void acquire(cursor<N>) {}
  AP_DEV void commit(cursor<N>) {
    if constexpr (B != broken::no_commit) copy_async_commit();
  }
  AP_DEV void wait(cursor<N>) {
    if constexpr (B == broken::wait_after_barrier) block_barrier();
    if constexpr (B != broken::no_wait) copy_async_wait<groups_left>();
    if constexpr (B != broken::no_barrier && B != broken::wait_after_barrier) block_barrier();
  }
  AP_DEV void release(cursor<N>) {
    if constexpr (N == 1 && B != broken::no_release) block_barrier();
  }
};
template <broken B> struct broken_staging {
  template <int N, class Store> struct ring {
    static constexpr int stages = N;
    Store store;
    AP_DEV void acquire(cursor<N>) {}
    AP_DEV void commit(cursor<N> at) {
      if constexpr (B == broken::next_slot) ++at;
      if constexpr (B != broken::no_commit) store(at.index);
    }
    AP_DEV void wait(cursor<N>) {
      if constexpr (B != broken::no_barrier) block_barrier();
    }
    AP_DEV void release(cursor<N>) {
      if constexpr (N == 1 && B != broken::no_release) block_barrier();
    }
  };
};

// One loading warp and two computing ones over mbarriers.
enum class slip {
  nothing,
  loader_takes_without_acquire,
  loader_starts_in_the_other_round,
  computer_does_not_wait,
  computer_starts_in_the_other_round,
  release_before_compute,
  release_without_the_warp,  // lane 0 arrives without waiting for the other lanes
  release_forgotten,
  commit_before_acquire,
  bytes_too_few,
  bytes_too_many,
};
template <int N, slip S> struct bulk_ring {
  using params = ring_params;
  static constexpr int threads = 32 + ring_threads, units = all_units;
  static constexpr int full = 0, empty = 1;
  struct storage {
    alignas(128) std::uint32_t word[N][ring_threads];
    channel<mbarrier, N, antiphase::threads(1), warps(ring_threads / 32)> ring;
  };

  AP_DEV static void load(storage& s, const params& p) {
    constexpr int size = ring_threads * 4;
    constexpr int announced =
        size + (S == slip::bytes_too_few ? -16 : 0) + (S == slip::bytes_too_many ? 16 : 0);
    cursor<N> at;
    if constexpr (S == slip::loader_starts_in_the_other_round) at.parity = 1;
    for (int unit = 0; unit < units; ++unit, ++at) {
      if constexpr (S != slip::loader_takes_without_acquire && S != slip::commit_before_acquire)
        s.ring.acquire(at);
      if constexpr (S == slip::commit_before_acquire) s.ring.commit(at, full, bytes{announced});
      if constexpr (S == slip::commit_before_acquire) s.ring.acquire(at);
      bulk_load(s.word[at.index], p.in + unit * ring_threads, size, s.ring.barrier[full][at.index]);
      if constexpr (S != slip::commit_before_acquire) s.ring.commit(at, full, bytes{announced});
    }
    s.ring.finish(at);
  }
  AP_DEV static void release(storage& s, cursor<N> at) {
    if constexpr (S == slip::release_forgotten) return;
    if constexpr (S == slip::release_without_the_warp) {
      if (lane_index() == 0) s.ring.release(at);
    } else {
      s.ring.release(at, by_warp{});
    }
  }
  AP_DEV static void compute(storage& s, const params& p, int t) {
    cursor<N> at;
    if constexpr (S == slip::computer_starts_in_the_other_round) at.parity = 1;
    std::uint32_t sum = 0;
    for (int unit = 0; unit < units; ++unit, ++at) {
      if constexpr (S != slip::computer_does_not_wait) s.ring.wait(at, full);
      if constexpr (S == slip::release_before_compute) release(s, at);
      sum = folded(sum, s.word[at.index][word_used(t, unit)]);
      if constexpr (S != slip::release_before_compute) release(s, at);
    }
    p.out[t] = sum;
  }
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    if (thread_index() == 0) {
      s.ring.init();
      fence_mbarrier_init();
    }
    block_barrier();
    if (warp_index() > 0)
      compute(s, p, thread_index() - 32);
    else if (lane_index() == 0)
      load(s, p);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::test
