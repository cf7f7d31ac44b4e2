// SPDX-License-Identifier: Apache-2.0
// Linear layers by warpgroups: 16-bit operands through TMA, sums by wgmma (sm_90a).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/elect.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/mbarrier_arrivals.cuh>
#include <antiphase/device/multicast.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/wgmma.cuh>
#include <type_traits>
#include "library/linear/outputs.cuh"
#include "library/linear/tile_walk.cuh"

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

// The waits between the parts of a block. A parameter, so that tests can take one wait away.
template <tile_policy P, int Slots> struct tile_waits {
  using ring = channel<mbarrier, Slots, threads(1), warps(4 * P.groups * P.cluster)>;
  AP_DEV static void step_before() { wgmma_wait<1>(); }
  // A warp releases a slot: to all blocks that load parts of it.
  AP_DEV static void release(auto& slots, cursor<Slots> at) {
    if constexpr (P.cluster == 1) {
      slots.release(at, by_warp{});
    } else {
      warp_sync();
      AP_UNROLL
      for (int rank = 0; rank < P.cluster; ++rank)
        if (AP_EVERY_LANE_ARRIVES || lane_index() == rank)
          release_remote(slots.barrier[ring::last][at.index], rank);
    }
  }
  // No block ends while others release its slots.
  AP_DEV static void end() {
    if constexpr (P.cluster > 1) cluster_barrier();
  }
  AP_DEV static void first_round(ring&, cursor<Slots>) {}  // all slots are free
};

template <tile_policy P, template <tile_policy, int> class Waits = tile_waits> struct tile_product {
  using in = std::conditional_t<P.of_bf16, bf16, f16>;
  static constexpr int rows = 64 * P.groups, threads = 128 * (P.groups + 1);
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int cluster = P.cluster;

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
  static_assert(cluster == 1 || !P.x_across);
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
  using walk = tile_walk<rows, P.columns, cluster>;

  // load
  // ---------------------------------------------------------------------------------------------------------
  // Where a tile's operands lie in the maps: nothing of it changes along k.
  struct place {
    const params& p;
    int row, column, x_member, w_member, slot_bytes;
    AP_DEV explicit place(const walk& tile)
        : p(tile.p),
          row(tile.row),
          column(tile.column),
          x_member(uniform(tile.member * p.x_step)),
          w_member(uniform(tile.member * p.w_step)),
          slot_bytes((p.loaded_rows + P.columns) * 128 * slot_blocks) {}
  };
  AP_DEV static void load_w(storage& s, const place& tile, int block, slot_cursor at) {
    mbarrier& landed = s.ring.barrier[full][at.index];
    unsigned char* const to = s.slot[at.index] + slot_blocks * x_bytes;
    s.ring.commit(at, full, bytes{tile.slot_bytes});
    if constexpr (P.w_across) {
      AP_UNROLL
      for (int b = 0; b < P.columns / 64; ++b)
        tensor_load(to + b * panel, tile.p.w_map, landed, tile.column + 64 * b, block * depth, tile.w_member);
    } else if constexpr (slot_blocks == 1) {
      tensor_load(to, tile.p.w_map, landed, block * depth, tile.column, tile.w_member);
    } else if (tile.p.whole_blocks) {
      tensor_load(to, tile.p.w_map, landed, 0, tile.column, block, tile.w_member);
    } else {
      AP_UNROLL
      for (int b = 0; b < slot_blocks; ++b)
        tensor_load(to + b * w_bytes, tile.p.w_map, landed, (block + b) * depth, tile.column, 0,
                    tile.w_member);
    }
  }
  AP_DEV static void load_x(storage& s, const place& tile, int block, slot_cursor at) {
    unsigned char* const to = s.slot[at.index];
    mbarrier& landed = s.ring.barrier[full][at.index];
    if constexpr (P.x_across) {
      AP_UNROLL
      for (int b = 0; b < P.groups; ++b)
        tensor_load(to + b * panel, tile.p.x_map, landed, tile.row + 64 * b, block * depth, tile.x_member);
    } else if constexpr (cluster > 1) {
      constexpr int part = rows / cluster;
      const int first = cluster_rank() * part;
      AP_UNROLL
      for (int b = 0; b < slot_blocks; ++b)
        tensor_load_multicast(to + b * x_bytes + first * 128, tile.p.x_map, landed, (1u << cluster) - 1,
                              (block + b) * depth, tile.row + first, tile.x_member);
    } else {
      AP_UNROLL
      for (int b = 0; b < slot_blocks; ++b)
        tensor_load(to + b * x_bytes, tile.p.x_map, landed, (block + b) * depth, tile.row, tile.x_member);
    }
  }
  // All lanes wait and one loads: where one alone waits, each step costs 30 ns more on an H200, as its branch
  // keeps what does not change out of the warp's uniform registers.
  AP_DEV static void load(storage& s, const params& p) {
    walk tile(p);
    slot_cursor at;
    const bool one = elect_one();
    if (one) {
      prefetch_map(p.w_map), prefetch_map(p.x_map);
      s.ring.init();
      fence_mbarrier_init();
    }
    warp_sync();
    if constexpr (cluster > 1) cluster_arrive();
    if (p.w_complete == 0) wait_for_previous_grid();
    int ahead = 0;  // slots that have W and no X
    // The step with which a tile's residual is fetched: so late that X and W do not displace it in the L2
    // cache.
    const int fetched =
        p.blocks > 5 * slot_blocks ? (p.blocks - 1) / slot_blocks * slot_blocks - 4 * slot_blocks : 0;
    slot_cursor head;
    AP_ROLLED
    for (const place first(tile); tile.valid() && ahead < slots && ahead * slot_blocks < p.blocks;
         ++ahead, ++head) {
      waits::first_round(s.ring, head);
      if (one) load_w(s, first, ahead * slot_blocks, head);
    }
    named_barrier_arrive(1, threads);
    wait_for_previous_grid();
    if constexpr (cluster > 1) cluster_wait();  // the others' mbarriers are initialized
    for (; tile.valid(); tile.next(), ahead = 0) {
      const place now(tile);
      int block = 0;
      AP_ROLLED
      for (; ahead > 0; --ahead, ++at, block += slot_blocks) {
        if (block == fetched)
          fetch_residual(p, tile.row, tile.end, rows, tile.column, P.columns, tile.member);
        if (one) load_x(s, now, block, at);
      }
      for (; block < p.blocks; ++at, block += slot_blocks) {
        if (block == fetched)
          fetch_residual(p, tile.row, tile.end, rows, tile.column, P.columns, tile.member);
        s.ring.acquire(at);
        warp_sync();  // a lane that still waits would miss the phase if the slot were used meanwhile
        if (one) load_w(s, now, block, at), load_x(s, now, block, at);
      }
    }
  }

  // Rows of X that no tile loads are multiplied, too: all warps but the loading one clear them, once, while
  // the first loads are in flight. (TMA would fill rows beyond X with zeros, at the speed of loads.)
  AP_DEV static void clear(storage& s, const params& p) {
    const int t = thread_index() < threads - 128 ? thread_index() : thread_index() - 32;
    const int from = repeats_rows(p) ? x_bytes : p.loaded_rows * 128;
    AP_ROLLED
    for (int b = 0; from < x_bytes && b < slots * slot_blocks; ++b)
      for (int i = from + t * 16; i < x_bytes; i += (threads - 32) * 16)
        store_pack<4>(reinterpret_cast<float*>(s.slot[b / slot_blocks] + b % slot_blocks * x_bytes + i),
                      pack<float, 4>{});
    fence_async();
    named_barrier_sync(1, threads);
    if constexpr (cluster > 1) cluster_barrier();
  }
  // Up to 8 rows of X are loaded as 8 and read as 64, the same again and again: their groups of 8 are 0 bytes
  // apart.
  AP_DEV static bool repeats_rows(const params& p) { return !P.x_across && p.loaded_rows == 8; }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  using sums = float[P.columns / 2];
  // The slots, and the way from a slot to the warpgroup's rows of X.
  struct operands {
    descriptor_ring slots;
    std::uint32_t x_start, x_layout;
    AP_DEV operands(storage& s, bool repeated, int group)
        : slots(describe_slots(s.slot[0], slot_bytes, across ? panel : 16, 1024, swizzle::bytes_128)),
          x_start(uniform(repeated ? 0u : static_cast<unsigned>(group) * 64 * 128 / 16)),
          x_layout(
              uniform(static_cast<std::uint32_t>(slots.first.bits >> 32) - (repeated ? 1024u / 16 : 0))) {}
    AP_DEV matrix_descriptor x(matrix_descriptor slot) const {
      return {std::uint64_t{x_layout} << 32 | (static_cast<std::uint32_t>(slot.bits) + x_start)};
    }
  };
  // sum = X W^T. All slots have been released then.
  AP_DEV static void multiply(storage& s, const operands& of, slot_cursor& at, int blocks, sums& sum) {
    for (int block = 0; block < blocks; block += slot_blocks, ++at) {
      s.ring.wait(at, full);
      const matrix_descriptor slot = of.slots(at.index), x = of.x(slot),
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
        waits::release(s.ring, at);
      } else {
        waits::step_before();
        if (block > 0) waits::release(s.ring, at.before());
      }
    }
    wgmma_wait<0>();
    pin_registers(sum);
    if constexpr (slots > 1) waits::release(s.ring, at.before());
  }
  AP_DEV static void compute(storage& s, const params& p, int warp) {
    slot_cursor at;
    const operands slots_of(s, repeats_rows(p), warp / 4);
    bool first = true;
    clear(s, p);
    for (walk tile(p); tile.valid(); tile.next()) {
      sums sum;
      multiply(s, slots_of, at, p.blocks, sum);
      if (first) wait_for_previous_grid(), first = false;
      const int row = tile.row + warp * 16;
      if (row < tile.end && (cluster == 1 || tile.column < p.n))
        store_rows<in, true>(p, s.box[warp], sum, row, tile.end, tile.column, tile.member);
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
    waits::end();
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::linears
