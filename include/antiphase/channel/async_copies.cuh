// SPDX-License-Identifier: Apache-2.0
// The ring of threads that copy asynchronously, a block or a part of it: groups are counted, there is no
// barrier object.
#pragma once
#include <antiphase/core/pipeline.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/copy_async.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// Who takes part, and meets in every step: all threads of the block, or `Threads` of them at a named barrier.
struct whole_block {
  AP_DEV static void meet() { block_barrier(); }
};
template <int Barrier, int Threads> struct part_of_block {
  AP_DEV static void meet() { named_barrier_sync(Barrier, Threads); }
};

// For pipeline. The load of a unit is any number of copy_async. In step i the groups of units up to i + N - 2
// are closed: with N - 2 of them left in flight, unit i has landed, and the barrier shows it to everybody.
// The same barrier comes after everybody's use of the slot that is loaded next, so acquire has nothing to
// wait for. Of one stage, release is that barrier.
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

// The same where a part of every unit comes through registers: store(slot) writes it to shared memory when
// the unit is committed.
template <int N, class Store> struct mixed_copies : async_copies<N> {
  Store store;

  AP_DEV void commit(cursor<N> at) {
    store(at.index);
    copy_async_commit();
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase
