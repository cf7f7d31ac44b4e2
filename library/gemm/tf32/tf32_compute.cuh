// SPDX-License-Identifier: Apache-2.0
// Consumer of a product of TF32 parts: warpgroups that split the long operand, multiply and store (wgmma,
// sm_90a).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/warp.cuh>
#include <antiphase/device/wgmma_tf32.cuh>
#include "library/gemm/tf32/load/tf32_layout.cuh"
#include "library/gemm/tf32/tf32_outputs.cuh"
#include "library/gemm/tf32/tf32_split_k.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <tf32_policy P, class Layout> struct tf32_consumer : tf32_outputs {
  using storage = typename Layout::storage;
  using slot = typename Layout::slot;
  using slot_cursor = typename Layout::slot_cursor;
  using tile_cursor = typename Layout::tile_cursor;
  using split_k = tf32_split_k<P, Layout>;
  // of a thread's sums, those of lines that there can be
  static constexpr int own = P.columns > 0 ? P.columns / 2 : registers;

  // compute
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static auto reader_of(const params& p, const work& w, const seat& t) {
    if constexpr (Layout::by_tma)
      return tf32_reader<P.long_along_k>(t.top);
    else
      return shifted_reader(t.top, p.tiled.of_long, first_of(p.tiled.of_long, w));
  }
  // Counts a chunk's nonzeros, from k on. Rare, so it reads the elements once more and takes as few
  // instructions as it can.
  AP_DEV static void count(row_pair& rows, const slot& first, const slot& second, int k, const auto& mine) {
    AP_ROLLED
    for (int n = 0; n < 4 && rows.counts; ++n) {
      tf32_values x;
      mine.read(x, n < 2 ? first.a : second.a, n % 2 * (tf32_stage_k / 2));
      rows.add(x, k + n * (tf32_stage_k / 2) + lane_index() % 4);
    }
    rows.limit();
  }
  // A chunk is four fragments. Each is split while the previous one is multiplied, the first one of the next
  // chunk before this chunk's main product is promoted. before_these: chunks of the share that are done.
  AP_DEV static void compute(storage& s, slot_cursor& at, int chunks, const auto& mine, row_pair& rows,
                             float (&sum)[own], int before_these = 0) {
    if (chunks == 0) return;
    tf32_fragment part[4];  // of 16 k each
    float main[own], mixed[own] = {};
    tf32_values x;  // of the next fragment
    slot_cursor before;
    const auto multiply = [&](const tf32_fragment& fragment, const slot& from, int k, bool fresh) {
      wgmma_fence();
      multiply_main(main, fragment, columns_at(from.hi(), k), fresh);
      multiply_mixed(mixed, fragment, columns_at(from.hi(), k), columns_at(from.lo, k));
      wgmma_commit();
    };
    const auto split = [&](tf32_fragment& to) {
      rows.see(x);
      to.split(x);
    };
    s.ring.wait(at, Layout::prepared);
    mine.read(x, s.slots[at.index].a, 0);
    split(part[0]);
    for (int left = chunks; left > 0;) {
      at.index = uniform(at.index);  // addresses are computed once for the warp, not by each lane
      const slot_cursor one = at++, two = at++;
      const slot &first = s.slots[one.index], &second = s.slots[two.index];
      mine.read(x, first.a, 16);
      multiply(part[0], first, 0, true);
      split(part[1]);
      if (left < chunks) {
        wgmma_wait<1>();
        s.ring.release(before, by_warp{});
      }
      s.ring.wait(two, Layout::prepared);
      mine.read(x, second.a, 0);
      multiply(part[1], first, 16, false);
      if (rows.counts) count(rows, first, second, (before_these + chunks - left) * tf32_chunk, mine);
      split(part[2]);
      mine.read(x, second.a, 16);
      multiply(part[2], second, 0, false);
      wgmma_wait<1>();
      s.ring.release(one, by_warp{});
      split(part[3]);
      wgmma_fence();
      multiply_main(main, part[3], columns_at(second.hi(), 16), false);
      wgmma_commit();
      multiply_mixed(mixed, part[3], columns_at(second.hi(), 16), columns_at(second.lo, 16));
      wgmma_commit();
      before = two;
      if (--left > 0) {
        s.ring.wait(at, Layout::prepared);
        mine.read(x, s.slots[at.index].a, 0);
        split(part[0]);
      }
      wgmma_wait<1>();  // for the main product
      pin_registers(main);
      AP_UNROLL
      for (int i = 0; i < own; ++i) sum[i] += main[i];
    }
    wgmma_wait<0>();
    pin_registers(mixed);
    s.ring.release(before, by_warp{});
    AP_UNROLL
    for (int i = 0; i < own; ++i) sum[i] += mixed[i];
  }
  // All of the block's share: in pieces, each with sums of its own, which are added in their order, as blocks
  // that share a tile add theirs. So an output has the same bits either way.
  AP_DEV static void compute_share(const params& p, storage& s, slot_cursor& at, const work& w,
                                   const auto& mine, row_pair& rows, sums& sum) {
    if constexpr (P.columns == 0) {
      compute(s, at, w.chunks(), mine, rows, sum);
    } else {
      const int chunks = w.chunks();
      AP_ROLLED
      for (int done = 0; done < chunks; done += p.chunks_of_piece) {
        const int left = chunks - done;
        float piece[own] = {};
        compute(s, at, left < p.chunks_of_piece ? left : p.chunks_of_piece, mine, rows, piece, done);
        AP_UNROLL
        for (int i = 0; i < own; ++i) sum[i] += piece[i];
      }
    }
  }

  // run: compute, finish
  // ---------------------------------------------------------------------------------------------------------
  // Computes and stores the block's tiles. What a thread keeps from tile to tile is the kernel's. Outputs
  // without a certificate are computed again.
  AP_DEV static void run(const params& p, storage& s, const seat& t, const tf32_walk& mine, slot_cursor& at,
                         tile_cursor& noted) {
    const bool shares = tf32_walk::blocks_of_tile(p) > 1;  // other blocks share the tile
    // With many short tiles one warpgroup begins later, so that it multiplies while the other one stores.
    bool in_turn = !shares && p.tiled.k <= tf32_chunk && mine.first + mine.apart < p.tiled.tiles;
    const bool second = t.top >= tf32_tile.m / 2;
    if (in_turn && second) named_barrier_sync(Layout::turn_barrier, Layout::computing_threads);
    mine.each(p, [&](std::uint32_t tile, const work& w) {
      row_pair rows(p, w, t);
      sums sum = {};
      compute_share(p, s, at, w, reader_of(p, w, t), rows, sum);
      if (in_turn && !second) named_barrier_arrive(Layout::turn_barrier, Layout::computing_threads);
      in_turn = false;
      const tf32_lines* lines = &s.lines[noted.index];
      bool ordinary = !shares && rows.ordinary() && !any_special_column(*lines);
      std::uint32_t least_of_rows = rows.least();
      int first = 0, count = fragments;
      if (shares) {
        rows.note(s.lines[noted.index], t);
        if (w.chunks() == 0 && t.member < tf32_tile.n)  // no warp has prepared anything
          line_watch(w.left + t.member < p.tiled.of_short.lines)
              .note(s.lines[noted.index], tf32_tile.m + t.member);
        count = fragments / cluster_extent();
        first = cluster_rank() * count;
        if (!split_k::add_parts(p, s, t, tile, mine.part, first, count, sum)) return;
        lines = &s.lines[1];
        ordinary = !any_special(*lines, t);
        least_of_rows = lines->sizes[t.top + lane_index() % 16].least();
      }
      hide_outside(p, w, t, sum);
      const bool in_range = keep_range(p, *lines, least_of_rows, sum);
      if (!ordinary || !in_range) {
        const auto places = [&](int line) {
          return shares ? s.of_shares.places[line] : places_in_lines{*lines, w.k}(line);
        };
        lane_rows of_lane = rows.of_lane(w.k);
        if (shares) {
          AP_UNROLL
          for (int r = 0; r < 2; ++r) {
            const int row = t.top + t.g + 8 * r;
            of_lane.sizes[r] = lines->sizes[row], of_lane.places[r] = places(row);
            of_lane.sparse[r] = tf32_lines::is_sparse(lines->nonzeros[row]);
          }
        }
        compute_again(p, *lines, of_lane, places, w, t, first, count, in_range, sum);
      }
      if (pairs_fill_sectors(p, w))
        store_by_pairs(p, w, t, first, count, sum);
      else
        store_by_rows(p, s.rows[t.top / 16], w, t, first, count, sum);
      ++noted;
    });
    if (shares && cluster_extent() > 1) {
      warp_sync();
      cluster_wait();  // no block exits while others read its sums
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
