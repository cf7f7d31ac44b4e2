// SPDX-License-Identifier: Apache-2.0
// Warpgroup 0 of a product of TF32 parts: it loads both operands and prepares the short one (sm_90a).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/warp.cuh>
#include "library/gemm/tf32/load/tf32_copy.cuh"
#include "library/gemm/tf32/load/tf32_layout.cuh"
#include "library/gemm/tf32/tf32_outputs.cuh"
#include "library/gemm/tf32/tf32_prepare.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// TMA
// -----------------------------------------------------------------------------------------------------------
// One thread, of the warp that does not prepare.
template <tf32_policy P, class Layout> struct tf32_producer : tf32_outputs {
  using storage = typename Layout::storage;
  using slot = typename Layout::slot;
  using slot_cursor = typename Layout::slot_cursor;

  AP_DEV static void setup(const params& p) {
    prefetch_map(p.tiled.long_map);
    prefetch_map(p.tiled.short_map);
  }
  AP_DEV static void load(const params& p, storage& s) {
    slot_cursor at;
    tf32_walk(p).each(p, [&](std::uint32_t, const work& w) {
      const int top = static_cast<int>(w.top), left = static_cast<int>(w.left), first = static_cast<int>(w.k),
                steps = w.steps();
      // stride 0: all members have the same operand
      const int of_long = p.tiled.of_long.batch_stride > 0 ? static_cast<int>(w.batch) : 0;
      const int of_short = p.tiled.of_short.batch_stride > 0 ? static_cast<int>(w.batch) : 0;
      for (int step = 0; step < steps; ++step, ++at) {
        slot& to = s.slots[at.index];
        mbarrier& landed = s.ring.barrier[Layout::arrived][at.index];
        s.ring.acquire(at);
        load_tf32_panel<tf32_tile.m, P.long_along_k>(to.a, p.tiled.long_map, landed, top,
                                                     first + step * tf32_stage_k, of_long);
        load_tf32_panel<tf32_tile.n, P.short_along_k>(to.b, p.tiled.short_map, landed, left,
                                                      first + step * tf32_stage_k, of_short);
        s.ring.commit(at, Layout::arrived, bytes{static_cast<int>(sizeof to.a + sizeof to.b)});
      }
    });
  }
};

// prepare
// -----------------------------------------------------------------------------------------------------------
// Three warps. Two of them take the first pieces of each line, the third one the other pieces of all lines.
template <tf32_policy P, class Layout> struct tf32_preparer : tf32_outputs {
  using storage = typename Layout::storage;
  using slot = typename Layout::slot;
  using preparation = typename Layout::preparation;
  using slot_cursor = typename Layout::slot_cursor;
  using tile_cursor = typename Layout::tile_cursor;

  AP_DEV static void prepare(const params& p, storage& s) {
    constexpr int first_pieces = 5, last_pieces = tf32_stage_k / 4 - first_pieces;
    static_assert(Layout::preparing_warps * warp_size == tf32_tile.n + warp_size &&
                  tf32_tile.n == 2 * warp_size);
    constexpr int lines_at_most = P.columns > 0 ? P.columns : tf32_tile.n;
    const bool last = thread_index() >= tf32_tile.n;
    const int line = thread_index() % tf32_tile.n, other = line + warp_size;
    slot_cursor at;
    tile_cursor tile;
    tf32_walk(p).each(p, [&](std::uint32_t, const work& w) {
      line_watch watch(w.left + line < p.tiled.of_short.lines),
          watch_of_other(w.left + other < p.tiled.of_short.lines);
      tf32_lines& lines = s.lines[tile.index];
      const int steps = w.steps();
      for (int step = 0; step < steps; ++step, ++at) {
        slot& here = s.slots[at.index];
        s.ring.wait(at, Layout::arrived);
        const int k = step * tf32_stage_k;
        if (last) {
          preparation::template prepare<last_pieces>(here, {line, first_pieces}, k, watch);
          if (lines_at_most > warp_size)
            preparation::template prepare<last_pieces>(here, {other, first_pieces}, k, watch_of_other);
        } else if (lines_at_most > warp_size || warp_index() == 0) {
          preparation::template prepare<first_pieces>(here, {line, 0}, k, watch);
        }
        fence_async();
        if (step + 1 == steps) {
          if (last) {
            watch.note(lines, tf32_tile.m + line);
            watch_of_other.note(lines, tf32_tile.m + other);
          }
          preparation::meet();
          if (!last) watch.add_to_note(lines, tf32_tile.m + line);
        }
        s.ring.commit(at, Layout::prepared, by_warp{});
      }
      ++tile;
    });
  }
};

// copy and prepare
// -----------------------------------------------------------------------------------------------------------
// All of warpgroup 0 copies by cp.async, and prepares `ahead` stages later. Slots are released up to two
// stages late.
template <tf32_policy P, class Layout> struct tf32_copier : tf32_outputs {
  using storage = typename Layout::storage;
  using slot = typename Layout::slot;
  using preparation = typename Layout::preparation;
  using slot_cursor = typename Layout::slot_cursor;
  using tile_cursor = typename Layout::tile_cursor;

  AP_DEV static void setup(const params&) {}
  AP_DEV static void copy_and_prepare(const params& p, storage& s) {
    constexpr int ahead = Layout::stages - 3;
    struct panels {
      panel_copy<tf32_tile.m, preparation::threads> of_long;
      panel_copy<tf32_tile.n, preparation::threads> of_short;
    };
    const tf32_walk mine(p);
    constexpr int pieces = tf32_stage_k / 8;  // of each of the two threads that a line has
    const bool second_half = thread_index() >= tf32_tile.n;
    const typename preparation::share_of_line my_share{thread_index() % tf32_tile.n,
                                                       second_half ? pieces : 0};
    slot_cursor loads, at;
    tile_cursor tile;
    std::uint32_t next = mine.first;  // tile to copy from
    work there = mine.at(p, next < p.tiled.tiles ? next : 0);
    std::int64_t k = there.k;
    const auto panels_of = [&](const work& w) {
      return panels{{p.tiled.of_long, first_of(p.tiled.of_long, w), w.top},
                    {p.tiled.of_short, first_of(p.tiled.of_short, w), w.left}};
    };
    panels from = panels_of(there);
    const auto copy = [&] {
      if (next < p.tiled.tiles && k < there.k + there.steps() * tf32_stage_k) {
        slot& to = s.slots[loads.index];
        s.ring.acquire(loads++);
        from.of_long.copy(to.a, k, there.k_end);
        from.of_short.copy(to.b, k, there.k_end);
        k += tf32_stage_k;
        if (k == there.k + there.steps() * tf32_stage_k && (next += mine.apart) < p.tiled.tiles) {
          there = mine.at(p, next);
          k = there.k;
          from = panels_of(there);
        }
      }
      copy_async_commit();
    };
    AP_ROLLED
    for (int i = 0; i < ahead; ++i) copy();
    mine.each(p, [&](std::uint32_t, const work& w) {
      line_watch watch(w.left + my_share.line < p.tiled.of_short.lines);
      const typename preparation::reader of_short(p.tiled.of_short, first_of(p.tiled.of_short, w), my_share);
      tf32_lines& lines = s.lines[tile.index];
      const int line = tf32_tile.m + my_share.line, steps = w.steps();
      for (int step = 0; step < steps; ++step, ++at) {
        copy_async_wait<ahead - 1>();
        preparation::meet();
        preparation::template prepare<pieces>(s.slots[at.index], my_share, step * tf32_stage_k, watch,
                                              of_short);
        fence_async();
        if (step + 1 == steps) {
          if (second_half) watch.note(lines, line);
          preparation::meet();
          if (!second_half) watch.add_to_note(lines, line);
        }
        s.ring.commit(at, Layout::prepared, by_warp{});
        copy();  // after the commit, since its slot may not be free yet
      }
      ++tile;
    });
    copy_async_wait<0>();
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
