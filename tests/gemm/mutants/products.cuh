// SPDX-License-Identifier: Apache-2.0
// Products with one fault each: in a wait, a barrier, a commit, the last tile, or the zeros past the end.
#pragma once
#include <type_traits>
#include "library/gemm/fp32/tiled.cuh"

#include "tests/gemm/mutants/kernels.hpp"

namespace antiphase::gemm_test {
inline namespace AP_TARGET {

enum class fault {
  nothing,
  no_wait,                   // no wait for copies, but the barrier
  one_group_short,           // the wait leaves one group too many pending
  no_barrier,                // each thread waits for its own copies only
  no_commit,                 // copies belong to no group: nothing to wait for
  no_barrier_after_compute,  // where the order of the loop needs a second one
  one_step_short,            // leaves out the partial tile
  one_element_far,           // reads one element past the end of K
  no_zero_fill,              // does not overwrite elements past the end
  one_row_far,               // reads one row of A too many
  one_column_far,            // reads one column of B too many
  one_row_stored_far,        // stores one row too many
  as_printed,                // as textbooks print the loop: no second barrier, and the last step loads, too
};

template <int N, fault F> struct broken_copies {
  static constexpr int stages = N;
  AP_DEV void acquire(cursor<N>) {}
  AP_DEV void commit(cursor<N>) {
    if constexpr (F != fault::no_commit) copy_async_commit();
  }
  AP_DEV void wait(cursor<N>) {
    if constexpr (F != fault::no_wait)
      copy_async_wait<(N > 2 ? N - 2 : 0) + (F == fault::one_group_short ? 1 : 0)>();
    if constexpr (F != fault::no_barrier) block_barrier();
  }
  AP_DEV void release(cursor<N>) {
    if constexpr (N == 1 && F != fault::no_barrier_after_compute) block_barrier();
  }
};
template <int N, fault F, class Store> struct broken_staging {
  static constexpr int stages = N;
  Store store;
  AP_DEV void acquire(cursor<N>) {}
  AP_DEV void commit(cursor<N> at) { store(at.index); }
  AP_DEV void wait(cursor<N>) {
    if constexpr (F != fault::no_barrier) block_barrier();
  }
  AP_DEV void release(cursor<N>) {
    if constexpr (N == 1 && F != fault::no_barrier_after_compute) block_barrier();
  }
};
// Textbook double buffering with cp.async: load the next tile, wait for this one, compute; then a barrier,
// because the next iteration loads into the slot that has just been read.
template <fault F> struct textbook_loop {
  AP_DEV static void run(int steps, auto load, auto compute) {
    load(0, 0);
    copy_async_commit();
    for (int i = 0; i < steps; ++i) {
      if (i + 1 < steps || F == fault::as_printed) load(i + 1, (i + 1) % 2);
      copy_async_commit();
      copy_async_wait<1>();
      block_barrier();
      compute(i, i % 2);
      if constexpr (F != fault::no_barrier_after_compute && F != fault::as_printed) block_barrier();
    }
  }
};

enum class ring_of { copies, registers, textbook };

constexpr gemms::policy mutant_policy(ring_of ring, int stages) {
  return {.tile = {mutant_side, mutant_side},
          .tile_k = mutant_tile_k,
          .stages = stages,
          .copy = ring == ring_of::registers ? gemms::copy_kind::registers : gemms::copy_kind::asynchronous};
}

template <ring_of Ring, int N, fault F> struct broken_product {
  static constexpr gemms::policy P = mutant_policy(Ring, N);
  static_assert(gemms::valid(P));
  static constexpr int threads = P.threads();
  using params = gemms::problem;
  using storage = typename gemms::tiled<P>::storage;

  template <class Tile> struct loader : gemms::tile_loader<P, Tile> {
    using gemms::tile_loader<P, Tile>::tile_loader;
    AP_DEV void load(int step, Tile& to) {
      if constexpr (F == fault::no_zero_fill) {
        // each thread has one element of a tile
        const bool inside = this->outer_left > 0 && this->k_extent - step * Tile::k - this->k > 0;
        if (inside) gemms::tile_loader<P, Tile>::load(step, to);
      } else {
        gemms::tile_loader<P, Tile>::load(step, to);
      }
    }
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const std::int64_t across = ceil_div<std::int64_t>(p.n(), mutant_side);
    const std::int64_t top = block_index().x / across * mutant_side,
                       left = block_index().x % across * mutant_side;
    const std::int64_t k = p.k() + (F == fault::one_element_far ? 1 : 0);
    const int steps = static_cast<int>(F == fault::one_step_short ? p.k() / mutant_tile_k
                                                                  : ceil_div<std::int64_t>(k, mutant_tile_k));
    const std::int64_t m = p.m() + (F == fault::one_row_far ? 1 : 0),
                       n = p.n() + (F == fault::one_column_far ? 1 : 0);
    loader<gemms::tile_a<P>> a({p.a.data, p.a.row_stride, p.a.column_stride, m, k}, top);
    loader<gemms::tile_b<P>> b({p.b.data, p.b.column_stride, p.b.row_stride, n, k}, left);
    gemms::accumulator<P> sum;
    const auto load = [&](int step, int slot) {
      a.load(step, s.slots[slot].a);
      b.load(step, s.slots[slot].b);
    };
    const auto compute = [&](int, int slot) { sum.multiply(s.slots[slot].a, s.slots[slot].b); };
    if constexpr (Ring == ring_of::textbook) {
      textbook_loop<F>::run(steps, load, compute);
    } else if constexpr (Ring == ring_of::copies) {
      broken_copies<N, F> ring;
      pipeline{ring}.run(steps, load, compute);
    } else {
      const auto store = [&](int slot) {
        a.store(s.slots[slot].a);
        b.store(s.slots[slot].b);
      };
      broken_staging<N, F, decltype(store)> ring{store};
      pipeline{ring}.run(steps, load, compute);
    }
    params to = p;
    if constexpr (F == fault::one_row_stored_far) ++to.c.rows;
    gemms::store_tile<P>(to, sum, top, left);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemm_test
