// SPDX-License-Identifier: Apache-2.0
// FP32-accurate products on Tensor Cores: three products of FP16 parts, promoted into FP32 registers (TMA and
// wgmma, sm_90a).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/wgmma.cuh>
#include "library/gemm/fp16/split_epilogue.cuh"
#include "library/gemm/fp16/split_product.hpp"
#include "library/gemm/fp16/split_warpgroup.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A persistent kernel with warp specialisation: one block per multiprocessor walks over tiles of C. One
// thread of warpgroup 0 is the producer, warpgroups 1 and 2 compute, 64 x 128 outputs each:
//   slot:  load | multiply (8 warps) | load ...                    a stage of 32 k, hi and lo parts of both
//          operands
// Two stages make a chunk. Its main product hi hi goes into a fresh accumulator and is then added to the sum
// in FP32 registers (promotion), because Tensor Cores truncate; the mixed products hi lo + lo hi, kept 2^11
// times as large, are so small that they need no such care. The promotion runs while the mixed products of
// the same chunk do, so stages are released one chunk late. A second ring of two slots loads what the
// epilogue of a tile needs, while the tile before is still computed. Where there are fewer tiles than
// multiprocessors, a cluster of blocks shares a tile (split-K): each block computes a part of K and then adds
// up its share of the columns, which the others write into its shared memory.
enum split_event { full, empty };

// The waits between the parts of a block. A parameter, so that tests can take one wait away.
template <product_policy P> struct product_waits {
  static constexpr int computing_warps = 8;
  using ring = channel<mbarrier, P.stages, threads(1), warps(computing_warps)>;
  AP_DEV static void barriers_made() { fence_mbarrier_init(); }
  AP_DEV static void main_product() { wgmma_wait<1>(); }  // and all of the chunk before
};

template <product_policy P, class Waits = product_waits<P>> struct split_product {
  static_assert(P.stages >= 4,
                "a chunk is let go while the next one is multiplied, so the ring needs room for both");
  static_assert(valid(P));
  static constexpr int threads = 3 * warpgroup_size, computing_warps = Waits::computing_warps;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int cluster = P.cluster;
  static constexpr bool overlaps_previous = true;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = product_problem;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  using part = split_part;
  static constexpr int registers = sums_of_a_thread;
  using shared_by_cluster = shared_tile<P.cluster>;
  static constexpr int share = shared_by_cluster::share, width = shared_by_cluster::width;
  using epilogue =
      split_epilogue<output_layout{.width = width, .first_thread = warpgroup_size, .ordered = P.ordered}>;
  struct no_exchange {};
  using exchange = typename shared_by_cluster::exchange;
  struct slot {
    alignas(1024) part a, b;
  };
  struct storage {
    union {
      slot slots[P.stages];
      recompute_storage<4> tail;  // when there is nothing more to load
    };
    // by block of the cluster
    [[no_unique_address]] std::conditional_t<P.cluster == 1, no_exchange, exchange> parts;
    tile_lines lines[2];
    typename Waits::ring ring;
    channel<mbarrier, 2, antiphase::threads(1), warps(computing_warps)> tiles;
    uncertain_tally uncertain;
  };
  using slot_cursor = cursor<P.stages>;
  using sums = split_sums;

 private:
  // The block's tiles: the first and then one a grid further each time. Of a cluster of more than one block
  // there is only the first, or a block could write over what another one still reads.
  AP_DEV static std::int64_t first_tile(const params& p) { return p.first + block_index().x / P.cluster; }
  AP_DEV static std::int64_t tile_step() { return grid_extent().x / P.cluster; }
  AP_DEV static grouped_tiles tiles_of(const params& p) { return {p.rows, p.columns, tile_group}; }
  // The list of the tile's uncertain outputs.
  AP_DEV static std::int64_t list_of(const params& p, std::int64_t tile) {
    return P.cluster == 1 ? tile - p.first : (tile - p.first) * P.cluster + cluster_rank();
  }
  // The block's part of K.
  AP_DEV static int first_chunk(const params& p) {
    return P.cluster == 1 ? 0 : shared_by_cluster::first_chunk(cluster_rank(), p.chunks);
  }
  AP_DEV static int end_chunk(const params& p) {
    return P.cluster == 1 ? p.chunks : shared_by_cluster::first_chunk(cluster_rank() + 1, p.chunks);
  }

  // load
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void load(const params& p, storage& s) {
    const grouped_tiles work = tiles_of(p);
    slot_cursor at;
    cursor<2> tile;
    const int first_step = 2 * first_chunk(p), end_step = 2 * end_chunk(p);
    for (std::int64_t i = first_tile(p); i < p.end; i += tile_step(), ++tile) {
      const tile_position here = work.at(i);
      const int top = static_cast<int>(here.row) * split_tile,
                left = static_cast<int>(here.column) * split_tile;
      tile_lines& lines = s.lines[tile.index];
      s.tiles.acquire(tile);
      lines.top = top;
      lines.left = left;
      bulk_load(lines.row_scale, p.split_a.scale + top, sizeof lines.row_scale,
                s.tiles.barrier[full][tile.index]);
      bulk_load(lines.column_scale, p.split_b.scale + left, sizeof lines.column_scale,
                s.tiles.barrier[full][tile.index]);
      s.tiles.commit(tile, full, bytes{sizeof lines.row_scale + sizeof lines.column_scale});
      for (int step = first_step; step < end_step; ++step, ++at) {
        auto& [a, b] = s.slots[at.index];
        s.ring.acquire(at);
        tensor_load(a, p.tensor_a, s.ring.barrier[full][at.index], 2 * split_step * step, top);
        tensor_load(b, p.tensor_b, s.ring.barrier[full][at.index], 2 * split_step * step, left);
        s.ring.commit(at, full, bytes{sizeof a + sizeof b});
      }
    }
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void compute(storage& s, slot_cursor& at, int group, int chunks, sums& sum) {
    const auto a = [&](slot_cursor slot) { return s.slots[slot.index].a + 64 * group; };
    const auto b = [&](slot_cursor slot) -> const part& { return s.slots[slot.index].b; };
    sums main, mixed = {};
    slot_cursor to_release = at;
    const auto release = [&] {
      s.ring.release(to_release++, by_warp{});
      s.ring.release(to_release++, by_warp{});
    };
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const slot_cursor one = at++, two = at++;
      wgmma_fence();
      s.ring.wait(one, full);
      multiply_main(main, a(one), b(one), true);
      s.ring.wait(two, full);
      multiply_main(main, a(two), b(two), false);
      wgmma_commit();
      multiply_mixed(mixed, a(one), b(one));
      multiply_mixed(mixed, a(two), b(two));
      wgmma_commit();
      Waits::main_product();
      pin_registers(main);
      if (chunk > 0) release();
      AP_UNROLL
      for (int i = 0; i < registers; ++i) sum[i] += main[i];
    }
    wgmma_wait<0>();
    pin_registers(mixed);
    if (chunks > 0) release();
    AP_UNROLL
    for (int i = 0; i < registers; ++i) sum[i] += mixed[i] * (1.f / (1 << lo_exponent));
  }

  // Recomputes the uncertain outputs of all the block's tiles, at the end: the ring is empty then, and its
  // memory free.
  AP_DEV static void recompute(const params& p, storage& s, int first_column) {
    named_barrier_sync(epilogue::barrier, epilogue::computing_threads);
    if (s.uncertain.any == 0) return;
    bool by_magnitude = true;
    for (std::int64_t i = first_tile(p); i < p.end; i += tile_step()) {
      const tile_position here = tiles_of(p).at(i);
      epilogue::recompute(p, static_cast<int>(here.row) * split_tile,
                          static_cast<int>(here.column) * split_tile + first_column, list_of(p, i), s.tail,
                          by_magnitude);
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.ring.init();
      s.tiles.init();
      Waits::barriers_made();
      s.uncertain = {};
    }
    if constexpr (P.cluster > 1)
      cluster_barrier();  // the others have begun
    else
      block_barrier();
    warp_sync();  // lanes may leave a cluster's barrier apart
    wait_for_previous_grid();
    const int warpgroup = warp_index() / 4;
    if (warpgroup == 0) {
      release_registers<24>();
      if (thread_index() == 0) load(p, s);
    } else {
      request_registers<240>();
      const int chunks = end_chunk(p) - first_chunk(p),
                first_column = P.cluster == 1 ? 0 : cluster_rank() * width;
      slot_cursor at;
      cursor<2> tile;
      cursor<uncertain_tally::turns> turn;
      for (std::int64_t i = first_tile(p); i < p.end; i += tile_step()) {
        sums sum = {};
        compute(s, at, warpgroup - 1, chunks, sum);
        s.tiles.wait(tile, full);
        const epilogue out{p, s.lines[tile.index], first_column};
        if constexpr (P.cluster == 1) {
          out.store(sum, s.uncertain, turn, list_of(p, i));
        } else {
          float total[share];
          shared_by_cluster::add_parts(s.parts, thread_index() - warpgroup_size, sum, total);
          out.store(total, s.uncertain, turn, list_of(p, i));
        }
        s.tiles.release(tile++, by_warp{});
      }
      recompute(p, s, first_column);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
