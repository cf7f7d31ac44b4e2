// SPDX-License-Identifier: Apache-2.0
// A ring for pipeline whose threads load into registers and store to shared memory later (sm_75).
#pragma once
#include <antiphase/core/pipeline.hpp>
#include <antiphase/device/barrier.cuh>

namespace antiphase {
inline namespace AP_TARGET {

// All threads of the block take part. The load of a unit fills registers; store(slot) writes them to shared
// memory at the commit, after the computation of the step, which hides the load's latency. With one stage
// this is the textbook loop.
//
//   staged_copies<2, decltype(store)> ring{store};  // store: [&](int slot) { ... }
//   pipeline{ring}.run(steps, load, compute);
//
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
