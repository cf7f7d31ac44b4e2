// SPDX-License-Identifier: Apache-2.0
// FP32-accurate products on Tensor Cores in one launch: three products of TF32 parts, split on their way
// (wgmma, sm_90a).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/copy_async.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include <antiphase/device/wgmma_tf32.cuh>
#include "src/gemm/operands/plain_ring.hpp"
#include "src/gemm/tf32/tf32_copy.cuh"
#include "src/gemm/tf32/tf32_outputs.cuh"
#include "src/gemm/tf32/tf32_prepare.cuh"
#include "src/gemm/tf32/tf32_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A kernel with warp specialisation. Warpgroups 1 and 2 compute, 64 x 64 outputs each. Of warpgroup 0, one
// thread loads and three warps prepare the short operand:
//   slot:  load | prepare (3 warps) | split, multiply (8 warps) | load ...     a stage of 32 k in FP32
// An element is the sum of two TF32 numbers, hi and lo, but for its last bits: hi hi + (lo hi + hi lo). Of
// the long operand a computing warp makes both in registers, 16 k at a time: hi is rounded, lo is the exact
// rest. Of the short operand Tensor Cores make hi themselves, since they ignore the low 13 bits of what they
// find in shared memory; the preparing warps write lo beside it (tf32_prepare.cuh), and, if the operand
// lies across k, hi too, for wgmma takes TF32 along k only. hi hi of every 64 k goes into a fresh accumulator
// and is then added to the sum in FP32 registers (promotion), because Tensor Cores truncate; the mixed
// products are so small that they need no such care.
//
// Who prepares and who splits also finds out about the lines what the certificate needs (docs/accuracy.md):
// the least element that is not zero, and whether there are more than four of them. What is not certified is
// computed again by the warp that has it, at once and alone.
//
// Blocks walk over tiles; or, where there are few tiles, the blocks of a cluster share one, and so do parts,
// through the workspace. Sums are added in the order of k.

template <tf32_policy P, template <class Channel, int Warps> class RingOf = plain_ring> struct tf32_product
    : tf32_outputs {
  static_assert(valid(P));
  using preparation = tf32_preparation<P>;
  static constexpr bool by_tma = preparation::by_tma;
  static constexpr int threads = 3 * warpgroup_size, computing_threads = 2 * warpgroup_size,
                       stages = P.stages();
  static constexpr int preparing_warps = preparation::warps;
  // Whoever prepares an operand across k reads it element by element, which takes more registers.
  static constexpr bool by_elements = by_tma && preparation::turns;
  static constexpr int preparing_registers = by_elements ? 88 : 72,
                       computing_registers = by_elements ? 208 : 216;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr residency blocks = residency::in_order;
  static constexpr bool overlaps_previous = true;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  using slot = tf32_slot<P>;
  using ring_of_tma =
      channel<mbarrier, stages, antiphase::threads(1), warps(preparing_warps), warps(computing_warps)>;
  using ring_of_threads = channel<mbarrier, stages, warps(preparing_warps), warps(computing_warps)>;
  static constexpr int arrived = 0, prepared = by_tma ? 1 : 0;  // events; then free
  // Tiles whose lines are noted: the one that is stored, and those in the ring, of at least two slots each.
  static constexpr int tiles_in_sight = stages / 2 + 1;
  struct storage {
    union {
      slot slots[stages];
      float parts[registers][computing_threads];  // for other blocks, when there is nothing more to load
    };
    RingOf<std::conditional_t<by_tma, ring_of_tma, ring_of_threads>, threads / warp_size> ring;
    tf32_lines lines[tiles_in_sight];
    // as much as there is room for
    rows_to_store<tf32_stage_k, false, by_tma ? 16 : 8> rows[computing_warps];
  };
  using slot_cursor = cursor<stages>;
  using tile_cursor = cursor<tiles_in_sight>;

 private:
  static constexpr int computing_barrier = 1, turn_barrier = 3;  // named

  AP_DEV static work work_at(const params& p, std::uint32_t tile, std::int64_t share) {
    const std::uint32_t row = tile / p.of.tiles_along_short.by(), column = tile % p.of.tiles_along_short.by();
    const std::int64_t k = share * p.of.k_of_part, end = k + p.of.k_of_part;
    return {row / p.of.tiles_along_long.by(), std::int64_t{row % p.of.tiles_along_long.by()} * tf32_tile.m,
            std::int64_t{column} * tf32_tile.n, k < p.of.k ? k : p.of.k, end < p.of.k ? end : p.of.k};
  }
  AP_DEV static int blocks_of_tile(const params& p) { return cluster_extent() * p.of.parts; }
  // The block's tiles, or the one that it shares, and its share of k.
  struct walk {
    std::uint32_t first, apart;
    int part;
    std::int64_t share;
    AP_DEV explicit walk(const params& p)
        : first(block_index().x), apart(grid_extent().x), part(0), share(0) {
      if (blocks_of_tile(p) == 1) return;
      const auto cluster = static_cast<unsigned>(cluster_extent());
      part = static_cast<int>(first / cluster / p.of.tiles);
      first = first / cluster % p.of.tiles;
      apart = p.of.tiles;
      share = std::int64_t{part} * cluster + cluster_rank();
    }
    AP_DEV work at(const params& p, std::uint32_t tile) const { return work_at(p, tile, share); }
    // Calls use(tile, work) for each of them.
    AP_DEV void each(const params& p, auto use) const {
      AP_ROLLED
      for (std::uint32_t tile = first; tile < p.of.tiles; tile += apart) use(tile, at(p, tile));
    }
  };

  // load, by the engine
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void load(const params& p, storage& s) requires by_tma {
    slot_cursor at;
    walk(p).each(p, [&](std::uint32_t, const work& w) {
      const int top = static_cast<int>(w.top), left = static_cast<int>(w.left), first = static_cast<int>(w.k),
                steps = w.steps();
      // else all members have the same
      const int of_long = p.of.of_long.batch_stride > 0 ? static_cast<int>(w.batch) : 0;
      const int of_short = p.of.of_short.batch_stride > 0 ? static_cast<int>(w.batch) : 0;
      for (int step = 0; step < steps; ++step, ++at) {
        slot& to = s.slots[at.index];
        mbarrier& landed = s.ring.barrier[arrived][at.index];
        s.ring.acquire(at);
        load_tf32_panel<tf32_tile.m, P.long_along_k>(to.a, p.of.long_map, landed, top,
                                                     first + step * tf32_stage_k, of_long);
        load_tf32_panel<tf32_tile.n, P.short_along_k>(to.b, p.of.short_map, landed, left,
                                                      first + step * tf32_stage_k, of_short);
        s.ring.commit(at, arrived, bytes{static_cast<int>(sizeof to.a + sizeof to.b)});
      }
    });
  }

  // prepare
  // ---------------------------------------------------------------------------------------------------------
  // Two warps take the first pieces of each line, the third one the other pieces of all lines.
  AP_DEV static void prepare_all(const params& p, storage& s) requires by_tma {
    constexpr int first_pieces = 5, last_pieces = tf32_stage_k / 4 - first_pieces;
    static_assert(preparing_warps * warp_size == tf32_tile.n + warp_size && tf32_tile.n == 2 * warp_size);
    const bool last = thread_index() >= tf32_tile.n;
    const int line = thread_index() % tf32_tile.n, other = line + warp_size;
    slot_cursor at;
    tile_cursor tile;
    walk(p).each(p, [&](std::uint32_t, const work& w) {
      line_watch watch(w.left + line < p.of.of_short.lines),
          watch_of_other(w.left + other < p.of.of_short.lines);
      tf32_lines& lines = s.lines[tile.index];
      const int steps = w.steps();
      for (int step = 0; step < steps; ++step, ++at) {
        slot& here = s.slots[at.index];
        s.ring.wait(at, arrived);
        if (last) {
          preparation::template prepare<last_pieces>(here, {line, first_pieces}, watch);
          preparation::template prepare<last_pieces>(here, {other, first_pieces}, watch_of_other);
        } else {
          preparation::template prepare<first_pieces>(here, {line, 0}, watch);
        }
        fence_async();
        if (step + 1 == steps) {
          if (last) {
            note(lines, tf32_tile.m + line, watch);
            note(lines, tf32_tile.m + other, watch_of_other);
          }
          preparation::meet();
          if (!last) add_to_note(lines, tf32_tile.m + line, watch);
        }
        s.ring.commit(at, prepared, by_warp{});
      }
      ++tile;
    });
  }
  // All of warpgroup 0 copies, and prepares `ahead` stages later. Slots are given back up to two stages late.
  AP_DEV static void copy_and_prepare(const params& p, storage& s) requires(!by_tma) {
    constexpr int ahead = stages - 3;
    struct panels {
      panel_copy<tf32_tile.m, preparation::threads> of_long;
      panel_copy<tf32_tile.n, preparation::threads> of_short;
    };
    const walk mine(p);
    constexpr int pieces = tf32_stage_k / 8;  // of each of the two threads that a line has
    const bool second_half = thread_index() >= tf32_tile.n;
    const typename preparation::share_of_line my_share{thread_index() % tf32_tile.n,
                                                       second_half ? pieces : 0};
    slot_cursor loads, at;
    tile_cursor tile;
    std::uint32_t next = mine.first;  // tile to copy from
    work there = mine.at(p, next < p.of.tiles ? next : 0);
    std::int64_t k = there.k;
    const auto panels_of = [&](const work& w) {
      return panels{{p.of.of_long, first_of(p.of.of_long, w), w.top},
                    {p.of.of_short, first_of(p.of.of_short, w), w.left}};
    };
    panels from = panels_of(there);
    const auto copy = [&] {
      if (next < p.of.tiles && k < there.k + there.steps() * tf32_stage_k) {
        slot& to = s.slots[loads.index];
        s.ring.acquire(loads++);
        from.of_long.copy(to.a, k, there.k_end);
        from.of_short.copy(to.b, k, there.k_end);
        k += tf32_stage_k;
        if (k == there.k + there.steps() * tf32_stage_k && (next += mine.apart) < p.of.tiles) {
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
      line_watch watch(w.left + my_share.line < p.of.of_short.lines);
      const typename preparation::reader of_short(p.of.of_short, first_of(p.of.of_short, w), my_share);
      tf32_lines& lines = s.lines[tile.index];
      const int line = tf32_tile.m + my_share.line, steps = w.steps();
      for (int step = 0; step < steps; ++step, ++at) {
        copy_async_wait<ahead - 1>();
        preparation::meet();
        preparation::template prepare<pieces>(s.slots[at.index], my_share, watch, of_short);
        fence_async();
        if (step + 1 == steps) {
          if (second_half) note(lines, line, watch);
          preparation::meet();
          if (!second_half) add_to_note(lines, line, watch);
        }
        s.ring.commit(at, prepared, by_warp{});
        copy();  // behind that, since its slot may not be free yet
      }
      ++tile;
    });
    copy_async_wait<0>();
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static auto reader_of(const params& p, const work& w, const seat& t) {
    if constexpr (by_tma)
      return tf32_reader<P.long_along_k>(t.top);
    else
      return shifted_reader(t.top, p.of.of_long, first_of(p.of.of_long, w));
  }
  // Of a chunk. Rare, so it reads the elements once more, and takes as few instructions as it can: there are
  // few of them near the others.
  AP_DEV static void count(row_pair& rows, const slot& first, const slot& second, const auto& mine) {
    AP_ROLLED
    for (int n = 0; n < 4 && rows.counts; ++n) {
      tf32_values x;
      mine.read(x, n < 2 ? first.a : second.a, n % 2 * (tf32_stage_k / 2));
      rows.count(x);
    }
  }
  // A chunk is four fragments. Each is split while the one before is multiplied; the first of the next chunk,
  // before the main product of this one is promoted.
  AP_DEV static void compute(storage& s, slot_cursor& at, int chunks, const auto& mine, row_pair& rows,
                             sums& sum) {
    if (chunks == 0) return;
    tf32_fragment part[4];  // of 16 k each
    sums main, mixed = {};
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
    s.ring.wait(at, prepared);
    mine.read(x, s.slots[at.index].a, 0);
    split(part[0]);
    for (int left = chunks; left > 0;) {
      at.index = uniform(at.index);  // so that places are worked out once for the warp, not by each lane
      const slot_cursor one = at++, two = at++;
      const slot &first = s.slots[one.index], &second = s.slots[two.index];
      mine.read(x, first.a, 16);
      multiply(part[0], first, 0, true);
      split(part[1]);
      if (left < chunks) {
        wgmma_wait<1>();
        s.ring.release(before, by_warp{});
      }
      s.ring.wait(two, prepared);
      mine.read(x, second.a, 0);
      multiply(part[1], first, 16, false);
      if (rows.counts) count(rows, first, second, mine);
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
        s.ring.wait(at, prepared);
        mine.read(x, s.slots[at.index].a, 0);
        split(part[0]);
      }
      wgmma_wait<1>();  // for the main product
      pin_registers(main);
      AP_UNROLL
      for (int i = 0; i < registers; ++i) sum[i] += main[i];
    }
    wgmma_wait<0>();
    pin_registers(mixed);
    s.ring.release(before, by_warp{});
    AP_UNROLL
    for (int i = 0; i < registers; ++i) sum[i] += mixed[i];
  }

  // store, a tile that blocks of a cluster and parts share
  // -------------------------------------------------------------------------- A block adds up its share of
  // the fragments, from `first` on. A part leaves its sums in the workspace, block by block, and behind them
  // what it knows of the lines. Returns whether this is the last part, which adds them up; then `value` are
  // the sums, and s.lines[1] tells of all of K.
  AP_DEV static bool add_parts(const params& p, storage& s, const seat& t, std::uint32_t tile, int part,
                               int first, int count, sums& value) {
    const int cluster = cluster_extent(), rank = cluster_rank();
    // nobody needs the ring, and all lines are noted
    named_barrier_sync(computing_barrier, computing_threads);
    // by threads that take part in the cluster's barrier
    if (const int n = t.member; n < tf32_lines::count) {
      s.lines[2].least[n] = s.lines[0].least[n];
      s.lines[2].nonzeros[n] = s.lines[0].nonzeros[n];
    }
    AP_UNROLL
    for (int i = 0; i < registers; ++i) s.parts[i][t.member] = value[i];
    if (cluster > 1) {
      warp_sync();
      cluster_barrier();
      warp_sync();
    } else {
      named_barrier_sync(computing_barrier, computing_threads);
    }
    const std::int64_t of_part = std::int64_t{4} * count * computing_threads + 2 * tf32_lines::count,
                       mine = (std::int64_t{tile} * cluster + rank) * p.of.parts;
    float* const partial = reinterpret_cast<float*>(p.of.partial) + mine * of_part;
    float* const sums_there = partial + t.member;
    const bool last = part + 1 == p.of.parts;
    AP_UNROLL
    for (float& x : value) x = 0;
    if (p.of.parts > 1 && last) {
      for (int other = t.member; other < part; other += computing_threads) {
        std::uint64_t* const flag = p.of.arrived + mine + other;
        poll([&] { return load_acquire(flag) == p.of.call; });
        store_relaxed(flag, 0);  // for a replay of the same call
      }
      named_barrier_sync(computing_barrier, computing_threads);
      AP_ROLLED
      for (int other = 0; other < part; ++other) {
        AP_UNROLL
        for (int i = 0; i < registers; ++i)
          if (i / 4 < count) value[i] += sums_there[other * of_part + i * computing_threads];
      }
    }
    sums here = {};
    AP_ROLLED
    for (int block = 0; block < cluster; ++block) {
      const auto& from = cluster > 1 ? *map_shared(&s.parts, block) : s.parts;
      AP_UNROLL
      for (int i = 0; i < registers; ++i)
        if (i / 4 < count) here[i] += from[4 * first + i][t.member];
    }
    for (int n = t.member; n < tf32_lines::count; n += computing_threads) {
      std::uint32_t least = no_least;
      int nonzeros = 0;
      const auto add = [&](std::uint32_t of_least, int of_nonzeros) {
        least = of_least < least ? of_least : least;
        nonzeros += of_nonzeros;
      };
      for (int block = 0; block < cluster; ++block) {
        const tf32_lines& from = cluster > 1 ? *map_shared(&s.lines[2], block) : s.lines[2];
        add(from.least[n], from.nonzeros[n]);
      }
      float* const there = partial + std::int64_t{4} * count * computing_threads + n;
      if (last) {
        for (int other = 0; other < part; ++other)
          add(bit_cast<std::uint32_t>(there[other * of_part]),
              static_cast<int>(there[other * of_part + tf32_lines::count]));
      } else {
        there[part * of_part] = bit_cast<float>(least);
        there[part * of_part + tf32_lines::count] =
            static_cast<float>(nonzeros <= sparse_nonzeros ? nonzeros : sparse_nonzeros + 1);
      }
      s.lines[1].least[n] = least;
      s.lines[1].nonzeros[n] = nonzeros;
    }
    AP_UNROLL
    // nothing to look at
    for (int i = 0; i < registers; ++i) value[i] = i / 4 < count ? value[i] + here[i] : p.floor;
    if (!last) {
      AP_UNROLL
      for (int i = 0; i < registers; ++i)
        if (i / 4 < count) sums_there[part * of_part + i * computing_threads] = value[i];
    }
    named_barrier_sync(computing_barrier, computing_threads);
    if (!last && t.member == 0) store_release(p.of.arrived + mine + part, p.of.call);
    if (cluster > 1) {
      warp_sync();
      cluster_arrive();  // and waits before it ends
    }
    return last;
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.ring.init();
      fence_mbarrier_init();
      if (by_tma) {
        prefetch_map(p.of.long_map);
        prefetch_map(p.of.short_map);
      }
    }
    block_barrier();
    wait_for_previous_grid(p);
    start_next_grid();
    if (warp_index() < warpgroup_size / warp_size) {
      release_registers<preparing_registers>();
      if constexpr (by_tma) {
        if (warp_index() < preparing_warps) {
          prepare_all(p, s);
        } else if (lane_index() == 0) {
          load(p, s);
        }
      } else {
        copy_and_prepare(p, s);
      }
    } else {
      request_registers<computing_registers>();
      const seat t = seat::mine();
      const walk mine(p);
      const bool shares = blocks_of_tile(p) > 1;
      slot_cursor at;
      tile_cursor noted;
      // Of a block with many short tiles one warpgroup begins later, so that it multiplies while the other
      // one stores.
      bool in_turn = !shares && p.of.k <= tf32_chunk && mine.first + mine.apart < p.of.tiles;
      const bool second = t.top >= tf32_tile.m / 2;
      if (in_turn && second) named_barrier_sync(turn_barrier, computing_threads);
      mine.each(p, [&](std::uint32_t tile, const work& w) {
        row_pair rows(p, w, t);
        sums sum = {};
        compute(s, at, w.chunks(), reader_of(p, w, t), rows, sum);
        if (in_turn && !second) named_barrier_arrive(turn_barrier, computing_threads);
        in_turn = false;
        const tf32_lines* lines = &s.lines[noted.index];
        bool ordinary = !shares && rows.ordinary() && !any_special_column(*lines);
        int first = 0, count = fragments;
        if (shares) {
          rows.note(s.lines[noted.index], t);
          if (w.chunks() == 0 && t.member < tf32_tile.n)  // nobody prepares anything
            note(s.lines[noted.index], tf32_tile.m + t.member,
                 line_watch(w.left + t.member < p.of.of_short.lines));
          count = fragments / cluster_extent();
          first = cluster_rank() * count;
          // from this tile, the only one
          if (!add_parts(p, s, t, tile, mine.part, first, count, sum)) return;
          lines = &s.lines[1];
          ordinary = !any_special(*lines, t);
        }
        hide_outside(p, w, t, sum);
        ordinary = all_plain(p, sum) && ordinary;
        if (ordinary && !pairs_fill_sectors(p, w)) {
          store_by_rows(p, s.rows[t.top / 16], w, t, first, count, sum);
        } else {
          if (!shares && !ordinary) rows.note(s.lines[noted.index], t);
          const verdict rest = store(p, *lines, w, t, first, count, ordinary, sum);
          if (!ordinary) store_rest(p, *lines, w, t, rest);
        }
        ++noted;
      });
      if (shares && cluster_extent() > 1) {
        warp_sync();
        cluster_wait();  // nobody ends whose sums are still read
      }
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
