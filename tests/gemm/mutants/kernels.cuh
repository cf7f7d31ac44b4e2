// Products that differ from a right one in one thing: a wait, a barrier, a commit, the last tile, the zeros past the end.
#include <antiphase/gemm/tiled.cuh>
#include <type_traits>
#include <utility>

#include "tests/gemm/mutants/kernels.hpp"

namespace antiphase::gemm_test {
inline namespace AP_TARGET {

enum class fault {
  nothing,
  no_wait,                   // for the copies; the barrier is there
  one_group_short,           // waits for all but one group too many
  no_barrier,                // waits for its own copies only
  no_commit,                 // copies belong to no group: nothing to wait for
  no_barrier_after_compute,  // where the order of the loop needs a second one
  one_step_short,            // leaves out the tile that is not full
  one_element_far,           // takes one element past the end of K along
  no_zero_fill,              // leaves what is past the end as it was
};

template <int N, fault F> struct broken_copies {
  static constexpr int stages = N;
  AP_DEV void acquire(cursor<N>) {}
  AP_DEV void commit(cursor<N>) {
    if constexpr (F != fault::no_commit) copy_async_commit();
  }
  AP_DEV void wait(cursor<N>) {
    if constexpr (F != fault::no_wait) copy_async_wait<(N > 2 ? N - 2 : 0) + (F == fault::one_group_short ? 1 : 0)>();
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
// The asynchronous loop as textbooks have it, two slots: load the next tile, wait for this one, compute; then a barrier, because the next
// turn loads into the slot that has just been used.
template <fault F> struct textbook_loop {
  AP_DEV static void run(int steps, auto load, auto compute) {
    load(0, 0);
    copy_async_commit();
    for (int i = 0; i < steps; ++i) {
      if (i + 1 < steps) load(i + 1, (i + 1) % 2);
      copy_async_commit();
      copy_async_wait<1>();
      block_barrier();
      compute(i, i % 2);
      if constexpr (F != fault::no_barrier_after_compute) block_barrier();
    }
  }
};

enum class ring_of { copies, registers, textbook };

constexpr mm::policy mutant_policy(ring_of ring, int stages) {
  return {.tile = {mutant_side, mutant_side},
          .tile_k = mutant_tile_k,
          .stages = stages,
          .copy = ring == ring_of::registers ? mm::copy_kind::registers : mm::copy_kind::asynchronous};
}

template <ring_of Ring, int N, fault F> struct broken_product {
  static constexpr mm::policy P = mutant_policy(Ring, N);
  static_assert(mm::valid(P));
  static constexpr int threads = P.threads();
  using params = mm::problem;
  using storage = typename mm::tiled<P>::storage;

  template <class Tile> struct loader : mm::tile_loader<P, Tile> {
    using mm::tile_loader<P, Tile>::tile_loader;
    AP_DEV void load(int step, Tile& to) {
      if constexpr (F == fault::no_zero_fill) {
        const bool inside = this->outer_left > 0 && this->k_extent - step * Tile::k - this->k > 0;  // each thread has one element of a tile
        if (inside) mm::tile_loader<P, Tile>::load(step, to);
      } else {
        mm::tile_loader<P, Tile>::load(step, to);
      }
    }
  };
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared_kind::fixed>();
    const std::int64_t across = ceil_div<std::int64_t>(p.n(), mutant_side);
    const std::int64_t top = block_index().x / across * mutant_side, left = block_index().x % across * mutant_side;
    const std::int64_t k = p.k() + (F == fault::one_element_far ? 1 : 0);
    const int steps = static_cast<int>(F == fault::one_step_short ? p.k() / mutant_tile_k : ceil_div<std::int64_t>(k, mutant_tile_k));
    loader<mm::tile_a<P>> a({p.a.data, p.a.row_stride, p.a.column_stride, p.m(), k}, top);
    loader<mm::tile_b<P>> b({p.b.data, p.b.column_stride, p.b.row_stride, p.n(), k}, left);
    mm::accumulator<P> sum;
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
    mm::store_tile<P>(p, sum, top, left);
  }
};

template <ring_of Ring, int N, fault F> mutant made(const char* what, outcome early, outcome late) {
  return {std::to_string(N) + " stages, " + what, kernel_of<broken_product<Ring, N, F>>("mutant"), early, late};
}

// What holds for every depth.
template <int N> void add_copies(std::vector<mutant>& all) {
  using enum outcome;
  using enum fault;
  constexpr ring_of copies = ring_of::copies;
  all.push_back(made<copies, N, nothing>("copies without a fault", right, right));
  all.push_back(made<copies, N, no_wait>("no wait for copies", right, wrong));  // copies that land at once need none
  all.push_back(made<copies, N, one_group_short>("a wait one group short", right, wrong));
  all.push_back(made<copies, N, no_commit>("no commit", right, wrong));
  all.push_back(made<copies, N, no_barrier>("copies without a barrier", wrong, wrong));
  all.push_back(made<copies, N, one_step_short>("one step short", wrong, wrong));
  all.push_back(made<copies, N, one_element_far>("one element too far", wrong, wrong));
  all.push_back(made<copies, N, no_zero_fill>("no zeros past the end", wrong, wrong));
}
template <int N> void add_registers(std::vector<mutant>& all) {
  using enum outcome;
  using enum fault;
  all.push_back(made<ring_of::registers, N, nothing>("registers without a fault", right, right));
  all.push_back(made<ring_of::registers, N, no_barrier>("registers without a barrier", wrong, wrong));
  all.push_back(made<ring_of::registers, N, one_step_short>("registers, one step short", wrong, wrong));
}

std::vector<mutant> mutants() {
  using enum outcome;
  using enum fault;
  std::vector<mutant> all;
  add_copies<1>(all);
  add_copies<2>(all);
  add_copies<3>(all);
  add_copies<4>(all);
  add_registers<1>(all);
  add_registers<2>(all);
  all.push_back(made<ring_of::copies, 1, no_barrier_after_compute>("no barrier after compute", wrong, wrong));
  all.push_back(made<ring_of::registers, 1, no_barrier_after_compute>("registers, no barrier after compute", wrong, wrong));
  all.push_back(made<ring_of::textbook, 2, nothing>("the textbooks' order", right, right));
  all.push_back(made<ring_of::textbook, 2, no_barrier_after_compute>("the textbooks' order, no barrier after compute", wrong, right));
  return all;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemm_test
