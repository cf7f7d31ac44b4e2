// SPDX-License-Identifier: Apache-2.0
// FP32-accurate gradients of attention on Tensor Cores: seven products, each of three products of FP16 parts
// (TMA and wgmma, sm_90a).
#pragma once
#include <antiphase/device/bulk.cuh>

#include "src/attention/fp16/backward.hpp"
#include "src/attention/fp16/forward.cuh"
#include "src/attention/fp16/gradient_split.cuh"

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

// How the parts of a block wait for each other. A parameter, so that tests can take one wait away.
template <gradient_policy P> struct gradient_waits {
  using ring = channel<mbarrier, P.slots, threads(1), warps(8)>;
  using weights = channel<mbarrier, 2, warps(4), warps(4)>;
  AP_DEV static void second(ring& r, cursor<P.slots> at) { r.wait(at, full); }
  AP_DEV static void read(weights& w, cursor<2> at) { w.wait(at, full); }
  AP_DEV static void last_part() { wgmma_wait<0>(); }
};

template <gradient_policy P, class Waits = gradient_waits<P>> struct gradient_kernel {
  static constexpr bool of_keys = P.side == side::keys;
  static constexpr int D = P.depth, N = split_rows, chunks = D / 64, Own = P.own_rows();
  static constexpr int threads = 3 * warpgroup_size;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  static_assert(D == 64 || D == 128);
  static_assert(of_keys || !P.shared, "dQ fits one warpgroup");

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = gradient_params;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  // An item: the tile of keys of a member and head of K, or of queries of a member and head of Q.
  struct item {
    std::int32_t member, head, tile;  // member < 0: there are no more
  };
  template <int Rows> struct chunk { alignas(1024) f16 part[2][Rows][64]; };
  struct slot {
    chunk<N> columns[chunks];
  };
  struct no_weights {};
  struct weights_ring {
    alignas(16) float p[2][N / 8][warpgroup_size][4];
    typename Waits::weights ring;
  };
  struct own_tile {
    chunk<Own> operand[2][chunks];
  };
  struct storage {
    own_tile own[P.items];
    slot slots[P.slots];
    alignas(16) float numbers[of_keys ? P.slots : 1][N];  // with Q their tops, with dO their D
    std::conditional_t<P.shared, weights_ring, no_weights> weights;
    typename Waits::ring ring;
    channel<mbarrier, P.items, antiphase::threads(1), warps(8)> owned;
    item now[P.items];
  };
  using slot_cursor = cursor<P.slots>;
  using own_cursor = cursor<P.items>;
  using scores = accumulator<N>;
  using outputs = accumulator<D>;

 private:
  AP_DEV static item item_at(const params& p, std::uint32_t i) {
    // By causality the first keys are seen by most queries, and the last queries see most keys.
    const auto heads = static_cast<std::uint32_t>(of_keys ? p.problem.kv_heads : p.problem.heads);
    const auto each = static_cast<std::uint32_t>(p.problem.members) * heads;
    const std::uint32_t rest = i % each;
    const int tile = static_cast<int>(i / each);
    if (tile >= p.tiles) return {-1, 0, 0};
    return {static_cast<int>(rest / heads), static_cast<int>(rest % heads),
            of_keys ? tile : p.tiles - 1 - tile};
  }
  AP_DEV static const split_shape& own_shape(const params& p) { return of_keys ? p.keys : p.queries; }
  AP_DEV static const split_shape& other_shape(const params& p) { return of_keys ? p.queries : p.keys; }
  AP_DEV static int group_of(const params& p) { return p.group; }

  // Tiles of the other side.
  struct range {
    int begin, end;
    AP_DEV int count() const { return end - begin; }
  };
  // Tiles that meet rows `first` to `first + count - 1`, or as many of these as there are.
  AP_DEV static range range_of(const reach& sees, const member& m, int first, int count) {
    const int rows = of_keys ? m.keys : m.queries, last = (first + count < rows ? first + count : rows) - 1;
    if (first > last) return {0, 0};
    int begin, end;
    if (of_keys) {
      begin = first - sees.high + 1 > 0 ? first - sees.high + 1 : 0;
      end = last - sees.low < m.queries ? last - sees.low + 1 : m.queries;
    } else {
      begin = sees.begin(first), end = sees.end(last);
    }
    return {begin / N, end > begin ? (end + N - 1) / N : begin / N};
  }
  // The heads of the other side whose tiles pass: of Q those that share K, of K one.
  AP_DEV static range heads_of(const params& p, const item& w) {
    const int group = group_of(p);
    if (of_keys) return {w.head * group, w.head * group + group};
    return {w.head / group, w.head / group + 1};
  }

  // load
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void load_tile(const params& p, storage& s, slot_cursor& at, int operand, int row, int head) {
    s.ring.acquire(at);
    mbarrier& landed = s.ring.barrier[full][at.index];
    AP_UNROLL
    for (int c = 0; c < chunks; ++c)
      tensor_load(s.slots[at.index].columns[c].part, p.other[operand], landed, 64 * c, row, 0, head);
    if constexpr (of_keys)
      bulk_load(s.numbers[at.index], p.numbers + 2 * (head * p.queries.tiles * N + row) + operand * N,
                sizeof s.numbers[0], landed);
    s.ring.commit(at++, full, bytes{sizeof(slot) + (of_keys ? sizeof s.numbers[0] : 0)});
  }
  AP_DEV static void load(const params& p, storage& s) {
    own_cursor own;
    slot_cursor at;
    for (;;) {
      const item w = item_at(p, atomic_add(p.next_item, 1u));
      if (w.member < 0) {
        s.owned.acquire(own);
        s.now[own.index] = w;
        s.owned.commit(own, full);
        return;
      }
      const int first = w.tile * Own, kv_head = of_keys ? w.head : heads_of(p, w).begin;
      if (first >= own_shape(p).rows_of(w.member) || p.flags[w.member * p.problem.kv_heads + kv_head] != 0)
        continue;
      const int row = static_cast<int>(own_shape(p).first_tile(w.member)) * N + first;
      s.owned.acquire(own);
      s.now[own.index] = w;
      AP_UNROLL
      for (int o = 0; o < 2; ++o) {
        AP_UNROLL
        for (int c = 0; c < chunks; ++c)
          tensor_load(s.own[own.index].operand[o][c].part, p.own[o], s.owned.barrier[full][own.index], 64 * c,
                      row, 0, w.head);
      }
      s.owned.commit(own++, full, bytes{sizeof(own_tile)});
      const member m = member_of(p.problem, w.member);
      const range tiles = range_of(reach_of(p.problem, m), m, first, Own);
      const int at_begin = static_cast<int>(other_shape(p).first_tile(w.member)) + tiles.begin;
      const range heads = heads_of(p, w);
      int tile = at_begin, head = heads.begin;
      for (int left = 2 * tiles.count() * (of_keys ? heads.count() : 1); left > 0; --left) {
        const int operand = left % 2;
        load_tile(p, s, at, operand, tile * N, head);
        tile += operand;
        if (of_keys && tile == at_begin + tiles.count()) tile = at_begin, ++head;
      }
    }
  }

  // multiply
  // ---------------------------------------------------------------------------------------------------------
  // Parts of an own operand that are kept in registers: as A of a product they need no shared memory.
  template <bool There> struct fragments { std::uint32_t word[There ? D / 16 : 1][4]; };
  template <int Operand> struct own_parts {
    fragments<(P.held > Operand)> hi;
    fragments<(P.held > 2 + Operand)> lo;
  };
  template <int Operand>
  AP_DEV static void fetch(own_parts<Operand>& held, const chunk<Own> (&own)[chunks], int first_row) {
    const int row = first_row + scores::row();
    AP_UNROLL
    for (int i = 0; i < D / 4; ++i) {
      const int r = row + i % 2 * 8, piece = i / 4 * 2 % 8 + i % 4 / 2;
      const int at = (piece ^ r % 8) * 8 + scores::column();
      const auto word = [&](int part) {
        const f16* const from = &own[i / 16].part[part][r][at];
        return load_pack<1>(reinterpret_cast<const std::uint32_t*>(from)).element[0];
      };
      if constexpr (P.held > Operand) held.hi.word[i / 4][i % 4] = word(0);
      if constexpr (P.held > 2 + Operand) held.lo.word[i / 4][i % 4] = word(1);
    }
  }
  // Starts x = own other^T, of 64 own rows.
  template <int Operand>
  AP_DEV static void multiply_rows(scores& x, const storage& s, const chunk<Own> (&own)[chunks],
                                   const own_parts<Operand>& held, slot_cursor at, int first_row) {
    constexpr int own_lo = Own * 128, other_lo = N * 128;  // bytes to the lo parts
    matrix_descriptor a[chunks], b[chunks];
    AP_UNROLL
    for (int c = 0; c < chunks; ++c) {
      a[c] = describe(own[c].part[0][first_row], 16, 1024, swizzle::bytes_128);
      b[c] = describe(s.slots[at.index].columns[c].part, 16, 1024, swizzle::bytes_128);
    }
    const auto step = [&]<int Part, int OfOther>(part_number<Part>, part_number<OfOther>, int i, bool add) {
      const matrix_descriptor other = further(b[i / 4], OfOther * other_lo + i % 4 * 32);
      if constexpr (P.held > 2 * Part + Operand) {
        wgmma<major::k>(x.value, (Part == 0 ? held.hi.word : held.lo.word)[i], other, add);
      } else {
        wgmma<major::k, major::k>(x.value, further(a[i / 4], Part * own_lo + i % 4 * 32), other, add);
      }
    };
    AP_UNROLL
    for (int i = 0; i < D / 16; ++i) {
      step(part_number<1>(), part_number<0>(), i, i > 0);
      step(part_number<0>(), part_number<1>(), i, true);
    }
    AP_UNROLL
    for (int i = 0; i < D / 16; ++i) step(part_number<0>(), part_number<0>(), i, true);
  }
  // Starts sum = h other.
  AP_DEV static void multiply_columns(outputs& sum, const halves<N>& h, const storage& s, slot_cursor at) {
    const matrix_descriptor b =
        describe(s.slots[at.index].columns[0].part, sizeof(chunk<N>), 1024, swizzle::bytes_128);
    constexpr int other_lo = N * 128, by = 2048;
    const auto of_h = [&](auto part, int i) -> const auto& { return h.part[part][i]; };
    const auto of_other = [&](auto part, int i) { return further(b, part * other_lo + i * by); };
    multiply_mixed<major::mn>(sum.value, N / 16, of_h, of_other, false);
    multiply_main<major::mn>(sum.value, N / 16, of_h, of_other, true);
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  static constexpr float up = 1 << part_exponent;

  // A thread's two rows, the second 8 further than the first.
  struct rows {
    int first;
    reach sees;
    float top[2], d[2];  // of queries
  };
  // The numbers of the four elements 4 b to 4 b + 3 of a thread: of two columns, or of two rows.
  AP_DEV static pack<float, 2> of_columns(const float (&numbers)[N], int b) {
    return load_pack<2>(numbers + 8 * b + scores::column());
  }
  // True if the warp's rows see all columns of the tile.
  AP_DEV static bool all_visible(const rows& r, int first_column) {
    const int row = r.first - lane_index() / 4, last_row = row + 15, last_column = first_column + N - 1;
    return of_keys ? r.sees.begin(last_column) <= row && last_row < r.sees.end(first_column)
                   : r.sees.begin(last_row) <= first_column && last_column < r.sees.end(row);
  }
  // A query sees keys begin(i) to end(i) - 1; a key is seen by queries from key - high + 1 to key - low.
  AP_DEV static visible_columns visible_in(const rows& r, int first_column) {
    visible_columns see;
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int row = r.first + 8 * h, column = first_column + scores::column();
      see.begin[h] = (of_keys ? row - r.sees.high + 1 : r.sees.begin(row)) - column;
      see.end[h] = (!of_keys ? r.sees.end(row) : row < r.sees.keys ? row - r.sees.low + 1 : 0) - column;
    }
    return see;
  }
  // Scores to weights: probabilities except for the factor of each query, of keys times 2^15.
  using tile_pairs = pairs_of_tile<of_keys, N>;
  AP_DEV static void weigh(const params& p, scores& x, const rows& r, const float (&tops)[N], int member,
                           int head, int first_column, float to_score, tile_pairs& pairs) {
    if constexpr (P.biased) {
      pairs.add_to(x, p.problem, member_of(p.problem, member), head, r.first, first_column + x.column(),
                   {to_score});
      to_score = 1;
    }
    if (!all_visible(r, first_column)) hide(x, visible_in(r, first_column));
    AP_UNROLL
    for (int b = 0; b < N / 8; ++b) {
      pack<float, 2> top;
      if constexpr (of_keys) top = of_columns(tops, b);
      AP_UNROLL
      for (int i = 0; i < 4; ++i) {
        float& e = x.value[4 * b + i];
        e = exp2_near(multiply_add(e, to_score, -(of_keys ? top.element[i % 2] : r.top[i / 2])));
        if constexpr (of_keys) e *= up;
      }
    }
  }
  // dP to dS = p (dP - D), each row with the largest in [2^14, 2^15) `back`.
  AP_DEV static void differentiate(scores& y, const scores& weights, const rows& r, const float (&ds)[N],
                                   float to_dp, float (&back)[2]) {
    float largest[2] = {};
    AP_UNROLL
    for (int b = 0; b < N / 8; ++b) {
      pack<float, 2> d;
      if constexpr (of_keys) d = of_columns(ds, b);
      AP_UNROLL
      for (int i = 0; i < 4; ++i) {
        float& e = y.value[4 * b + i];
        e = weights.value[4 * b + i] * multiply_add(e, to_dp, -(of_keys ? d.element[i % 2] : r.d[i / 2]));
        largest[i / 2] = fmaxf(largest[i / 2], fabsf(e));
      }
    }
    float by[2];
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      back[h] = scale_for(max_of_row(largest[h]));
      by[h] = inverse_of(back[h]);
    }
    y.scale_rows(by);
  }
  // Weights and dS of keys are 2^15 times as large.
  static constexpr float down = of_keys ? 1 / up : 1;

  AP_DEV static void store(const params& p, const outputs& sum, const rows& r, const heads<float>& to,
                           const item& w, float factor) {
    const member m = member_of(p.problem, w.member);
    const int depth = static_cast<int>(p.problem.depth);
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int row = r.first + 8 * h;
      if (row >= (of_keys ? m.keys : m.queries)) continue;
      float* const at =
          of_keys ? key_row(p.problem, to, m, w.head, row) : query_row(p.problem, to, m, w.head, row);
      const bool in_pairs = depth % 2 == 0 && reinterpret_cast<std::uintptr_t>(at) % 8 == 0;
      AP_UNROLL
      for (int i = 2 * h; i < sum.count; i += 4) {
        const int c = sum.column() + sum.column_of(i);
        const pack<float, 2> pair{{sum.value[i] * factor, sum.value[i + 1] * factor}};
        if (in_pairs) {
          if (c < depth) store_pack<2>(at + c, pair);
        } else {
          if (c < depth) at[c] = pair.element[0];
          if (c + 1 < depth) at[c + 1] = pair.element[1];
        }
      }
    }
  }

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
    b.block = range_of(b.r.sees, m, first, Own);
    b.tiles = range_of(b.r.sees, m, mine, 64);
    if (b.tiles.count() == 0) b.tiles = {b.block.begin, b.block.begin};
    b.heads = heads_of(p, b.w);
    // Rows after the last have no tile of their own: any scale will do.
    const bool there = mine < (of_keys ? m.keys : m.queries);
    const std::int64_t tile =
        there ? b.w.head * own_shape(p).tiles + own_shape(p).first_tile(b.w.member) + mine / N : 0;
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
    return all + head * other_shape(p).tiles + other_shape(p).first_tile(b.w.member);
  }
  AP_DEV static void load_pairs(tile_pairs& pairs, const params& p, const job& b, int head, int tile) {
    if constexpr (P.biased)
      pairs.load(p.problem, member_of(p.problem, b.w.member), of_keys ? head : b.w.head, b.r.first,
                 tile * N + scores::column());
  }
  // The gradient of the bias: dS, of which each row is scaled.
  AP_DEV static void store_slopes(const params& p, const scores& y, const job& b, int tile,
                                  const float (&back)[2]) {
    const written_pairs& x = p.bias_gradient;
    if (x.data == nullptr) return;
    const member m = member_of(p.problem, b.w.member);
    const int first = tile * N + scores::column();
    const bool in_twos = x.key_stride == 1 && (x.member_stride | x.head_stride | x.query_stride) % 2 == 0 &&
                         reinterpret_cast<std::uintptr_t>(x.data) % 8 == 0;
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int row = b.r.first + 8 * h;
      if (row >= m.queries) continue;
      float* const to = in_global_memory(x.data) + m.index * x.member_stride + b.w.head * x.head_stride +
                        row * x.query_stride;
      AP_UNROLL
      for (int i = 2 * h; i < y.count; i += 4) {
        const int key = first + y.column_of(i);
        const pack<float, 2> two{{y.value[i] * back[h], y.value[i + 1] * back[h]}};
        if (in_twos && key + 1 < m.keys) {
          store_pack<2>(to + key, two);
        } else {
          if (key < m.keys) to[key * x.key_stride] = two.element[0];
          if (key + 1 < m.keys) to[(key + 1) * x.key_stride] = two.element[1];
        }
      }
    }
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
      fetch(held0, mine.operand[0], b.first_row);
      fetch(held1, mine.operand[1], b.first_row);
      if (b.tiles.count() == 0) s.owned.release(own, by_warp{});
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
        multiply_rows(x, s, mine.operand[0], held0, first, b.first_row);
        wgmma_commit();
        Waits::second(s.ring, second);
        multiply_rows(y, s, mine.operand[1], held1, second, b.first_row);
        wgmma_commit();
        wgmma_wait<1>();
        x.pin();
        weigh(p, x, b.r, numbers_in(s, first), b.w.member, of_keys ? head : b.w.head, j * N,
              power_of_two(b.own_exponent + exponent_of(scale0), p.to_score.mantissa), pairs);
        if constexpr (of_keys) {
          split<near_lo>(parts, x);
          wgmma_fence();
          multiply_columns(part1, parts, s, second);
          wgmma_commit();
          wgmma_wait<1>();
        } else {
          wgmma_wait<0>();
        }
        y.pin();
        if (last) s.owned.release(own, by_warp{});
        float back[2];
        differentiate(y, x, b.r, numbers_in(s, second), b.own_scale * scale1, back);
        if constexpr (P.biased && !of_keys) store_slopes(p, y, b, j, back);
        if constexpr (of_keys) {
          wgmma_wait<0>();
          part1.pin();
          s.ring.release(second, by_warp{});
        } else {
          s.ring.release(second, by_warp{});
        }
        split<near_lo>(parts, y);
        wgmma_fence();
        multiply_columns(part0, parts, s, first);
        wgmma_commit();
        if constexpr (of_keys) sum1.add_rows(part1, scale1 * down, scale1 * down);
        Waits::last_part();
        part0.pin();
        s.ring.release(first, by_warp{});
        sum0.add_rows(part0, back[0] * scale0 * down, back[1] * scale0 * down);
      });
      if constexpr (of_keys) {
        store(p, sum0, b.r, p.results.k, b.w, p.factor);
        store(p, sum1, b.r, p.results.v, b.w, 1);
      } else {
        store(p, sum0, b.r, p.results.q, b.w, p.factor);
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
      const chunk<Own>(&mine)[chunks] = s.own[own.index].operand[0];
      fetch(held, mine, 0);
      if (b.tiles.count() == 0) s.owned.release(own, by_warp{});
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
        multiply_rows(x, s, mine, held, first, 0);
        wgmma_commit();
        wgmma_wait<0>();
        x.pin();
        if (last) s.owned.release(own, by_warp{});
        weigh(p, x, b.r, s.numbers[first.index], b.w.member, head, j * N,
              power_of_two(b.own_exponent + exponent_of(scale0), p.to_score.mantissa), pairs);
        s.ring.release(first, by_warp{});
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
        multiply_columns(part, parts, s, second);
        wgmma_commit();
        Waits::last_part();
        part.pin();
        s.ring.release(second, by_warp{});
        sum.add_rows(part, scale1 * down, scale1 * down);
      });
      store(p, sum, b.r, p.results.v, b.w, 1);
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
      const chunk<Own>(&mine)[chunks] = s.own[own.index].operand[1];
      fetch(held, mine, 0);
      if (b.tiles.count() == 0) s.owned.release(own, by_warp{});
      outputs sum = {}, part;
      scores x, y;
      halves<N> parts;
      for_each_tile(s, at, b, [&](int head, int j, bool last) {
        const float scale0 = other_scales(p, 0, b, head)[j], scale1 = other_scales(p, 1, b, head)[j];
        const slot_cursor first = at++, second = at++;
        s.ring.wait(second, full);
        wgmma_fence();
        multiply_rows(y, s, mine, held, second, 0);
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
        differentiate(y, x, b.r, s.numbers[second.index], b.own_scale * scale1, back);
        s.ring.release(second, by_warp{});
        split<near_lo>(parts, y);
        s.ring.wait(first, full);
        wgmma_fence();
        multiply_columns(part, parts, s, first);
        wgmma_commit();
        Waits::last_part();
        part.pin();
        s.ring.release(first, by_warp{});
        sum.add_rows(part, back[0] * scale0 * down, back[1] * scale0 * down);
      });
      store(p, sum, b.r, p.results.k, b.w, p.factor);
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
      if (thread_index() == 0) load(p, s);
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
