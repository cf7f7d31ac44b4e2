// SPDX-License-Identifier: Apache-2.0
// tf32 products with small K and many lines: the short operand stays in shared memory (wgmma, sm_90a).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/portable.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_store.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <cmath>
#include <cstdint>
#include "library/gemm/operands/tiled/plain_ring.hpp"
#include "library/gemm/tf32/tf32_outputs.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
//   prepare a column of the short operand, once
//   slot:  load | split, multiply (8 warps) | load ...     a stage of 32 k in FP32
// A tile's products are those of tf32_product, in the same order, so an output has the same bits. The
// difference: with K of up to 64, both parts of 64 lines of the short operand fit into shared memory for
// good, and a block walks along the long one. Per tile it only loads, splits and multiplies lines of the long
// one, and stores. Warpgroup 0 loads, and prepares the next column while the other two still multiply with
// the last one. Each of these has 64 x 64 outputs of a tile, which pass through shared memory: TMA stores
// them in whole rows while the next tile is multiplied, and loads C if it is added.
template <tf32_policy P, template <class Channel, int Warps> class RingOf = plain_ring> struct tf32_kept
    : tf32_outputs {
  static_assert(valid(P) && P.kept_halves > 0 && P.loader == loader::tma);
  static constexpr int threads = 3 * warpgroup_size, preparing_warps = 4,
                       preparing_threads = preparing_warps * warp_size;
  static constexpr int halves = P.kept_halves, steps = (halves + 1) / 2, stages = P.stages(),
                       columns_held = 2;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  struct slot {
    alignas(1024) float a[tf32_tile.m * tf32_stage_k];
  };
  struct held_column {  // lo begins steps * of_step bytes after hi
    alignas(1024) float hi[steps][tf32_tile.n * tf32_stage_k], lo[steps][tf32_tile.n * tf32_stage_k];
  };
  static constexpr int of_step = tf32_tile.n * tf32_stage_k * static_cast<int>(sizeof(float));
  // A warpgroup's outputs on their way to C, or the elements of C that they are added to: 64 rows of 32
  // floats, twice. Without TMA: a region per warp.
  union outputs {
    alignas(1024) float half[2][64 * tf32_stage_k];
    rows_to_store<tf32_stage_k, false> rows[4];
  };
  using ring_of_slots = channel<mbarrier, stages, antiphase::threads(1), warps(computing_warps)>;
  using ring_of_columns = channel<mbarrier, columns_held, warps(preparing_warps), warps(computing_warps)>;
  enum event { full, empty };
  struct storage {
    slot slots[stages];
    held_column columns[columns_held];
    outputs out[2][2];  // by warpgroup, of two tiles in turn
    RingOf<ring_of_slots, threads / warp_size> ring;
    ring_of_columns prepared;
    channel<mbarrier, 2, antiphase::threads(1)> added[2];  // arrival of C, by warpgroup
    // facts about a column's lines, and about those of the tile that is multiplied with it
    tf32_lines lines[columns_held];
  };
  using slot_cursor = cursor<stages>;
  using column_cursor = cursor<columns_held>;

 private:
  // named barriers; storing_barrier + 1 is the second warpgroup's
  static constexpr int preparing_barrier = 1, storing_barrier = 2;

  // walk
  // ---------------------------------------------------------------------------------------------------------
  // The block's tiles: a band of rows of tiles of one column, then of the one that is as many columns further
  // as there are blocks. So all blocks together move along the long operand, and rows of C are written whole
  // within a short time, which suits memory.
  struct walk {
    std::uint32_t unit, row = 0, rows_left = 0;
    std::uint32_t column = 0, member = 0;
    AP_DEV explicit walk(const params& p) : unit(block_index().x) { find(p); }
    AP_DEV bool goes_on() const { return rows_left > 0; }
    AP_DEV void next(const params& p) {
      ++row;
      if (--rows_left == 0) next_unit(p);
    }
    AP_DEV void next_unit(const params& p) {
      unit += grid_extent().x;
      find(p);
    }
    AP_DEV work here(const params& p) const {
      return {member, std::int64_t{row} * tf32_tile.m, std::int64_t{column} * tf32_tile.n, 0, p.tiled.k};
    }

   private:
    AP_DEV void find(const params& p) {
      const std::uint32_t band = p.tiled.tiles_along_short.quotient(unit),
                          rows = p.tiled.tiles_along_long.by();
      column = unit - band * p.tiled.tiles_along_short.by();
      member = p.bands.quotient(band);
      row = (band - member * p.bands.by()) * p.rows_of_band;
      const bool there = unit < p.units;
      rows_left = !there ? 0 : rows - row < p.rows_of_band ? rows - row : p.rows_of_band;
    }
  };
  // Whether the tiles need different lines of the short operand.
  AP_DEV static bool differ(const walk& a, const walk& b) {
    return a.column != b.column || a.member != b.member;
  }

  // load
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void load(const params& p, storage& s, slot_cursor& to, const work& w) {
    // else all members share one
    const int member = p.tiled.of_long.batch_stride > 0 ? static_cast<int>(w.batch) : 0;
    AP_UNROLL
    for (int step = 0; step < steps; ++step, ++to) {
      s.ring.acquire(to);
      float* const a = s.slots[to.index].a;
      load_tf32_panel<tf32_tile.m, P.long_along_k>(a, p.tiled.long_map, s.ring.barrier[full][to.index],
                                                   static_cast<int>(w.top), step * tf32_stage_k, member);
      s.ring.commit(to, full, bytes{static_cast<int>(sizeof(slot))});
    }
  }

  // prepare
  // ---------------------------------------------------------------------------------------------------------
  // Counts the nonzeros of a thread's half of a step, which begins at k: rare.
  AP_DEV static void count(line_watch& watch, const float* hi, int line, int first, int k) {
    std::uint32_t nonzeros = 0;
    AP_ROLLED
    for (int n = 0; n < tf32_stage_k / 2; n += 4) {
      const pack<float, 4> four = load_pack<4>(hi + tf32_place::along_k(line, first + n));
      nonzeros |= bits_of_nonzeros(four) << n;
    }
    watch.nonzeros.add(line_nonzeros::of(nonzeros, k + first));
  }
  // Two threads per line, each with half of a step's k, read from global memory.
  AP_DEV static void prepare(const params& p, storage& s, column_cursor to, const work& w) {
    constexpr int mine = tf32_stage_k / 2;
    const int line = thread_index() % tf32_tile.n, half = thread_index() / tf32_tile.n;
    const line_operand& o = p.tiled.of_short;
    const bool exists = w.left + line < o.lines;
    const float* from = first_of(o, w) + (w.left + line) * o.line_stride + half * mine * o.k_stride;
    int left = exists ? static_cast<int>(p.tiled.k) - half * mine : 0;
    const bool packets = o.along_k && o.width == 4 && p.tiled.k % 4 == 0 &&
                         reinterpret_cast<std::uintptr_t>(first_of(o, w)) % 16 == 0;
    s.prepared.acquire(to);
    held_column& there = s.columns[to.index];
    line_watch watch(exists);
    AP_ROLLED
    for (int step = 0; step < steps; ++step, left -= tf32_stage_k, from += tf32_stage_k * o.k_stride) {
      bool zero = false;
      pack<float, 4> x[mine / 4] = {};
      if (packets) {
        AP_UNROLL
        for (int n = 0; n < mine / 4; ++n)
          if (4 * n < left) x[n] = load_pack<4>(from + 4 * n);
      } else {
        AP_UNROLL
        for (int i = 0; i < mine; ++i)
          if (i < left) x[i / 4].element[i % 4] = from[i * o.k_stride];
      }
      AP_UNROLL
      for (int n = 0; n < mine / 4; ++n) {
        const int at = tf32_place::along_k(line, half * mine + 4 * n);
        store_pack<4>(there.hi[step] + at, x[n]);
        AP_UNROLL
        for (float& value : x[n].element) {
          zero = zero || value == 0;
          watch.see(value);
          value = tf32_lower(value);
        }
        store_pack<4>(there.lo[step] + at, x[n]);
      }
      if (zero)
        count(watch, there.hi[step], line, half * mine, step * tf32_stage_k);
      else
        watch.nonzeros = line_nonzeros::more_than_two();
    }
    fence_async();
    tf32_lines& lines = s.lines[to.index];
    if (half == 1) watch.note(lines, tf32_tile.m + line);
    named_barrier_sync(preparing_barrier, preparing_threads);
    if (half == 0) watch.add_to_note(lines, tf32_tile.m + line);
    s.prepared.commit(to, full, by_warp{});
  }
  // Loads of the first tiles are issued before the first column is prepared.
  AP_DEV static void load_and_prepare(const params& p, storage& s) {
    const bool loads = thread_index() == 0;
    slot_cursor to;
    column_cursor column;
    walk ahead(p);
    const auto load_next = [&] {
      load(p, s, to, ahead.here(p));
      ahead.next(p);
    };
    if (loads) {
      AP_ROLLED
      for (int n = 0; n + steps <= stages && ahead.goes_on(); n += steps) load_next();
    }
    walk next(p), before = next;
    AP_ROLLED
    for (bool first = true; next.goes_on(); next.next_unit(p), first = false) {
      warp_sync();
      if (first || differ(next, before)) prepare(p, s, column++, next.here(p));
      before = next;
      if (loads)
        while (ahead.goes_on() && ahead.unit <= next.unit) load_next();
    }
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  // Issues a tile's products and leaves them in flight. hi: descriptor of the column's lines.
  AP_DEV static void multiply(storage& s, slot_cursor& at, matrix_descriptor hi,
                              const tf32_reader<P.long_along_k>& mine, row_pair& rows,
                              tf32_fragment (&part)[halves], sums& main, sums& mixed) {
    AP_UNROLL
    for (int n = 0; n < halves; ++n) {  // of 16 k each
      if (n % 2 == 0) s.ring.wait(at, full);
      tf32_values x;
      mine.read(x, s.slots[at.index].a, n % 2 * 16);
      if (n % 2 == 1 || n + 1 == halves) s.ring.release(at++, by_warp{});
      rows.see(x);
      rows.count(x, 16 * n + lane_index() % 4);
      part[n].split(x);
      wgmma_fence();
      const matrix_descriptor here = further(hi, n / 2 * of_step + n % 2 * 2 * bytes_of_8_k);
      multiply_main(main, part[n], here, n == 0);
      multiply_mixed(mixed, part[n], here, further(here, steps * of_step), n == 0);
      wgmma_commit();
    }
  }

  // store, by TMA
  // --------------------------------------------------------------------------------------------------------
  // A warpgroup's output, double-buffered: TMA stores the outputs of one tile while those of the next one are
  // written to the other buffer, to which C, if it is added, has been loaded before.
  struct way_out {
    int group;
    bool first;      // the thread that issues TMA
    cursor<2> turn;  // buffer of the current tile
    AP_DEV explicit way_out(const seat& t) : group(t.top / 64), first(t.member % warpgroup_size == 0) {}
    AP_DEV void meet() const { named_barrier_sync(storing_barrier + group, warpgroup_size); }
  };
  // Origin of a box of the warpgroup in C: along its rows, and across.
  struct box_place {
    int x, y;
  };
  AP_DEV static box_place box(const params& p, const work& w, const way_out& out, int half) {
    const int row = static_cast<int>(w.top) + out.group * 64, column = static_cast<int>(w.left);
    return p.in_c == neighbours::along_short ? box_place{column + half * tf32_stage_k, row}
                                             : box_place{row + half * tf32_stage_k, column};
  }
  // Loads C for a tile into its buffer, which is free because TMA has read what it held. What lies outside of
  // C becomes zero.
  AP_DEV static void ask_for_c(const params& p, storage& s, const way_out& out, const work& w) {
    outputs& to = s.out[out.group][out.turn.index];
    AP_UNROLL
    for (int half = 0; half < 2; ++half) {
      const box_place at = box(p, w, out, half);
      tensor_load(to.half[half], p.out_map, s.added[out.group].barrier[full][out.turn.index], at.x, at.y,
                  static_cast<int>(w.batch));
    }
    s.added[out.group].commit(out.turn, full, bytes{static_cast<int>(sizeof(outputs))});
  }
  // Calls use(first output, its place) for each group of adjacent outputs in boxes: rows of 32 floats with
  // TMA's swizzle, along lines of either operand. The swizzle XORs pieces of 16 bytes with bits that do not
  // change from output to output, so all places follow from the lane's first one.
  template <neighbours In> AP_DEV static void each_place(outputs& to, const seat& t, auto use) {
    constexpr int of_half = 64 * tf32_stage_k, eight_rows = 8 * tf32_stage_k;
    const int top = t.top % 64;
    if constexpr (In == neighbours::along_short) {
      int start = tf32_place::along_k(top + t.g, 2 * t.q);
      rematerialise(start);
      AP_UNROLL
      for (int i = 0; i < registers; i += 2) {
        const int column = i / 4, low = i / 2 % 2;  // of eight each
        use(i, to.half[0] + (start ^ column % 4 * 8) + column / 4 * of_half + low * eight_rows);
      }
    } else {
      int start = top / tf32_stage_k * of_half + tf32_place::along_k(2 * t.q, top % tf32_stage_k + t.g);
      rematerialise(start);
      AP_UNROLL
      for (int i = 0; i < registers; ++i) {
        const int column = i / 4, low = i / 2 % 2, odd = i % 2;
        use(i, to.half[0] + (start ^ (low * 8 | odd * 4)) + column * eight_rows + odd * tf32_stage_k);
      }
    }
  }
  // adds: to the elements of C in the buffer. All of them are read before the first output is written, which
  // would delay the reads.
  template <neighbours In>
  AP_DEV static void stage(const params& p, outputs& to, const seat& t, bool adds, sums& value) {
    constexpr int wide = In == neighbours::along_short ? 2 : 1;
    if (adds) {
      pack<float, wide> before[registers / wide];
      each_place<In>(to, t, [&](int i, const float* place) { before[i / wide] = load_pack<wide>(place); });
      AP_UNROLL
      for (int i = 0; i < registers; ++i)
        value[i] =
            multiply_add(p.tiled.end.beta, before[i / wide].element[i % wide], p.tiled.end.alpha * value[i]);
    } else {
      AP_UNROLL
      for (float& x : value) x *= p.tiled.end.alpha;
    }
    each_place<In>(to, t, [&](int i, float* place) {
      pack<float, wide> some;
      AP_UNROLL
      for (int e = 0; e < wide; ++e) some.element[e] = value[i + e];
      store_pack<wide>(place, some);
    });
  }
  AP_DEV static void stage(const params& p, outputs& to, const seat& t, bool adds, sums& value) {
    if (p.in_c == neighbours::along_short)
      stage<neighbours::along_short>(p, to, t, adds, value);
    else
      stage<neighbours::along_long>(p, to, t, adds, value);
  }
  AP_DEV static void store_by_tma(const params& p, storage& s, const way_out& out, cursor<2> turn,
                                  const work& w, const seat& t, sums& value) {
    outputs& boxes = s.out[out.group][turn.index];
    const bool adds = p.tiled.end.beta != 0;
    if (adds) s.added[out.group].wait(turn, full);
    stage(p, boxes, t, adds, value);
    fence_async();
    out.meet();
    if (!out.first) return;
    const bool along_short = p.in_c == neighbours::along_short;
    const std::int64_t width = along_short ? p.tiled.of_short.lines : p.tiled.of_long.lines,
                       height = along_short ? p.tiled.of_long.lines : p.tiled.of_short.lines;
    AP_UNROLL
    for (int half = 0; half < 2; ++half) {
      const box_place at = box(p, w, out, half);
      if (at.x < width && at.y < height)
        tensor_store(p.out_map, boxes.half[half], at.x, at.y, static_cast<int>(w.batch));
    }
    bulk_commit();
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.ring.init();
      s.prepared.init();
      for (auto& of_group : s.added) of_group.init();
      fence_mbarrier_init();
      prefetch_map(p.tiled.long_map);
      if (p.tma_stores) prefetch_map(p.out_map);
    }
    block_barrier();
    wait_for_previous_grid(p);
    start_next_grid();
    if (warp_index() < preparing_warps) {
      release_registers<72>();
      load_and_prepare(p, s);
    } else {
      request_registers<216>();
      compute_and_store(p, s);
    }
  }

 private:
  // A computing warp's state on its walk through tiles.
  struct progress {
    walk next;
    slot_cursor cursor;
    column_cursor column;
    way_out out;
    matrix_descriptor hi = {};  // descriptor of the column's lines
    bool new_column = true, special_column = false;
    AP_DEV progress(const params& p, const seat& t) : next(p), out(t) {}
    AP_DEV void begin_column(storage& s) {
      s.prepared.wait(column, full);
      special_column = any_special_column(s.lines[column.index]);
      hi = columns_at(s.columns[column.index].hi[0]);
      new_column = false;
    }
    // Returns whether there is another tile.
    AP_DEV bool go_on(const params& p, storage& s) {
      ++out.turn;
      const walk here = next;
      next.next(p);
      new_column = !next.goes_on() || differ(next, here);
      if (new_column) s.prepared.release(column++, by_warp{});
      return next.goes_on();
    }
  };
  // Finds rows' largest elements from their parts, after the product: registers are scarce while it runs.
  AP_DEV static void see_largest(const tf32_fragment (&part)[halves], row_pair& rows) {
    rows.row[0].sizes.largest = rows.row[1].sizes.largest = 0;
    AP_UNROLL
    for (const tf32_fragment& some : part) {
      AP_UNROLL
      for (int i = 0; i < 8; ++i) {
        float& largest = rows.row[i % 2].sizes.largest;
        largest = std::fmax(largest, std::fabs(bit_cast<float>(some.hi[i / 4][i % 4]) +
                                               bit_cast<float>(some.lo[i / 4][i % 4])));
      }
    }
  }
  // A tile is stored while the next one is multiplied. Outputs are computed again, and stored without TMA,
  // outside of the inner loop, which holds only what every tile needs: the instruction cache has no room for
  // more.
  AP_DEV static void compute_and_store(const params& p, storage& s) {
    const seat t = seat::mine();
    const tf32_reader<P.long_along_k> mine(t.top);
    progress now(p, t);
    sums value;
    tf32_fragment part[halves];
    work w = now.next.here(p), before = {};
    bool pending = false;
    const auto store_before = [&] { store_by_tma(p, s, now.out, now.out.turn.before(), before, t, value); };
    AP_ROLLED
    for (bool goes_on = now.next.goes_on(); goes_on;) {
      bool ordinary = false, in_range = false;
      row_pair rows(p, w, t);
      AP_ROLLED
      do {
        if (now.new_column) now.begin_column(s);
        w = now.next.here(p);
        rows = row_pair(p, w, t);
        sums main, mixed;
        multiply(s, now.cursor, now.hi, mine, rows, part, main, mixed);
        if (pending) store_before();
        if (p.tma_stores && now.out.first) {
          if (pending)
            bulk_wait_read<1>();
          else
            bulk_wait_read<0>();
          if (p.tiled.end.beta != 0) ask_for_c(p, s, now.out, w);
        }
        wgmma_wait<0>();
        pin_registers(main);
        pin_registers(mixed);
        AP_UNROLL
        for (int i = 0; i < registers; ++i) value[i] = main[i] + mixed[i];
        hide_outside(p, w, t, value);
        in_range = keep_range(p, s.lines[now.column.index], rows.least(), value);
        ordinary = rows.ordinary() && !now.special_column && in_range;
        if (p.tma_stores) now.out.meet();  // the buffer is free
        pending = ordinary && p.tma_stores;
        if (!pending) break;
        before = w;
        goes_on = now.go_on(p, s);
      } while (goes_on);
      if (pending) break;
      if (!ordinary) {
        const tf32_lines& lines = s.lines[now.column.index];
        see_largest(part, rows);
        compute_again(p, lines, rows.of_lane(0), places_in_lines{lines, 0}, w, t, 0, fragments, in_range,
                      value);
      }
      pending = p.tma_stores;
      before = w;
      if (!pending)
        store_by_rows(p, s.out[now.out.group][now.out.turn.index].rows[t.top % 64 / 16], w, t, 0, fragments,
                      value);
      goes_on = now.go_on(p, s);
    }
    if (pending) store_before();
    if (now.out.first) bulk_wait<0>();  // shared memory has to stay until TMA has read it
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
