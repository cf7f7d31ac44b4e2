// SPDX-License-Identifier: Apache-2.0
// y = 2x + place % 1021 as a warp-specialized kernel: one warp loads by TMA bulk copies, several compute, one
// stores, over a ring with mbarriers (sm_90).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/kernel.cuh>
#include <type_traits>

#include "bulk_copy.hpp"

namespace antiphase::examples {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A block takes every gridDim-th tile. Its roles iterate over the same tiles, each with a ring cursor of its
// own:
//   warp 0            acquire | load -> full            | ... | finish
//   warps 1 ... W     wait full | compute, then either write the result to global memory and release,
//                                 or write it in place -> computed
//   warp W + 1        wait computed | store | release            (only with store_by::copy_engine)
// Bulk copies move multiples of 16 bytes. The last 1 to 3 floats of other tiles are moved by plain loads and
// stores of the same roles.
//
// The ring is a parameter, so that a recording variant can substitute its own (examples/timeline.cpp).
template <bulk_copy_policy P> using bulk_copy_ring = std::conditional_t<
    P.store == store_by::copy_engine,
    channel<mbarrier, P.stages, antiphase::threads(1), antiphase::warps(P.warps), antiphase::threads(1)>,
    channel<mbarrier, P.stages, antiphase::threads(1), antiphase::warps(P.warps)>>;

template <bulk_copy_policy P, class Ring = bulk_copy_ring<P>> struct bulk_copy {
  static_assert(P.tile % 4 == 0, "a tile starts on a multiple of 16 bytes");
  static_assert(P.tile * sizeof(float) < 1 << 20, "an mbarrier counts fewer bytes than 1 MiB in a phase");
  static constexpr bool in_place = P.store == store_by::copy_engine;
  static constexpr int threads = 32 * (1 + P.warps + (in_place ? 1 : 0));
  static constexpr shared_kind shared = shared_kind::dynamic;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = bulk_copy_params;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  static constexpr int full = 0, computed = 1;  // the last event, empty, is the channel's `last`
  struct storage {
    alignas(128) float tile[P.stages][P.tile];
    Ring ring;
  };
  using place = cursor<P.stages>;

 private:
  // Calls role(at, first, length) for each tile of this block; returns the cursor after the last one.
  template <class Role> AP_DEV static place each_tile(const params& p, Role role) {
    const tiling tiles{p.size, P.tile};
    place at;
    for (std::int64_t tile = block_index().x; tile < tiles.count(); tile += grid_extent().x, ++at)
      role(at, tiles.first(tile), static_cast<int>(tiles.length(tile)));
    return at;
  }

  // load
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void load(storage& s, const params& p) {
    const place end = each_tile(p, [&](place at, std::int64_t first, int length) {
      float* slot = s.tile[at.index];
      const int whole = length / 4 * 4, size = whole * static_cast<int>(sizeof(float));
      s.ring.acquire(at);
      if (size > 0)
        bulk_load(slot, p.source + first, static_cast<std::uint32_t>(size), s.ring.barrier[full][at.index]);
      for (int i = whole; i < length; ++i) slot[i] = p.source[first + i];
      s.ring.commit(at, full, bytes{size});
    });
    s.ring.finish(end);
  }
  // compute
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void compute(storage& s, const params& p, int thread) {
    each_tile(p, [&](place at, std::int64_t first, int length) {
      float* slot = s.tile[at.index];
      float* to = in_place ? slot : p.target + first;
      s.ring.wait(at, full);
      for (int i = thread; i < length; i += 32 * P.warps) to[i] = transformed(slot[i], first + i);
      if constexpr (in_place) fence_async();
      s.ring.commit(at, computed, by_warp{});  // without a storing warp this is `empty`: it frees the slot
    });
  }
  // store
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void store(storage& s, const params& p) {
    each_tile(p, [&](place at, std::int64_t first, int length) {
      const float* slot = s.tile[at.index];
      const int whole = length / 4 * 4, size = whole * static_cast<int>(sizeof(float));
      s.ring.wait(at, computed);
      if (size > 0) bulk_store(p.target + first, slot, static_cast<std::uint32_t>(size));
      for (int i = whole; i < length; ++i) p.target[first + i] = slot[i];
      bulk_commit();
      bulk_wait_read<0>();
      s.ring.release(at);
    });
    bulk_wait<0>();
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.ring.init();
      fence_mbarrier_init();
    }
    block_barrier();
    const int warp = warp_index();
    if (warp == 0) {
      if (lane_index() == 0) load(s, p);
    } else if (warp <= P.warps) {
      compute(s, p, thread_index() - 32);
    } else if (lane_index() == 0) {
      store(s, p);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::examples
