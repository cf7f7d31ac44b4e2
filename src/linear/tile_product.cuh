// SPDX-License-Identifier: Apache-2.0
// Linear layers by warpgroups: 16-bit operands through TMA, sums by wgmma (sm_90a).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/elect.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/wgmma.cuh>
#include <type_traits>
#include "src/linear/outputs.cuh"
#include "src/linear/tile_walk.cuh"

namespace antiphase::linears {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// The bits of an output depend on the order of its steps of 16 k alone, and that is the order of k in every
// tile. So the tile is free: 64 or 128 rows of X by any multiple of 8 rows of W, whatever fills the device.
// No tile is shared, however small: what splitting K would gain, narrow tiles do.
//   slot:  load | multiply (4 or 8 warps) | load ...
// One warp loads; W's first slots before the grid before this one has ended, as W does not depend on it. A
// slot is released one step late, when its products have been computed. The ring goes on from tile to tile.

// How the parts of a block wait for each other. A parameter, so that tests can take one wait away.
template <tile_policy P, int Slots> struct tile_waits {
  using ring = channel<mbarrier, Slots, threads(1), warps(4 * P.groups)>;
  AP_DEV static void step_before() { wgmma_wait<1>(); }
};

template <tile_policy P, template <tile_policy, int> class Waits = tile_waits> struct tile_product {
  using in = std::conditional_t<P.of_bf16, bf16, f16>;
  static constexpr int rows = 64 * P.groups, threads = 128 * (P.groups + 1);
  static constexpr shared_kind shared = shared_kind::dynamic;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = arguments;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  static constexpr int x_bytes = rows * 128, w_bytes = P.columns * 128;  // of a block of 64 k
  static constexpr int slot_blocks = x_bytes + w_bytes >= 16384 ? 1 : x_bytes + w_bytes >= 12288 ? 2 : 4;
  static constexpr int slot_bytes = slot_blocks * (x_bytes + w_bytes);
  static constexpr int fit = (232448 - 1024 - 4 * P.groups * line_box_bytes) / slot_bytes,
                       slots = P.slots > 0 ? P.slots
                               : fit > 16  ? 16
                                           : fit;
  static_assert(slots >= 3 || (P.slots > 0 && P.slots <= fit));
  static constexpr major x_major = P.x_across ? major::mn : major::k,
                         w_major = P.w_across ? major::mn : major::k;
  static constexpr bool across = P.x_across || P.w_across;
  static constexpr int panel = depth * 128;  // 64 rows of an operand across k
  static_assert(!across || (slot_blocks == 1 && P.columns % 64 == 0));
  // bytes to the next 16 k
  static constexpr int x_step = P.x_across ? 16 * 128 : 32, w_step = P.w_across ? 16 * 128 : 32;
  using waits = Waits<P, slots>;
  using slot_cursor = cursor<slots>;
  enum event { full, empty };
  struct storage {
    alignas(1024) unsigned char slot[slots][slot_bytes];          // X's blocks, then W's
    alignas(16) unsigned char box[4 * P.groups][line_box_bytes];  // of each warp, on the way to memory
    typename waits::ring ring;
  };
  static_assert(sizeof(storage) <= 232448);

 private:
  using walk = tile_walk<rows, P.columns>;
  struct step : walk {  // and along k
    int block = 0;
    using walk::walk;
    AP_DEV void next() {
      block += slot_blocks;
      if (block >= this->p.blocks) block = 0, walk::next();
    }
  };

  // load
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void load_w(storage& s, const step& i, slot_cursor at) {
    mbarrier& landed = s.ring.barrier[full][at.index];
    unsigned char* const to = s.slot[at.index] + slot_blocks * x_bytes;
    const int member = i.member * i.p.w_step;
    s.ring.commit(at, full, bytes{(i.p.loaded_rows + P.columns) * 128 * slot_blocks});
    if constexpr (P.w_across) {
      AP_UNROLL
      for (int b = 0; b < P.columns / 64; ++b)
        tensor_load(to + b * panel, i.p.w_map, landed, i.column + 64 * b, i.block * depth, member);
    } else if (slot_blocks == 1 || i.p.whole_blocks) {
      tensor_load(to, i.p.w_map, landed, i.p.whole_blocks ? 0 : i.block * depth, i.column,
                  i.p.whole_blocks ? i.block : 0, member);
    } else {
      AP_UNROLL
      for (int b = 0; b < slot_blocks; ++b)
        tensor_load(to + b * w_bytes, i.p.w_map, landed, (i.block + b) * depth, i.column, 0, member);
    }
  }
  AP_DEV static void load_x(storage& s, const step& i, slot_cursor at) {
    const int member = i.member * i.p.x_step;
    unsigned char* const to = s.slot[at.index];
    mbarrier& landed = s.ring.barrier[full][at.index];
    if constexpr (P.x_across) {
      AP_UNROLL
      for (int b = 0; b < P.groups; ++b)
        tensor_load(to + b * panel, i.p.x_map, landed, i.row + 64 * b, i.block * depth, member);
    } else {
      AP_UNROLL
      for (int b = 0; b < slot_blocks; ++b)
        tensor_load(to + b * x_bytes, i.p.x_map, landed, (i.block + b) * depth, i.row, member);
    }
  }
  AP_DEV static void load(storage& s, const params& p) {
    step now(p);
    slot_cursor at;
    const bool one = elect_one();
    if (one) {
      prefetch_map(p.w_map), prefetch_map(p.x_map);
      s.ring.init();
      fence_mbarrier_init();
    }
    warp_sync();
    int filled = 0;
    step ahead = now;
    for (slot_cursor head; filled < slots && ahead.valid(); ++filled, ++head, ahead.next())
      if (one) load_w(s, ahead, head);
    named_barrier_arrive(1, threads);  // the others clear meanwhile
    wait_for_previous_grid();
    for (; filled > 0; --filled, ++at, now.next())
      if (one) load_x(s, now, at);
    for (; now.valid(); ++at, now.next()) {
      if (one) {
        s.ring.acquire(at);
        load_w(s, now, at), load_x(s, now, at);
      }
      warp_sync();  // the lanes walk on together
    }
  }

  // Rows of X that no tile loads are multiplied, too: all warps but the loading one clear them, once, while
  // the first loads are in flight.
  AP_DEV static void clear(storage& s, const params& p) {
    const int t = thread_index() < threads - 128 ? thread_index() : thread_index() - 32;
    const int from = p.loaded_rows * 128;
    AP_ROLLED
    for (int b = 0; from < x_bytes && b < slots * slot_blocks; ++b)
      for (int i = from + t * 16; i < x_bytes; i += (threads - 32) * 16)
        store_pack<4>(reinterpret_cast<float*>(s.slot[b / slot_blocks] + b % slot_blocks * x_bytes + i),
                      pack<float, 4>{});
    fence_async();
    named_barrier_sync(1, threads);
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  using sums = float[P.columns / 2];
  // sum = X W^T. All slots have been released then.
  AP_DEV static void multiply(storage& s, const descriptor_ring& operands, slot_cursor& at, int group,
                              int blocks, sums& sum) {
    for (int block = 0; block < blocks; block += slot_blocks, ++at) {
      s.ring.wait(at, full);
      const matrix_descriptor slot = operands(at.index), x = further(slot, group * 64 * 128),
                              w = further(slot, slot_blocks * x_bytes);
      wgmma_fence();
      AP_UNROLL
      for (int b = 0; b < slot_blocks; ++b) {
        AP_UNROLL
        for (int j = 0; j < 4; ++j)
          wgmma<in, x_major, w_major>(sum, further(x, b * x_bytes + x_step * j),
                                      further(w, b * w_bytes + w_step * j), b + j > 0 || block > 0);
      }
      wgmma_commit();
      if constexpr (slots == 1) {  // nothing else can be loaded meanwhile
        wgmma_wait<0>();
        s.ring.release(at, by_warp{});
      } else {
        waits::step_before();
        if (block > 0) s.ring.release(at.before(), by_warp{});
      }
    }
    wgmma_wait<0>();
    pin_registers(sum);
    if constexpr (slots > 1) s.ring.release(at.before(), by_warp{});
  }
  AP_DEV static void compute(storage& s, const params& p, int warp) {
    slot_cursor at;
    const descriptor_ring operands =
        describe_slots(s.slot[0], slot_bytes, across ? panel : 16, 1024, swizzle::bytes_128);
    bool first = true;
    clear(s, p);
    for (walk tile(p); tile.valid(); tile.next()) {
      sums sum;
      multiply(s, operands, at, warp / 4, p.blocks, sum);
      if (first) wait_for_previous_grid(), first = false;
      const int row = tile.row + warp * 16;
      if (row < tile.end) store_rows<in>(p, s.box[warp], sum, row, tile.end, tile.column, tile.member);
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const int warp = warp_index();
    start_next_grid();
    if (p.group_ends != nullptr) wait_for_previous_grid();  // which may write them
    if (warp / 4 == P.groups) {
      if constexpr (P.groups > 1) release_registers<40>();
      if (warp % 4 == 0)
        load(s, p);
      else
        clear(s, p);
    } else {
      if constexpr (P.groups > 1) request_registers<232>();
      compute(s, p, warp);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::linears
