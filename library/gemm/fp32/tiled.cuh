// SPDX-License-Identifier: Apache-2.0
// GEMM by tiles in shared memory: one kernel, from the textbook's to the warp-tiled one, by policy.
#pragma once
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/channel/recorder.cuh>
#include <antiphase/channel/staged_copies.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/gemm/policy.hpp>
#include <antiphase/gemm/problem.hpp>
#include "library/gemm/fp32/epilogue.cuh"
#include "library/gemm/fp32/fragments.cuh"
#include "library/gemm/fp32/tile_loader.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A block computes one tile of C. All its threads load the tiles of A and B along K into a ring of slots and
// multiply from there:
//   slot:  load | multiply | load | multiply ...      with S stages, the load runs S - 1 steps ahead
// Tiles are numbered down groups of `tile_group` rows, so that concurrently running blocks share operands in
// the L2 cache.

template <policy P> struct tiled {
  static_assert(valid(P));
  static constexpr int threads = P.threads();
  static constexpr int blocks_wanted = P.blocks;
  static constexpr shared_kind shared = P.shared;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = problem;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  struct storage {
    struct slot {
      tile_a<P> a;
      tile_b<P> b;
    };
    union {
      slot slots[P.stages];
      float partial[P.slices > 1 ? (P.slices - 1) * P.tile.m* P.tile.n : 1];
    };
  };

  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    no_recorder nothing;
    run(p, nothing);
  }
  // The same with a timeline: see channel/recorder.cuh.
  template <class Recorder> AP_DEV static void run(const params& p, Recorder& recorder) {
    storage& s = antiphase::shared<storage, P.shared>();
    const grouped_tiles tiles{ceil_div<std::int64_t>(p.m(), P.tile.m),
                              ceil_div<std::int64_t>(p.n(), P.tile.n), tile_group};
    const tile_position tile = tiles.at(block_index().x);
    const std::int64_t top = tile.row * P.tile.m, left = tile.column * P.tile.n;
    const int steps = static_cast<int>(ceil_div<std::int64_t>(p.k(), P.tile_k));

    tile_loader<P, tile_a<P>> a({p.a.data, p.a.row_stride, p.a.column_stride, p.m(), p.k()}, top);
    tile_loader<P, tile_b<P>> b({p.b.data, p.b.column_stride, p.b.row_stride, p.n(), p.k()}, left);
    accumulator<P> sum;

    // load
    const auto load = [&](int step, int slot) {
      if constexpr (P.run == parts::compute_only) return;
      a.load(step, s.slots[slot].a);
      b.load(step, s.slots[slot].b);
      if constexpr (P.stores_first) {
        a.store(s.slots[slot].a);
        b.store(s.slots[slot].b);
      }
    };
    const auto store_loaded = [&](int slot) {
      if constexpr (P.run == parts::compute_only || P.stores_first) return;
      a.store(s.slots[slot].a);
      b.store(s.slots[slot].b);
    };
    // compute
    const auto compute = [&](int step, int slot) {
      // the last step keeps the loads from being optimised away
      if (P.run == parts::load_only && step + 1 < steps) return;
      sum.multiply(s.slots[slot].a, s.slots[slot].b);
    };

    auto ring = recorder.ring(ring_for(store_loaded), steps);
    pipeline line{ring};
    line.run(steps, recorder.load(load), recorder.compute(compute));
    sum.finish();
    if (P.slices > 1 && !sum.gather(s.partial)) return;

    store_tile<P>(p, sum, top, left);
  }

 private:
  template <class Store> AP_DEV static auto ring_for(Store store) {
    if constexpr (P.a.transposed() || P.b.transposed())
      return mixed_copies<P.stages, Store>{{}, store};
    else if constexpr (P.copy == copy_kind::asynchronous)
      return async_copies<P.stages>{};
    else
      return staged_copies<P.stages, Store>{store};
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
