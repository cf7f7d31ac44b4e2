// SPDX-License-Identifier: Apache-2.0
// The ring of a block whose threads load into registers first and store to shared memory later.
#pragma once
#include <antiphase/core/pipeline.hpp>
#include <antiphase/device/barrier.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// For pipeline; every thread of the block takes part. The load of a unit fills registers; store(slot) writes
// them to shared memory when the unit is committed, which is after the computation of the step: the load has
// that long to arrive. Of one stage this is the textbook loop.
template <int N, class Store> struct staged_copies {
  static constexpr int stages = N;
  Store store;

  AP_DEV void acquire(cursor<N>) {}
  AP_DEV void commit(cursor<N> at) { store(at.index); }
  AP_DEV void wait(cursor<N>) { block_barrier(); }
  AP_DEV void release(cursor<N>) {
    if constexpr (N == 1) block_barrier();
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase
