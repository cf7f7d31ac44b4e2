// SPDX-License-Identifier: Apache-2.0
// Kernels that pass units through a ring as unified pipelines, for any kind of ring.
#pragma once
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/channel/staged_copies.cuh>
#include <antiphase/device/kernel.cuh>
#include "tests/channel/ring_kernels.hpp"

namespace antiphase::test {
inline namespace AP_TARGET {

template <int N> struct ring_slots { std::uint32_t word[N][ring_threads]; };

// Maps the pipeline's slot to the storage slot that is loaded and the one that is used. Mutants map
// differently.
struct as_it_says {
  AP_FN static constexpr int loaded(int slot) { return slot; }
  AP_FN static constexpr int used(int slot) { return slot; }
};

// Ring<N>: a channel for pipeline whose loads are copies of the thread.
template <int N, class Ring, class Slot = as_it_says> struct copies_through {
  using params = ring_params;
  using storage = ring_slots<N>;
  static constexpr int threads = ring_threads;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    std::uint32_t sum = 0;
    int first = 0;
    Ring ring{};
    pipeline line{ring};
    for (int run = 0; run < runs; ++run) {
      const int steps = run_length(run);
      line.run(
          steps,
          [&](int i, int slot) {
            copy_async<4>(&s.word[Slot::loaded(slot)][t], p.in + (first + i) * threads + t, 4);
          },
          [&](int i, int slot) { sum = folded(sum, s.word[Slot::used(slot)][word_used(t, first + i)]); });
      first += steps;
      block_barrier();  // the next run loads immediately
    }
    p.out[t] = sum;
  }
};

// Ring<N, Store>: a channel that stores what was loaded into a register.
template <int N, template <int, class> class Ring, class Slot = as_it_says> struct registers_through {
  using params = ring_params;
  using storage = ring_slots<N>;
  static constexpr int threads = ring_threads;
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const int t = thread_index();
    std::uint32_t sum = 0, staged = 0;
    int first = 0;
    const auto store = [&](int slot) { s.word[Slot::loaded(slot)][t] = staged; };
    Ring<N, decltype(store)> ring{store};
    pipeline line{ring};
    for (int run = 0; run < runs; ++run) {
      const int steps = run_length(run);
      line.run(
          steps, [&](int i, int) { staged = p.in[(first + i) * threads + t]; },
          [&](int i, int slot) { sum = folded(sum, s.word[Slot::used(slot)][word_used(t, first + i)]); });
      first += steps;
      block_barrier();  // the next run stores immediately
    }
    p.out[t] = sum;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::test
