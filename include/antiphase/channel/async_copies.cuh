// SPDX-License-Identifier: Apache-2.0
// A ring for pipeline whose threads, a block or a part of it, load by cp.async (sm_80). Landing is tracked by
// counting groups, without an mbarrier.
#pragma once
#include <antiphase/core/pipeline.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/copy_async.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// The participating threads and their barrier: the whole block, or `Threads` of it at a named barrier.
struct whole_block {
  AP_DEV static void meet() { block_barrier(); }
};
template <int Barrier, int Threads> struct part_of_block {
  AP_DEV static void meet() { named_barrier_sync(Barrier, Threads); }
};

// The load of a unit is any number of copy_async:
//
//   async_copies<3> ring;
//   pipeline{ring}.run(steps, load, compute);  // load(i, slot): copy_async<16>(...)
//
// In step i the groups of units up to i + N - 2 are closed. With at most N - 2 groups in flight unit i has
// landed, and the barrier makes it visible to all threads. The same barrier follows every thread's use of the
// slot that is loaded next, so acquire need not wait. With one stage, release is that barrier.
template <int N, class Group = whole_block> struct async_copies {
  static constexpr int stages = N;

  AP_DEV void acquire(cursor<N>) {}
  AP_DEV void commit(cursor<N>) { copy_async_commit(); }
  AP_DEV void wait(cursor<N>) {
    copy_async_wait<(N > 2 ? N - 2 : 0)>();
    Group::meet();
  }
  AP_DEV void release(cursor<N>) {
    if constexpr (N == 1) Group::meet();
  }
};

// The same where a part of every unit is loaded into registers: store(slot) writes it to shared memory at the
// commit.
template <int N, class Store> struct mixed_copies : async_copies<N> {
  Store store;

  AP_DEV void commit(cursor<N> at) {
    store(at.index);
    copy_async_commit();
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase
