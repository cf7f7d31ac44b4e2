// SPDX-License-Identifier: Apache-2.0
// GEMM on Tensor Cores by warpgroups: f16 in, f32 out (TMA and wgmma, sm_90a).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/wgmma.cuh>
#include <antiphase/gemm/tensor_core.hpp>
#include "src/gemm/f16_ladder/store_fragment.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// One block per multiprocessor walks over tiles of C. Of warpgroup 0 one thread loads, warpgroups 1 and 2
// compute the upper and the lower half of a tile:
//   slot:  load | multiply (8 warps) | load ...
// The products of a slot still run when those of the next one are issued, so that the Tensor Cores never wait
// for a warp; a slot is let go one step late, by a second cursor. The ring goes on from tile to tile: the
// next tile is loaded while this one is stored.

// How the parts of a block wait for each other. A parameter, so that tests can take one wait away.
template <warpgroup_policy P> struct warpgroup_waits {
  static constexpr int computing_warps = 8;
  using ring = channel<mbarrier, P.stages, threads(1), warps(computing_warps)>;
  AP_DEV static void step_before() { wgmma_wait<1>(); }
};

template <warpgroup_policy P, class Waits = warpgroup_waits<P>> struct tensor_core_tma {
  static_assert(valid(P));
  static constexpr int threads = 3 * warpgroup_size;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int depth = warpgroup_depth, panels = P.columns / 64;
  enum event { full, empty };

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = tensor_core_tensors;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  struct slot {
    alignas(1024) f16 a[128][depth];  // in rows of 128 bytes, swizzled
    f16 b[panels][depth][64];         // as in memory: 64 neighbouring columns in a row
  };
  struct storage {
    slot slots[P.stages];
    typename Waits::ring ring;
  };
  using slot_cursor = cursor<P.stages>;
  using sums = float[P.columns / 2];  // of a thread

 private:
  AP_DEV static grouped_tiles tiles_of(const tensor_core_problem& p) {
    return {ceil_div<std::int64_t>(p.m(), 128), ceil_div<std::int64_t>(p.n(), P.columns), tile_group};
  }
  AP_DEV static int steps_of(const tensor_core_problem& p) {
    return static_cast<int>(ceil_div<std::int64_t>(p.k(), depth));
  }

  // load
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void load(const params& p, storage& s) {
    const grouped_tiles work = tiles_of(p.problem);
    const int steps = steps_of(p.problem);
    slot_cursor at;
    for (std::int64_t tile = block_index().x; tile < work.count(); tile += grid_extent().x) {
      const int top = static_cast<int>(work.at(tile).row) * 128,
                left = static_cast<int>(work.at(tile).column) * P.columns;
      for (int step = 0; step < steps; ++step, ++at) {
        slot& to = s.slots[at.index];
        mbarrier& landed = s.ring.barrier[full][at.index];
        s.ring.acquire(at);
        tensor_load(to.a, p.a, landed, depth * step, top);
        AP_UNROLL
        for (int i = 0; i < panels; ++i) tensor_load(to.b[i], p.b, landed, left + 64 * i, depth * step);
        s.ring.commit(at, full, bytes{sizeof(slot)});
      }
    }
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void multiply(sums& sum, const slot& s, int group) {
    constexpr auto pattern = swizzle::bytes_128;
    AP_UNROLL
    for (int k = 0; k < depth; k += 16)
      wgmma<major::k, major::mn>(sum, describe(&s.a[64 * group][k], 16, sizeof(s.a[0]) * 8, pattern),
                                 describe(s.b[0][k], sizeof(s.b[0]), sizeof(s.b[0][0]) * 8, pattern), true);
  }
  AP_DEV static void compute(storage& s, slot_cursor& at, int group, int steps, sums& sum) {
    slot_cursor to_release = at;
    for (int step = 0; step < steps; ++step) {
      s.ring.wait(at, full);
      wgmma_fence();
      multiply(sum, s.slots[at++.index], group);
      wgmma_commit();
      Waits::step_before();
      if (step > 0) s.ring.release(to_release++, by_warp{});
    }
    wgmma_wait<0>();
    pin_registers(sum);
    if (steps > 0) s.ring.release(to_release, by_warp{});
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
    const int warp = warp_index(), group = warp / 4 - 1;
    if (group < 0) {
      release_registers<24>();
      if (thread_index() == 0) load(p, s);
    } else {
      request_registers<240>();
      const grouped_tiles work = tiles_of(p.problem);
      slot_cursor at;
      for (std::int64_t tile = block_index().x; tile < work.count(); tile += grid_extent().x) {
        sums sum = {};
        compute(s, at, group, steps_of(p.problem), sum);
        const std::int64_t top = work.at(tile).row * 128 + 64 * group + warp % 4 * 16,
                           left = work.at(tile).column * P.columns;
        AP_UNROLL
        // store
        for (int j = 0; j < P.columns / 8; ++j) store_fragment(p.problem.c, top, left + 8 * j, sum + 4 * j);
      }
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
