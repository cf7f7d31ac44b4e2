// SPDX-License-Identifier: Apache-2.0
// Products that stream their operands through FP64 Tensor Cores: one launch, nothing to scale, split or
// certify (sm_80; TMA: sm_90).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/cluster.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/mbarrier.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include "src/gemm/fp64/copying_warp.cuh"
#include "src/gemm/fp64/fp64_store.cuh"
#include "src/gemm/fp64/panel.cuh"
#include "src/gemm/fp64/register_feed.cuh"
#include "src/gemm/operands/plain_ring.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
//   load slabs of 32 k | convert, multiply (FP64 Tensor Cores) | add the parts of k | store
// Products of FP32 are exact in FP64 and none overflows, so elements need no scales and results no
// certificate. Where memory is what a product waits for, conversion and FP64 Tensor Cores cost nothing. The
// operand with more lines is the m side of the Tensor Cores, the other one their n side of 8 lines, so that a
// skinny operand wastes little. Sums stay FP64 until they are stored, also those that warps, blocks of a
// cluster and parts through the workspace exchange.
//
// Shared memory holds rows of 32 floats in the swizzle of the copy engine: a line's 32 k, or, of an operand
// whose lines lie side by side, a k's 32 lines. A lane takes k = 2 q, 2 q + 1 of 8 and lines 2 g, 2 g + 1 of
// 16, whichever way they lie, with q = lane % 4 and g = lane / 4: all reads are of 8 bytes and free of bank
// conflicts, and every sum has the same order of k.

template <fp64_policy P, template <class Channel, int Warps> class RingOf = plain_ring> struct ring_product {
  static_assert(valid(P));
  static constexpr bool by_tma = P.by == loader::tma, by_lanes = P.by == loader::lanes, shares = P.shares;
  static constexpr int computing_warps = P.computing_warps(), loading_warps = by_tma ? 1 : P.copying_warps,
                       threads = (computing_warps + loading_warps) * warp_size;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int blocks_wanted = P.blocks;
  static constexpr residency blocks = shares ? residency::in_order : residency::any;
  static constexpr bool overlaps_previous = true;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = tiled_problem;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  enum event { full, empty };
  using sums = fp64_sums<P>;
  using cell = typename sums::cell;
  using out = fp64_store<P>;
  static constexpr int rows = sums::rows, columns = sums::columns;  // of a warp
  static constexpr int warps_of_slab = P.warps.m * P.warps.n, lanes_of_slab = warps_of_slab * warp_size;
  static constexpr int cells = sums::cells * lanes_of_slab, outputs_of_cell = sums::outputs_of_cell;
  struct slab {
    fp64_panel<P.tile.m> a;  // of the long operand
    fp64_panel<P.tile.n> b;
  };
  struct stage {
    slab of[P.slabs];
  };
  struct exchange {
    double sum[P.slabs][sums::cells][outputs_of_cell][lanes_of_slab];
  };
  struct nothing {};
  struct ring_slots {
    stage stages[P.stages];
  };
  // Of the engine one thread tells of bytes; copying lanes arrive when what each of them has copied is there.
  using ring_of_loaders =
      channel<mbarrier, P.stages, antiphase::threads(by_tma ? 1 : loading_warps* warp_size),
              warps(computing_warps)>;
  struct storage {
    union {
      [[no_unique_address]] std::conditional_t<by_lanes, nothing, ring_slots> slots;
      std::conditional_t<shares, exchange, nothing> parts;  // when there is nothing more to load
    };
    [[no_unique_address]] std::conditional_t<by_lanes, nothing, RingOf<ring_of_loaders, threads / warp_size>>
        ring;
    [[no_unique_address]] std::conditional_t<shares || by_lanes, nothing, staged_rows<P>[computing_warps]>
        staged;
  };
  using slot_cursor = cursor<P.stages>;
  template <fp64_policy> friend struct group_product;  // computes such tiles of many products

 private:
  using work = fp64_work;
  AP_DEV static int steps_of(const work& w) {
    return static_cast<int>(ceil_div<std::int64_t>(w.k_end - w.k, slab_k * P.slabs));
  }
  // Remaining k, at most a slab's.
  AP_DEV static int k_left(const work& w, std::int64_t k) {
    const std::int64_t left = w.k_end - k;
    return left > slab_k ? slab_k : static_cast<int>(left > 0 ? left : 0);
  }
  // Of slab n of a step.
  AP_DEV static std::int64_t k_of(const work& w, int step, int n) {
    return w.k + (std::int64_t{step} * P.slabs + n) * slab_k;
  }
  AP_DEV static work work_at(const params& p, std::uint32_t tile, std::int64_t part) {
    const std::uint32_t row = p.tiles_along_short.quotient(tile),
                        column = tile - row * p.tiles_along_short.by();
    const std::uint32_t member = p.tiles_along_long.quotient(row);
    const std::int64_t k = part * p.k_of_part, end = k + p.k_of_part;
    const std::int64_t top = std::int64_t{row - member * p.tiles_along_long.by()} * P.tile.m,
                       left = std::int64_t{column} * P.tile.n;
    return {member,
            top,
            left,
            k < p.k ? k : p.k,
            end < p.k ? end : p.k,
            nullptr,
            nullptr,
            as_many(p.of_long.lines - top),
            as_many(p.of_short.lines - left)};
  }
  // Where a member's operands begin: what is known from its number, and what stands in memory, which earlier
  // work may write.
  AP_DEV static void find_operands(const params& p, work& w, bool known) {
    if ((p.of_long.member == nullptr) == known) w.of_long = p.of_long.of_member(w.member);
    if ((p.of_short.member == nullptr) == known) w.of_short = p.of_short.of_member(w.member);
  }
  AP_DEV static void find_operands(const params& p, work& w) {
    w.of_long = p.of_long.of_member(w.member);
    w.of_short = p.of_short.of_member(w.member);
  }

  // load, by the engine
  // ---------------------------------------------------------------------------------------------------------
  template <int Lines> AP_DEV static void load_panel(fp64_panel<Lines>& to, const tensor_map& map,
                                                     bool along_k, mbarrier& landed, std::int64_t first,
                                                     std::int64_t k, std::int64_t batch) {
    const int line = static_cast<int>(first), at = static_cast<int>(k), member = static_cast<int>(batch);
    if (along_k) {
      tensor_load(to.data, map, landed, at, line, member);
    } else {
      AP_UNROLL
      for (int i = 0; i < to.held; i += slab_k)
        tensor_load(to.data + i * slab_k, map, landed, line + i, at, member);
    }
  }
  AP_DEV static int bytes_of(bool along_k, int lines) {
    return 4 * slab_k * (along_k || lines > slab_k ? lines : slab_k);
  }
  AP_DEV static void load(const params& p, storage& s, slot_cursor& at, const work& w) requires by_tma {
    if (lane_index() != 0) return;
    const int bytes_of_slab = bytes_of(p.of_long.along_k, P.tile.m) + bytes_of(p.of_short.along_k, P.tile.n);
    const int steps = steps_of(w);
    const std::int64_t of_long = p.of_long.batch_stride > 0 ? w.member : 0,
                       of_short = p.of_short.batch_stride > 0 ? w.member : 0;
    for (int step = 0; step < steps; ++step, ++at) {
      mbarrier& landed = s.ring.barrier[full][at.index];
      s.ring.acquire(at);
      int slabs = 0;
      AP_UNROLL
      for (int n = 0; n < P.slabs; ++n) {
        const std::int64_t k = k_of(w, step, n);
        if (k >= w.k_end) continue;
        slab& to = s.slots.stages[at.index].of[n];
        load_panel(to.a, p.long_map, p.of_long.along_k, landed, w.top, k, of_long);
        load_panel(to.b, p.short_map, p.of_short.along_k, landed, w.left, k, of_short);
        ++slabs;
      }
      s.ring.commit(at, full, bytes{slabs * bytes_of_slab});
    }
  }

  // load, by copying warps
  // ------------------------------------------------------------------------------------------------------
  // Warps take slabs of their own, both operands or, in pairs, one each; of more warps than that, each takes
  // rows of its own. Where tiles are long, one operand each would leave half of the warps with little to do.
  AP_DEV static void load(const params& p, storage& s, slot_cursor& at,
                          const work& w) requires(P.by == loader::cp_async) {
    constexpr bool takes_both = loading_warps <= P.slabs || P.tile.m >= 4 * P.tile.n;
    constexpr int takers = loading_warps / (takes_both ? 1 : 2),
                  at_once = takers < P.slabs ? takers : P.slabs;
    static_assert(P.slabs % at_once == 0 && takers % at_once == 0 && (takes_both || loading_warps % 2 == 0));
    using copier = panel_copier<(P.tile.n < slab_k ? P.tile.n : slab_k)>;
    const int warp = warp_index() - computing_warps, taker = takes_both ? warp : warp / 2;
    const copying_share share{taker / at_once, takers / at_once};
    const auto long_copier = [&] {
      return copier(p.of_long, w.of_long, w.top, w.long_left, P.tile.m, p.k, share);
    };
    const auto short_copier = [&] {
      return copier(p.of_short, w.of_short, w.left, w.short_left, P.tile.n, p.k, share);
    };
    const auto each_slab = [&](auto copy) {
      const int steps = steps_of(w);
      AP_ROLLED
      for (int step = 0; step < steps; ++step, ++at) {
        s.ring.acquire(at);
        AP_ROLLED
        for (int n = taker % at_once; n < P.slabs; n += at_once) {
          const std::int64_t k = k_of(w, step, n);
          if (k >= w.k_end) break;
          copy(s.slots.stages[at.index].of[n], k, k_left(w, k));
        }
        s.ring.commit(at, full, with_copies{});
      }
    };
    if constexpr (takes_both) {
      const copier of_long = long_copier(), of_short = short_copier();
      each_slab([&](slab& to, std::int64_t k, int left) {
        of_long.copy(to.a.data, k, left);
        of_short.copy(to.b.data, k, left);
      });
    } else {
      const bool takes_long = warp % 2 == 0;
      const copier one = takes_long ? long_copier() : short_copier();
      each_slab(
          [&](slab& to, std::int64_t k, int left) { one.copy(takes_long ? to.a.data : to.b.data, k, left); });
    }
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  // Where a thread stands: its slab, its warp's first lines in the tile, its number among the threads of the
  // slab.
  struct seat {
    int slab, top, left, g, q, lane;
    AP_DEV static seat mine() {
      const int warp = warp_index() % computing_warps, inside = warp % warps_of_slab, lane = lane_index();
      return {warp / warps_of_slab,
              inside % P.warps.m * rows,
              inside / P.warps.m * columns,
              lane / 4,
              lane % 4,
              inside * warp_size + lane};
    }
  };
  using long_fragment = panel_fragment<16, 2>;
  using short_fragment = panel_fragment<columns, sums::two>;

  // Of operands in registers.
  using long_lines = lane_lines<rows, 2, P.held>;
  using short_lines = lane_lines<columns, sums::two, P.held>;
  // Where the lane's first elements lie in the panels of a slab.
  struct starts {
    int of_long, of_short;
    AP_DEV starts(const params& p, const seat& t)
        : of_long(long_fragment::start(p.of_long.along_k, t.top, t.g, t.q)),
          of_short(short_fragment::start(p.of_short.along_k, t.left, t.g, t.q)) {}
  };
  // left: values of k.
  AP_DEV static void multiply(const params& p, const slab& s, const starts& from, int left, sums& sum) {
    AP_UNROLL
    for (int half = 0; half < 2; ++half) {
      if (left <= 16 * half) break;
      short_fragment b;
      b.read(s.b.data, p.of_short.along_k, from.of_short, half);
      AP_UNROLL
      for (int i = 0; i < sums::down; ++i) {
        long_fragment a;
        a.read(s.a.data, p.of_long.along_k, from.of_long, half, 2 * i);
        multiply_half(a.x[0], a.x[1], b.x, sum.value[i]);
      }
    }
  }
  AP_DEV static void compute(const params& p, storage& s, slot_cursor& at, const work& w, const seat& t,
                             sums& sum) requires(!by_lanes) {
    const starts first(p, t);
    const int steps = steps_of(w);
    for (int step = 0; step < steps; ++step, ++at) {
      s.ring.wait(at, full);
      multiply(p, s.slots.stages[at.index].of[t.slab], first, k_left(w, k_of(w, step, t.slab)), sum);
      s.ring.release(at, by_warp{});
    }
  }

  // read and compute, by lanes
  // ---------------------------------------------------------------------------------------------------
  struct lane_operands {
    long_lines a;
    short_lines b;
    AP_DEV void place(const params& p, const work& w, const seat& t, bool known) {
      if ((p.of_long.member == nullptr) == known)
        a.place(p.of_long, w.of_long, w.top, w.long_left, t.top, w.k, t.g);
      if ((p.of_short.member == nullptr) == known)
        b.place(p.of_short, w.of_short, w.left, w.short_left, t.left, w.k, t.g);
    }
    AP_DEV std::uint32_t digest() const {
      std::uint32_t all = 0;
      AP_UNROLL
      for (int l = 0; l < long_lines::count; ++l)
        all ^= static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(a.line[l]));
      AP_UNROLL
      for (int l = 0; l < short_lines::count; ++l)
        all ^= static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(b.line[l]));
      return all ^ static_cast<std::uint32_t>(a.apart ^ b.apart);
    }
    AP_DEV void load(int slot, int at, int k) {
      a.load(slot, at, k);
      b.load(slot, at, k);
    }
  };
  // With the wait for earlier work.
  AP_DEV static void compute_by_lanes(const params& p, work& w, const seat& t, sums& sum) {
    lane_operands o;
    find_operands(p, w, true);
    o.place(p, w, t, true);
    // of all k, the lane's first one
    const int k = as_many(w.k_end - w.k), first = t.slab * slab_k + k_of_lane(0, t.q);
    const int halves = 2 * ceil_div(k, slab_k * P.slabs);
    compute_first(o.digest() ^ static_cast<std::uint32_t>(first ^ halves));
    wait_for_previous_grid(p);
    start_next_grid();
    find_operands(p, w, false);
    o.place(p, w, t, false);
    if (halves == 0) return;
    const auto at = [&](int half) { return first + half / 2 * (slab_k * P.slabs) + half % 2 * (slab_k / 2); };
    AP_UNROLL
    for (int n = 0; n < P.held; ++n) o.load(n, at(n), k);
    AP_ROLLED
    for (int half = 0; half < halves; half += P.held) {
      AP_UNROLL
      for (int n = 0; n < P.held; ++n) {
        AP_UNROLL
        for (int i = 0; i < sums::down; ++i)
          multiply_half(o.a.x[n][2 * i], o.a.x[n][2 * i + 1], o.b.x[n], sum.value[i]);
        if (half + n + P.held < halves) o.load(n, at(half + n + P.held), k);
      }
    }
  }

  // store, a tile that the block has computed alone
  // ---------------------------------------------------------------------------------
  AP_DEV static void store_alone(const params& p, storage& s, const work& w, const seat& t, const sums& sum) {
    const out to(p, w, out::place_of(0, t.lane));
    if constexpr (!by_lanes)
      if (P.finishes || to.packs == packing::none)
        return store_staged(p, s.staged[t.lane / warp_size], w, t, sum);
    to.template store<sums::down, sums::across>([&](int n) { return sum.at(n); });
  }
  // Sixteen of a warp's lines of the long operand at a time.
  AP_DEV static void store_staged(const params& p, staged_rows<P>& staged, const work& w, const seat& t,
                                  const sums& sum) {
    const std::int64_t left = w.left + t.left;
    float* c = out::member_of(p, w) + (w.top + t.top) * p.long_stride + left * p.short_stride;
    AP_UNROLL
    for (int i = 0; i < sums::down; ++i, c += staged_rows<P>::rows * p.long_stride) {
      const int top = t.top + staged_rows<P>::rows * i;
      staged.put(sum, i, t.g, t.q);
      warp_sync();
      staged.store(p, c, w.top + top, left, w.long_left - top, w.short_left - t.left, w.member);
      warp_sync();
    }
  }
  // store, a tile that warps, blocks of a cluster and clusters share
  // ---------------------------------------------------------------
  AP_DEV static void leave_sums(storage& s, const seat& t, const sums& sum) {
    AP_UNROLL
    for (int n = 0; n < sums::cells; ++n) {
      const cell v = sum.at(n);
      AP_UNROLL
      for (int e = 0; e < outputs_of_cell; ++e)
        s.parts.sum[t.slab][n][e][t.lane] = v.value[e / sums::wide][e % sums::wide];
    }
  }
  // The sums of all slabs to the first one's, so that a cluster's blocks read one of each other.
  AP_DEV static void add_slabs(storage& s) {
    if (P.slabs == 1) return;
    block_barrier();
    constexpr int outputs = cells * outputs_of_cell;
    double* const first = &s.parts.sum[0][0][0][0];
    for (int n = thread_index(); n < outputs; n += threads) {
      double sum = 0;
      AP_UNROLL
      for (int slab = 0; slab < P.slabs; ++slab) sum += first[slab * outputs + n];
      first[n] = sum;
    }
  }
  // Values that come from other blocks take long to arrive: so many are asked for before the first one is
  // added. What sums begin with is not a negative zero, so adding zeros behind the end changes none.
  static constexpr int cells_at_once = 32 / outputs_of_cell;
  AP_DEV static cell cell_of(auto value) {
    cell v;
    AP_UNROLL
    for (int e = 0; e < outputs_of_cell; ++e) v.value[e / sums::wide][e % sums::wide] = value(e);
    return v;
  }
  AP_DEV static void add(cell& to, const cell& more) {
    AP_UNROLL
    for (int e = 0; e < outputs_of_cell; ++e)
      to.value[e / sums::wide][e % sums::wide] += more.value[e / sums::wide][e % sums::wide];
  }
  AP_DEV static void add_in_order(int count, cell& to, auto value) {
    const auto add_some = [&](auto ask) {
      cell next[cells_at_once] = {};
      AP_UNROLL
      for (int n = 0; n < cells_at_once; ++n) ask(n, next[n]);
      AP_UNROLL
      for (int n = 0; n < cells_at_once; ++n) add(to, next[n]);
    };
    int first = 0;
    AP_ROLLED
    for (; first + cells_at_once <= count; first += cells_at_once)
      add_some([&](int n, cell& next) { next = value(first + n); });
    if (first < count)
      add_some([&](int n, cell& next) {
        if (first + n < count) next = value(first + n);
      });
  }
  AP_DEV static void store_shared(const params& p, storage& s, const work& w, std::uint32_t tile, int part) {
    const int cluster = cluster_extent(), rank = cluster_rank(), thread = thread_index();
    const int share = (cells + cluster - 1) / cluster, first = rank * share,
              end = first + share < cells ? first + share : cells;
    const std::int64_t doubles = std::int64_t{share} * outputs_of_cell,  // of a part
        mine = (std::int64_t{tile} * cluster + rank) * p.parts;
    double* const partial = p.partial + mine * doubles;
    const bool last = part + 1 == p.parts;
    if (p.parts > 1 && last) {
      for (int other = thread; other < part; other += threads) {
        std::uint64_t* const flag = p.arrived + mine + other;
        poll([&] { return load_acquire(flag) == p.call; });
        store_relaxed(flag, 0);  // for a replay of the same call
      }
      block_barrier();
    }
    for (int c = first + thread; c < end; c += threads) {
      const int n = c / lanes_of_slab, lane = c % lanes_of_slab;
      cell v = {}, here = {};
      double* const there = partial + c - first;
      if (last)
        add_in_order(part, v, [&](int other) {
          return cell_of([&](int e) { return there[other * doubles + e * share]; });
        });
      const auto sums_at = [&](const auto& from) { return cell_of([&](int e) { return from[e][lane]; }); };
      if (cluster > 1) {
        add_in_order(cluster, here,
                     [&](int block) { return sums_at(*map_shared(&s.parts.sum[0][n], block)); });
      } else {
        AP_UNROLL
        for (int slab = 0; slab < P.slabs; ++slab) add(here, sums_at(s.parts.sum[slab][n]));
      }
      add(v, here);
      if (last) {
        const cell_place at = out::place_of(n, lane);
        out(p, w, at).template store<1, 1>([&](int) { return v; });
      } else {
        AP_UNROLL
        for (int e = 0; e < outputs_of_cell; ++e)
          there[part * doubles + e * share] = v.value[e / sums::wide][e % sums::wide];
      }
    }
    if (!last) {
      block_barrier();
      if (thread == 0) store_release(p.arrived + mine + part, p.call);
    }
    if (cluster > 1) cluster_barrier();  // nobody ends whose sums are still read
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  // What needs no memory of earlier work comes before the wait for it.
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const bool computes = warp_index() < computing_warps;
    if constexpr (!by_lanes) {
      if (thread_index() == 0) {
        s.ring.init();
        if (by_tma) {
          fence_mbarrier_init();
          prefetch_map(p.long_map);
          prefetch_map(p.short_map);
        }
      }
    }
    if constexpr (!by_lanes) block_barrier();
    if constexpr (shares)
      multiply_shared(p, s, computes);
    else
      multiply_alone(p, s, computes);
  }

 private:
  AP_DEV static void multiply_shared(const params& p, storage& s, bool computes) {
    const int cluster = cluster_extent();
    const std::uint32_t index = block_index().x / static_cast<unsigned>(cluster), tile = index % p.tiles;
    const int part = static_cast<int>(index / p.tiles);
    work w = work_at(p, tile, std::int64_t{part} * cluster + cluster_rank());
    const seat t = seat::mine();
    sums sum = {};
    if constexpr (by_lanes) {
      compute_by_lanes(p, w, t, sum);
    } else {
      wait_for_previous_grid(p);
      start_next_grid();
      find_operands(p, w);
      slot_cursor at;
      if (computes)
        compute(p, s, at, w, t, sum);
      else
        load(p, s, at, w);
      block_barrier();  // nobody needs the ring
    }
    if (computes) leave_sums(s, t, sum);
    if (cluster > 1) {
      add_slabs(s);
      cluster_barrier();
    } else {
      block_barrier();
    }
    store_shared(p, s, w, tile, part);
  }
  AP_DEV static void multiply_alone(const params& p, storage& s, bool) requires by_lanes {
    work w = work_at(p, block_index().x, 0);
    const seat t = seat::mine();
    sums sum = {};
    compute_by_lanes(p, w, t, sum);
    store_alone(p, s, w, t, sum);
  }
  AP_DEV static void multiply_alone(const params& p, storage& s, bool computes) requires(!by_lanes) {
    std::uint32_t tile = block_index().x;
    work w = work_at(p, tile, 0);
    const seat t = seat::mine();
    wait_for_previous_grid(p);
    start_next_grid();
    slot_cursor at;
    while (tile < p.tiles) {
      if (!by_tma) find_operands(p, w);
      if (computes) {
        sums sum = {};
        compute(p, s, at, w, t, sum);
        store_alone(p, s, w, t, sum);
      } else {
        load(p, s, at, w);
      }
      tile += grid_extent().x;
      w = work_at(p, tile, 0);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
