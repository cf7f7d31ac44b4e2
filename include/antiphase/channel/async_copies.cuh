// The ring of a block whose threads copy asynchronously: groups are counted, there is no barrier object.
#pragma once
#include <antiphase/core/pipeline.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/copy_async.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// For pipeline; every thread of the block takes part. The load of a unit is any number of copy_async. In step i the groups of units up to
// i + N - 2 are closed: with N - 2 of them left in flight, unit i has landed, and the block barrier shows it to everybody. The same barrier
// comes after everybody's use of the slot that is loaded next, so acquire has nothing to wait for. Of one stage, release is that barrier.
template <int N> struct async_copies {
  static constexpr int stages = N;

  AP_DEV void acquire(cursor<N>) {}
  AP_DEV void commit(cursor<N>) { copy_async_commit(); }
  AP_DEV void wait(cursor<N>) {
    copy_async_wait<(N > 2 ? N - 2 : 0)>();
    block_barrier();
  }
  AP_DEV void release(cursor<N>) {
    if constexpr (N == 1) block_barrier();
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase
