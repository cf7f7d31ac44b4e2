// SPDX-License-Identifier: Apache-2.0
// FP32-accurate gradients of attention on Tensor Cores: seven products, each of three products of FP16 parts
// (TMA and wgmma, sm_90a).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/registers.cuh>

#include "library/attention/fp16/gradients/gradient_loads.cuh"
#include "library/attention/fp16/gradients/gradient_split.cuh"
#include "library/attention/fp16/gradients/gradient_tile.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// Two kernels of one form, as the forward's: persistent, a producer thread, two computing warpgroups. An item
// is a tile of rows of one side (keys or queries) of a head; the tiles of the other side pass through the
// ring, two operands of each alternately:
//   own:   slots with an item and its two own operands         load | use until the last dP | load ...
//   ring:  slots of 64 rows of one of the other two operands   load | multiply | load ...
// For each tile, with the item's rows as rows and the tile's as columns:
//   x = own[0] other[0]^T, scores      p = 2^x, except for the row's factor
//   y = own[1] other[1]^T, dP          ds = p (y - D)
//   keys:  dV += p other[1]            both:  dK or dQ += ds other[0]
// A query's factor 1 / sum lies in dO and D, see gradient_split: dO is an operand of both dP and dV, so p
// needs none. Every product is a fresh sum of a tile, mixed products first, that is then added to FP32
// registers. p and ds pass from registers to products; ds has a scale for each row of a tile.
//
// `shared`, where the sums of dK and dV are too many for a warpgroup's registers: the first warpgroup
// computes x, p and dV, the second dP, ds and dK, and p passes from one to the other in shared memory:
//   weights:  two slots of p      write | read | write ...

template <gradient_policy P, class Waits = gradient_waits<P>> struct gradient_kernel {
  using loads = gradient_loads<P, Waits>;
  using math = gradient_tile<P, loads>;
  static constexpr bool of_keys = loads::of_keys;
  static constexpr int N = loads::N, chunks = loads::chunks, Own = loads::Own;
  static constexpr int threads = 3 * warpgroup_size;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  static_assert(P.depth == 64 || P.depth == 128);
  static_assert(of_keys || !P.shared, "dQ fits one warpgroup");
  using params = gradient_params;
  using storage = typename loads::storage;

 private:
  using item = typename loads::item;
  using range = typename loads::range;
  using slot_cursor = typename loads::slot_cursor;
  using own_cursor = typename loads::own_cursor;
  using scores = typename math::scores;
  using outputs = typename math::outputs;
  using own_tile = typename loads::own_tile;
  using own_chunk = typename math::own_chunk;
  using rows = typename math::rows;
  using tile_pairs = typename math::tile_pairs;
  template <int Operand> using own_parts = typename math::template own_parts<Operand>;

  // jobs
  // ---------------------------------------------------------------------------------------------------------
  // What the tiles of an item have in common, as a warpgroup sees them.
  struct job {
    item w;
    rows r;
    int first_row;       // in the item's tile
    range tiles, block;  // its own, and those in the ring
    range heads;
    int own_exponent;  // of what turns a product into a score, except for the other operand's scale
    float own_scale;   // of the second operand
  };
  AP_DEV static job job_of(const params& p, const item& now, int group) {
    job b;
    b.w = {uniform(now.member), uniform(now.head), uniform(now.tile)};
    if (b.w.member < 0) return b;
    const member m = member_of(p.problem, b.w.member);
    b.first_row = P.shared ? 0 : 64 * group;
    const int first = b.w.tile * Own, mine = first + b.first_row;
    b.r.sees = reach_of(p.problem, m);
    b.r.first = mine + scores::row();
    b.block = loads::range_of(b.r.sees, m, first, Own);
    b.tiles = loads::range_of(b.r.sees, m, mine, 64);
    if (b.tiles.count() == 0) b.tiles = {b.block.begin, b.block.begin};
    b.heads = loads::heads_of(p, b.w);
    // Rows after the last have no tile of their own: any scale will do.
    const bool there = mine < (of_keys ? m.keys : m.queries);
    const std::int64_t tile =
        there ? b.w.head * loads::own_shape(p).tiles + loads::own_shape(p).first_tile(b.w.member) + mine / N
              : 0;
    b.own_exponent = exponent_of((of_keys ? p.k_scale : p.q_scale)[tile]) + p.to_score.exponent;
    b.own_scale = (of_keys ? p.v_scale : p.g_scale)[tile];
    if constexpr (!of_keys) {
      AP_UNROLL
      for (int h = 0; h < 2; ++h) {
        const float* const at = p.numbers + tile * 2 * N + (b.r.first + 8 * h) % N;
        b.r.top[h] = at[0], b.r.d[h] = at[N];
      }
    }
    return b;
  }
  // The scales of the other operands in tile 0 of a head.
  AP_DEV static const float* other_scales(const params& p, int operand, const job& b, int head) {
    const float* const all = operand == 0 ? (of_keys ? p.q_scale : p.k_scale)
                             : of_keys    ? p.g_scale
                                          : p.v_scale;
    return all + head * loads::other_shape(p).tiles + loads::other_shape(p).first_tile(b.w.member);
  }
  AP_DEV static void load_pairs(tile_pairs& pairs, const params& p, const job& b, int head, int tile) {
    if constexpr (P.biased)
      pairs.load(p.problem, member_of(p.problem, b.w.member), of_keys ? head : b.w.head, b.r.first,
                 tile * N + scores::column());
  }
  // Slots that the warpgroup has no use for.
  AP_DEV static void skip(storage& s, slot_cursor& at, int tiles) {
    for (int i = 0; i < 2 * tiles; ++i, ++at) {
      s.ring.wait(at, full);
      s.ring.release(at, by_warp{});
    }
  }
  AP_DEV static const float (&numbers_in(const storage& s, slot_cursor at))[N] {
    return s.numbers[of_keys ? at.index : 0];
  }
  // Calls take(head of the other side, tile, is last) for each tile of the job.
  template <class Take>
  AP_DEV static void for_each_tile(storage& s, slot_cursor& at, const job& b, Take take) {
    for (int h = b.heads.begin; h < b.heads.end; ++h) {
      skip(s, at, b.tiles.begin - b.block.begin);
      for (int j = b.tiles.begin; j < b.tiles.end; ++j)
        take(h, j, h == b.heads.end - 1 && j == b.tiles.end - 1);
      skip(s, at, b.block.end - b.tiles.end);
    }
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void compute(const params& p, storage& s, int group) {
    own_cursor own;
    slot_cursor at;
    for (;; ++own) {
      s.owned.wait(own, full);
      const job b = job_of(p, s.now[own.index], group);
      if (b.w.member < 0) return;
      own_parts<0> held0;
      own_parts<1> held1;
      const own_tile& mine = s.own[own.index];
      math::fetch(held0, mine.operand[0], b.first_row);
      math::fetch(held1, mine.operand[1], b.first_row);
      if (b.tiles.count() == 0) s.owned.release(own, read_by_warp{});
      outputs sum0 = {}, sum1 = {};  // sum1 of keys only
      scores x, y;
      tile_pairs pairs;
      halves<N> parts;
      outputs part0, part1;
      for_each_tile(s, at, b, [&](int head, int j, bool last) {
        const float scale0 = other_scales(p, 0, b, head)[j], scale1 = other_scales(p, 1, b, head)[j];
        const slot_cursor first = at++, second = at++;
        load_pairs(pairs, p, b, head, j);
        s.ring.wait(first, full);
        wgmma_fence();
        math::multiply_rows(x, s, mine.operand[0], held0, first, b.first_row);
        wgmma_commit();
        Waits::second(s.ring, second);
        math::multiply_rows(y, s, mine.operand[1], held1, second, b.first_row);
        wgmma_commit();
        wgmma_wait<1>();
        x.pin();
        math::weigh(p, x, b.r, numbers_in(s, first), b.w.member, of_keys ? head : b.w.head, j * N,
                    power_of_two(b.own_exponent + exponent_of(scale0), p.to_score.mantissa), pairs);
        if constexpr (of_keys) {
          split<near_lo>(parts, x);
          wgmma_fence();
          math::multiply_columns(part1, parts, s, second);
          wgmma_commit();
          wgmma_wait<1>();
        } else {
          wgmma_wait<0>();
        }
        y.pin();
        if (last) s.owned.release(own, by_warp{});
        float back[2];
        math::differentiate(y, x, b.r, numbers_in(s, second), b.own_scale * scale1, back);
        if constexpr (P.biased && !of_keys) math::store_slopes(p, y, b.r, b.w, j, back);
        if constexpr (of_keys) {
          wgmma_wait<0>();
          part1.pin();
          s.ring.release(second, read_by_warp{});
        } else {
          s.ring.release(second, read_by_warp{});
        }
        split<near_lo>(parts, y);
        wgmma_fence();
        math::multiply_columns(part0, parts, s, first);
        wgmma_commit();
        if constexpr (of_keys) sum1.add_rows(part1, scale1 * math::down, scale1 * math::down);
        Waits::last_part();
        part0.pin();
        s.ring.release(first, read_by_warp{});
        sum0.add_rows(part0, back[0] * scale0 * math::down, back[1] * scale0 * math::down);
      });
      if constexpr (of_keys) {
        math::store(p, sum0, b.r, p.results.k, b.w, p.factor);
        math::store(p, sum1, b.r, p.results.v, b.w, 1);
      } else {
        math::store(p, sum0, b.r, p.results.q, b.w, p.factor);
      }
    }
  }

  // `shared`: the first warpgroup's scores, weights and dV.
  AP_DEV static void compute_values(const params& p, storage& s) {
    own_cursor own;
    cursor<2> to;
    slot_cursor at;
    for (;; ++own) {
      s.owned.wait(own, full);
      const job b = job_of(p, s.now[own.index], 0);
      if (b.w.member < 0) return;
      own_parts<0> held;
      const own_chunk(&mine)[chunks] = s.own[own.index].operand[0];
      math::fetch(held, mine, 0);
      if (b.tiles.count() == 0) s.owned.release(own, read_by_warp{});
      outputs sum = {}, part;
      scores x;
      tile_pairs pairs;
      halves<N> parts;
      for_each_tile(s, at, b, [&](int head, int j, bool last) {
        const float scale0 = other_scales(p, 0, b, head)[j], scale1 = other_scales(p, 1, b, head)[j];
        const slot_cursor first = at++, second = at++;
        load_pairs(pairs, p, b, head, j);
        s.ring.wait(first, full);
        wgmma_fence();
        math::multiply_rows(x, s, mine, held, first, 0);
        wgmma_commit();
        wgmma_wait<0>();
        x.pin();
        if (last) s.owned.release(own, by_warp{});
        math::weigh(p, x, b.r, s.numbers[first.index], b.w.member, head, j * N,
                    power_of_two(b.own_exponent + exponent_of(scale0), p.to_score.mantissa), pairs);
        s.ring.release(first, read_by_warp{});
        s.weights.ring.acquire(to);
        AP_UNROLL
        for (int i = 0; i < N / 8; ++i)
          store_pack<4>(
              s.weights.p[to.index][i][thread_index() % warpgroup_size],
              pack<float, 4>{{x.value[4 * i], x.value[4 * i + 1], x.value[4 * i + 2], x.value[4 * i + 3]}});
        s.weights.ring.commit(to++, full, by_warp{});
        split<near_lo>(parts, x);
        Waits::second(s.ring, second);
        wgmma_fence();
        math::multiply_columns(part, parts, s, second);
        wgmma_commit();
        Waits::last_part();
        part.pin();
        s.ring.release(second, read_by_warp{});
        sum.add_rows(part, scale1 * math::down, scale1 * math::down);
      });
      math::store(p, sum, b.r, p.results.v, b.w, 1);
    }
  }
  // `shared`: the second warpgroup's dP, dS and dK.
  AP_DEV static void compute_keys(const params& p, storage& s) {
    own_cursor own;
    cursor<2> from;
    slot_cursor at;
    for (;; ++own) {
      s.owned.wait(own, full);
      const job b = job_of(p, s.now[own.index], 0);
      if (b.w.member < 0) return;
      own_parts<1> held;
      const own_chunk(&mine)[chunks] = s.own[own.index].operand[1];
      math::fetch(held, mine, 0);
      if (b.tiles.count() == 0) s.owned.release(own, read_by_warp{});
      outputs sum = {}, part;
      scores x, y;
      halves<N> parts;
      for_each_tile(s, at, b, [&](int head, int j, bool last) {
        const float scale0 = other_scales(p, 0, b, head)[j], scale1 = other_scales(p, 1, b, head)[j];
        const slot_cursor first = at++, second = at++;
        s.ring.wait(second, full);
        wgmma_fence();
        math::multiply_rows(y, s, mine, held, second, 0);
        wgmma_commit();
        wgmma_wait<0>();
        y.pin();
        if (last) s.owned.release(own, by_warp{});
        Waits::read(s.weights.ring, from);
        AP_UNROLL
        for (int i = 0; i < N / 8; ++i) {
          const pack<float, 4> p4 = load_pack<4>(s.weights.p[from.index][i][thread_index() % warpgroup_size]);
          AP_UNROLL
          for (int e = 0; e < 4; ++e) x.value[4 * i + e] = p4.element[e];
        }
        s.weights.ring.release(from++, by_warp{});
        float back[2];
        math::differentiate(y, x, b.r, s.numbers[second.index], b.own_scale * scale1, back);
        s.ring.release(second, read_by_warp{});
        split<near_lo>(parts, y);
        s.ring.wait(first, full);
        wgmma_fence();
        math::multiply_columns(part, parts, s, first);
        wgmma_commit();
        Waits::last_part();
        part.pin();
        s.ring.release(first, read_by_warp{});
        sum.add_rows(part, back[0] * scale0 * math::down, back[1] * scale0 * math::down);
      });
      math::store(p, sum, b.r, p.results.k, b.w, p.factor);
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.owned.init();
      s.ring.init();
      if constexpr (P.shared) s.weights.ring.init();
      fence_mbarrier_init();
    }
    block_barrier();
    wait_for_previous_grid();
    start_next_grid();
    const int warpgroup = warp_index() / 4;
    if (warpgroup == 0) {
      release_registers<504 - 2 * P.registers>();
      if (thread_index() == 0) loads::load(p, s);
      return;
    }
    request_registers<P.registers>();
    if constexpr (!P.shared) {
      compute(p, s, warpgroup - 1);
    } else if (warpgroup == 1) {
      compute_values(p, s);
    } else {
      compute_keys(p, s);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
