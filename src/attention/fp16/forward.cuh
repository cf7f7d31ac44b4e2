// SPDX-License-Identifier: Apache-2.0
// FP32-accurate attention on Tensor Cores: three products of FP16 parts for Q K^T and for P V (TMA and wgmma,
// sm_90a).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/exponential.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/wgmma.cuh>
#include <cmath>

#include "src/attention/fp16/forward.hpp"
#include "src/attention/fp16/split_pass.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A persistent kernel with warp specialisation, one block per multiprocessor. An item is the queries of one
// tile of one head, 64 for each computing warpgroup. One thread of warpgroup 0 is the producer: it takes the
// next item from a counter and loads:
//   queries:  one slot with the item and its Q        load | use until the last scores are there | load ...
//   ring:     slots of 64 keys of K or of V, by turns  load | multiply | load ...
// Scores of a tile are two fresh sums, of hi hi and of the mixed products, which are kept 2^11 times as
// large; so is the tile's part of the output, which is then added to FP32 registers together with its
// rescaling: Tensor Cores truncate, so sums that stayed in them would drift. While one warpgroup takes
// exponentials the other one multiplies: they find that antiphase by themselves.
enum forward_event { full, empty };

// How the parts of a block wait for each other. A parameter, so that tests can take one wait away.
template <forward_policy P> struct forward_waits {
  static constexpr int computing_warps = 4 * P.groups;
  using ring = channel<mbarrier, P.slots, threads(1), warps(computing_warps)>;
  AP_DEV static void values(ring& r, cursor<P.slots> at) { r.wait(at, full); }
  AP_DEV static void part() { wgmma_wait<0>(); }
};

template <forward_policy P, class Waits = forward_waits<P>> struct forward_kernel {
  static constexpr int D = P.depth, N = P.keys, chunks = D / 64;
  static constexpr int value_keys = N / chunks;  // of a slot with a part of V
  static constexpr int threads = (1 + P.groups) * warpgroup_size, computing_warps = Waits::computing_warps;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  static_assert(D == 64 || D == 128);
  static_assert(N == 64 || N == 128);
  static_assert(N >= 64 * chunks);

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = forward_params;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  // An item: the tile of queries of a member and head.
  struct item {
    std::int32_t member, head, tile;  // member < 0: there are no more
  };
  template <int Rows> struct chunk { alignas(1024) f16 part[2][Rows][64]; };
  struct slot {
    alignas(1024) f16 element[2 * N * 64];
  };
  struct storage {
    chunk<P.queries()> q[chunks];
    slot slots[P.slots];
    alignas(16) float v_scale[P.slots][value_keys / 64][D];
    typename Waits::ring ring;
    channel<mbarrier, 1, antiphase::threads(1), warps(computing_warps)> queries;
    item now;
  };
  using slot_cursor = cursor<P.slots>;
  using scores = float[N / 2];
  using outputs = float[D / 2];
  struct halves {
    std::uint32_t hi[N / 16][4], lo[N / 16][4];
  };

 private:
  // Goes on to the next operand of a tile; returns where it was.
  AP_DEV static slot_cursor advanced(slot_cursor& at) {
    const slot_cursor before = at;
    AP_UNROLL
    for (int c = 0; c < chunks; ++c) ++at;
    return before;
  }
  AP_DEV static item item_at(const params& p, std::uint32_t i) {
    // Tiles with most keys come first, and heads that share K follow each other.
    const auto each = static_cast<std::uint32_t>(p.what.members * p.what.heads);
    const std::uint32_t tile = i / each, rest = i % each;
    if (tile >= static_cast<std::uint32_t>(p.tiles)) return {-1, 0, 0};
    const auto heads = static_cast<std::uint32_t>(p.what.heads);
    return {static_cast<int>(rest / heads), static_cast<int>(rest % heads),
            p.tiles - 1 - static_cast<int>(tile)};
  }
  struct range {
    int begin, end;  // tiles of keys
  };
  // The keys that queries `first` to `last` see between them.
  AP_DEV static range range_of(const reach& sees, int first, int last) {
    const int begin = sees.begin(first), end = sees.end(last);
    return {begin / N, end > begin ? (end + N - 1) / N : begin / N};
  }
  AP_DEV static range range_of(const reach& sees, const member& m, int first, int count) {
    const int last = first + count < m.queries ? first + count - 1 : m.queries - 1;
    return first > last ? range{0, 0} : range_of(sees, first, last);
  }

  // load
  // ---------------------------------------------------------------------------------------------------------
  // K lies in the ring by 64 columns, V by value_keys keys.
  AP_DEV static void load_keys(const params& p, storage& s, slot_cursor& at, std::int64_t row, int head) {
    AP_UNROLL
    for (int c = 0; c < chunks; ++c) {
      s.ring.acquire(at);
      tensor_load(s.slots[at.index].element, p.k, s.ring.barrier[full][at.index], 64 * c,
                  static_cast<int>(row), 0, head);
      s.ring.commit(at++, full, bytes{sizeof(slot)});
    }
  }
  // `tiles`: of split_rows that the member has from there on. Behind the last one are zeros, or finite parts
  // of another member, that weights of 0 multiply; they take the scales of the last one, which are finite.
  AP_DEV static void load_values(const params& p, storage& s, slot_cursor& at, std::int64_t row, int tiles,
                                 int head) {
    constexpr int of_slot = value_keys / split_rows;
    const float* const scale = p.v_scale + (head * p.keys.tiles + row / split_rows) * D;
    AP_UNROLL
    for (int h = 0; h < chunks; ++h) {
      s.ring.acquire(at);
      mbarrier& landed = s.ring.barrier[full][at.index];
      AP_UNROLL
      for (int c = 0; c < chunks; ++c)
        tensor_load(s.slots[at.index].element + c * 2 * value_keys * 64, p.v, landed, 64 * c,
                    static_cast<int>(row) + h * value_keys, 0, head);
      AP_UNROLL
      for (int i = 0; i < of_slot; ++i) {
        const int tile = h * of_slot + i < tiles ? h * of_slot + i : tiles - 1;
        bulk_load(s.v_scale[at.index][i], scale + tile * D, D * sizeof(float), landed);
      }
      s.ring.commit(at++, full, bytes{sizeof(slot) + sizeof s.v_scale[0]});
    }
  }
  AP_DEV static void load(const params& p, storage& s) {
    cursor<1> query;
    slot_cursor at;
    const int group = static_cast<int>(p.what.heads / p.what.kv_heads);
    for (;;) {
      const item w = item_at(p, atomic_add(p.next_item, 1u));
      if (w.member < 0) {
        s.queries.acquire(query);
        s.now = w;
        s.queries.commit(query, full);
        return;
      }
      const member m = member_of(p.what, w.member);
      const int first = w.tile * P.queries(), kv_head = w.head / group;
      if (first >= m.queries || p.flags[w.member * p.what.kv_heads + kv_head] != 0) continue;
      s.queries.acquire(query);
      s.now = w;
      AP_UNROLL
      for (int c = 0; c < chunks; ++c)
        tensor_load(s.q[c].part, p.q, s.queries.barrier[full][0], 64 * c,
                    static_cast<int>(p.queries.first_tile(w.member) * split_rows + first), 0, w.head);
      s.queries.commit(query++, full, bytes{sizeof s.q});
      const range keys = range_of(reach_of(p.what, m), m, first, P.queries());
      const std::int64_t row = p.keys.first_tile(w.member) * split_rows;
      const int tiles = static_cast<int>(tiles_in(m.keys));
      for (int j = keys.begin; j < keys.end; ++j) {
        load_keys(p, s, at, row + j * N, kv_head);
        load_values(p, s, at, row + j * N, tiles - j * (N / split_rows), kv_head);
      }
    }
  }

  // multiply
  // ---------------------------------------------------------------------------------------------------------
  // Starts main = hi hi and mixed = hi lo + lo hi of Q K^T, the warpgroup's 64 queries. Where the registers
  // do not hold two sums, the mixed products are waited for, and main is added to them.
  struct score_sums {
    scores main;
    float mixed[P.apart ? N / 2 : 1];
  };
  AP_DEV static void multiply_keys(score_sums& x, const storage& s, slot_cursor at, int group) {
    constexpr int q_lo = P.queries() * 128, k_lo = N * 128;  // bytes to the lo parts
    matrix_descriptor q[chunks], k[chunks];
    AP_UNROLL
    for (int c = 0; c < chunks; ++c, ++at) {
      q[c] = describe(s.q[c].part[0][64 * group], 16, 1024, swizzle::bytes_128);
      k[c] = describe(s.slots[at.index].element, 16, 1024, swizzle::bytes_128);
    }
    const auto multiply_mixed = [&](scores& sum) {
      AP_UNROLL
      for (int i = 0; i < 4 * chunks; ++i) {
        const int c = i / 4, step = i % 4 * 32;
        wgmma<major::k, major::k>(sum, further(q[c], q_lo + step), further(k[c], step), i > 0);
        wgmma<major::k, major::k>(sum, further(q[c], step), further(k[c], k_lo + step), true);
      }
    };
    wgmma_fence();
    if constexpr (P.apart) {
      multiply_mixed(x.mixed);
    } else {
      multiply_mixed(x.main);
      wgmma_commit();
      wgmma_wait<0>();
      pin_registers(x.main);
      AP_UNROLL
      for (int i = 0; i < N / 2; ++i) x.main[i] *= 1 / far_lo;
      wgmma_fence();
    }
    AP_UNROLL
    for (int i = 0; i < 4 * chunks; ++i)
      wgmma<major::k, major::k>(x.main, further(q[i / 4], i % 4 * 32), further(k[i / 4], i % 4 * 32),
                                !P.apart || i > 0);
    wgmma_commit();
  }
  // 64 keys of V, of which a slot has value_keys.
  AP_DEV static matrix_descriptor describe_values(const storage& s, slot_cursor at, int block) {
    const f16* const from = s.slots[at.index].element + block * 64 % value_keys * 64;
    return describe(from, 2 * value_keys * 128, 1024, swizzle::bytes_128);
  }
  static constexpr int values_lo = value_keys * 128, values_step = 2048;
  // Starts mixed = hi lo + lo hi of P V for the keys of a block of 64.
  AP_DEV static void multiply_values_mixed(outputs& mixed, const halves& p, matrix_descriptor v, int block) {
    AP_UNROLL
    for (int i = 0; i < 4; ++i) {
      wgmma<major::mn>(mixed, p.lo[4 * block + i], further(v, i * values_step), i > 0);
      wgmma<major::mn>(mixed, p.hi[4 * block + i], further(v, values_lo + i * values_step), true);
    }
  }
  // Starts main = hi hi of P V, or adds it.
  AP_DEV static void multiply_values_main(outputs& main, const halves& p, matrix_descriptor v, int block,
                                          bool add) {
    AP_UNROLL
    for (int i = 0; i < 4; ++i)
      wgmma<major::mn>(main, p.hi[4 * block + i], further(v, i * values_step), add || i > 0);
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  // State of a thread's two rows, the second 8 further than the first. Scores are in units in which exp2
  // takes them.
  struct rows {
    int first, queries;  // queries: of the member
    reach sees;
    int exponent = 0;  // of what turns a product of the tile's parts into a score, but for K's scale
    float top[2] = {-INFINITY, -INFINITY};
    float sum[2] = {};     // this thread's share
    float shrink[2] = {};  // by which what was there is multiplied
  };
  static constexpr float log2_e = 1.44269504f, up = 1 << part_exponent;

  // Adds the bias of each pair, and hides what problem::visible hides.
  AP_DEV static void add_bias(const params& p, scores& x, const rows& r, const item& w, int first_key,
                              const float (&to_score)[N / 64]) {
    const problem& a = p.what;
    AP_UNROLL
    for (int i = 0; i < N / 2; ++i) {
      const int key = first_key + i / 4 * 8 + 2 * (lane_index() % 4) + i % 2, row = r.first + i % 4 / 2 * 8;
      x[i] *= to_score[i / 32];
      if (row >= r.queries || !r.sees.sees(row, key)) continue;
      const auto at = [&](const auto& pairs) {
        return pairs.data[w.member * pairs.member_stride + w.head * pairs.head_stride +
                          row * pairs.query_stride + key * pairs.key_stride];
      };
      if (a.bias.data != nullptr) x[i] = multiply_add(at(a.bias), log2_e, x[i]);
      if (a.visible.data != nullptr && at(a.visible) == 0) x[i] = -INFINITY;
    }
  }
  AP_DEV static void hide(scores& x, const rows& r, int first_key) {
    const int row = r.first - lane_index() / 4;  // the warp's first
    if (first_key >= r.sees.begin(row + 15) && first_key + N <= r.sees.end(row)) return;
    const int key = first_key + 2 * (lane_index() % 4);
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int begin = r.sees.begin(r.first + 8 * h) - key, end = r.sees.end(r.first + 8 * h) - key;
      AP_UNROLL
      for (int i = 0; i < N / 4; ++i) {
        const int column = i / 2 * 8 + i % 2;
        if (column < begin || column >= end) x[i / 2 * 4 + 2 * h + i % 2] = -INFINITY;
      }
    }
  }
  // Scores to probabilities, times 2^15. `k_scale`: of each 64 keys.
  static constexpr int blocks = N / 64;
  AP_DEV static void weigh(const params& p, score_sums& sums, rows& r, const item& w, int first_key,
                           const float (&k_scale)[blocks]) {
    float to_score[blocks];
    AP_UNROLL
    for (int b = 0; b < blocks; ++b)
      to_score[b] = power_of_two(r.exponent + exponent_of(k_scale[b]), p.factor.mantissa);
    scores& x = sums.main;
    if constexpr (P.apart) {
      AP_UNROLL
      for (int i = 0; i < N / 2; ++i) x[i] = multiply_add(sums.mixed[i], 1 / far_lo, x[i]);
    }
    if constexpr (P.biased) {
      add_bias(p, x, r, w, first_key, to_score);
      AP_UNROLL
      for (int b = 0; b < blocks; ++b) to_score[b] = 1;
    }
    hide(x, r, first_key);
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      float top = -INFINITY;
      AP_UNROLL
      for (int b = 0; b < blocks; ++b) {
        float of_block = x[32 * b + 2 * h];
        AP_UNROLL
        for (int i = 32 * b; i < 32 * b + 32; i += 4)
          of_block = fmaxf(of_block, fmaxf(x[i + 2 * h], x[i + 2 * h + 1]));
        top = fmaxf(top, of_block * to_score[b]);
      }
      top = fmaxf(top, shuffle_xor(top, 1));
      top = fmaxf(top, shuffle_xor(top, 2));
      const float now = fmaxf(r.top[h], top), from = now == -INFINITY ? 0 : now;
      r.shrink[h] = exp2_accurate(r.top[h] - from);
      r.top[h] = now;
      float sum0 = 0, sum1 = 0;
      AP_UNROLL
      for (int i = 0; i < N / 2; i += 4) {
        const float c = to_score[i / 32];
        sum0 += x[i + 2 * h] = exp2_near(multiply_add(x[i + 2 * h], c, -from)) * up;
        sum1 += x[i + 2 * h + 1] = exp2_near(multiply_add(x[i + 2 * h + 1], c, -from)) * up;
      }
      r.sum[h] = multiply_add(r.sum[h], r.shrink[h], sum0 + sum1);
    }
  }
  AP_DEV static void split(halves& parts, const scores& x) {
    AP_UNROLL
    for (int i = 0; i < N / 4; ++i) {
      const std::uint32_t hi = to_halves(x[2 * i], x[2 * i + 1]);
      parts.hi[i / 4][i % 4] = hi;
      parts.lo[i / 4][i % 4] =
          to_halves((x[2 * i] - lower_half(hi)) * far_lo, (x[2 * i + 1] - upper_half(hi)) * far_lo);
    }
  }
  // P V of a tile. Where the registers hold two sums, both products run together.
  static constexpr bool apart = D == 64;
  struct values_part {
    outputs main;
    float mixed[apart ? D / 2 : 1];
  };
  AP_DEV static void start_values(values_part& part, const halves& parts, matrix_descriptor v, int block) {
    if constexpr (apart) {
      multiply_values_mixed(part.mixed, parts, v, block);
      multiply_values_main(part.main, parts, v, block, false);
    } else {
      multiply_values_mixed(part.main, parts, v, block);
    }
    wgmma_commit();
  }
  // `is_last`: nothing more is read of the slot.
  AP_DEV static void take_values(outputs& out, values_part& part, const halves& parts,
                                 const float (&shrink)[2], storage& s, slot_cursor at, matrix_descriptor v,
                                 int block, bool is_last) {
    if constexpr (!apart) {
      wgmma_wait<0>();
      pin_registers(part.main);
      AP_UNROLL
      for (int i = 0; i < D / 2; ++i) part.main[i] *= 1 / far_lo;
      wgmma_fence();
      multiply_values_main(part.main, parts, v, block, true);
      wgmma_commit();
    }
    Waits::part();
    pin_registers(part.main);
    if constexpr (apart) pin_registers(part.mixed);
    const float* const scale = &s.v_scale[at.index][block * 64 % value_keys / 64][2 * (lane_index() % 4)];
    AP_UNROLL
    for (int b = 0; b < D / 8; ++b) {
      const pack<float, 2> of_columns = load_pack<2>(scale + 8 * b);
      AP_UNROLL
      for (int e = 0; e < 4; ++e) {
        const int i = 4 * b + e;
        if constexpr (apart) part.main[i] = multiply_add(part.mixed[i], 1 / far_lo, part.main[i]);
        out[i] = multiply_add(part.main[i], of_columns.element[e % 2],
                              block == 0 ? out[i] * shrink[e / 2] : out[i]);
      }
    }
    if (is_last) s.ring.release(at, by_warp{});
  }

  AP_DEV static void store(const params& p, const outputs& out, const rows& r, const item& w,
                           const member& m) {
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      float sum = r.sum[h];
      sum += shuffle_xor(sum, 1);
      sum += shuffle_xor(sum, 2);
      const int row = r.first + 8 * h, depth = static_cast<int>(p.what.depth);
      if (row >= m.queries) continue;
      const float weight = sum * (1 / up), back = sum == 0 ? 0 : 1 / weight;
      float* const to = query_row(p.what, p.what.out, m, w.head, row);
      AP_UNROLL
      for (int b = 0; b < D / 8; ++b) {
        AP_UNROLL
        for (int e = 0; e < 2; ++e) {
          const int c = 8 * b + 2 * (lane_index() % 4) + e;
          if (c < depth) to[c] = out[4 * b + 2 * h + e] * back;
        }
      }
      if (lane_index() % 4 != 0) continue;
      const std::int64_t at = stored_row(p.what, m, w.head, row);
      if (p.what.softmax != nullptr) p.what.softmax[2 * at] = r.top[h], p.what.softmax[2 * at + 1] = weight;
      if (p.what.logsumexp != nullptr) p.what.logsumexp[at] = (r.top[h] + log2f(weight)) * 0.693147181f;
    }
  }

  AP_DEV static void compute(const params& p, storage& s, int group) {
    cursor<1> query;
    slot_cursor at;
    for (;; ++query) {
      s.queries.wait(query, full);
      const item w{uniform(s.now.member), uniform(s.now.head), uniform(s.now.tile)};
      if (w.member < 0) return;
      const member m = member_of(p.what, w.member);
      const int first = w.tile * P.queries(), mine = first + rows_of_group * group;
      const reach sees = reach_of(p.what, m);
      const range of_block = range_of(sees, m, first, P.queries()),
                  keys = range_of(sees, m, mine, rows_of_group);
      rows r{.first = mine + thread_index() % warpgroup_size / 32 * 16 + lane_index() / 4,
             .queries = m.queries,
             .sees = sees};
      const int kv_head = w.head / static_cast<int>(p.what.heads / p.what.kv_heads);
      // Rows behind the last have no tile of their own: any scale will do.
      const std::int64_t q_tile = p.queries.first_tile(w.member) + first / split_rows + group;
      r.exponent = exponent_of(mine < m.queries ? p.q_scale[w.head * p.queries.tiles + q_tile] : 1) +
                   p.factor.exponent;
      const float* const k_scale = p.k_scale + kv_head * p.keys.tiles + p.keys.first_tile(w.member);
      const int tiles = static_cast<int>(tiles_in(m.keys));
      score_sums x;
      outputs out = {};
      halves parts;
      values_part part;
      // Of the block's tiles, those that this warpgroup has no use for.
      const auto skip = [&](int operands) {
        for (int i = 0; i < chunks * operands; ++i, ++at) {
          s.ring.wait(at, full);
          s.ring.release(at, by_warp{});
        }
      };
      const auto start_scores = [&](slot_cursor k) {
        for (int c = 0; c < chunks; ++c, ++k) s.ring.wait(k, full);
      };
      const auto take_scores = [&](slot_cursor k, int j) {
        pin_registers(x.main);
        if constexpr (P.apart) pin_registers(x.mixed);
        AP_UNROLL
        for (int c = 0; c < chunks; ++c, ++k) s.ring.release(k, by_warp{});
        if (j == keys.end - 1) s.queries.release(query, by_warp{});
        float scale_of_keys[blocks];
        AP_UNROLL
        for (int b = 0; b < blocks; ++b)
          scale_of_keys[b] = k_scale[j * blocks + b < tiles ? j * blocks + b : 0];
        weigh(p, x, r, w, j * N, scale_of_keys);
      };
      if (keys.end <= keys.begin) {
        skip(2 * (of_block.end - of_block.begin));
        s.queries.release(query, by_warp{});
        store(p, out, r, w, m);
        continue;
      }
      const int before = keys.begin - of_block.begin, behind = of_block.end - keys.end;
      skip(2 * before);
      for (int j = keys.begin; j < keys.end; ++j) {
        const slot_cursor k = advanced(at);
        slot_cursor v = advanced(at);
        start_scores(k);
        multiply_keys(x, s, k, group);
        wgmma_wait<0>();
        take_scores(k, j);
        split(parts, x.main);
        AP_UNROLL
        for (int b = 0; b < blocks; ++b) {
          const bool begins = b * 64 % value_keys == 0, ends = (b + 1) * 64 % value_keys == 0;
          if (begins) Waits::values(s.ring, v);
          const matrix_descriptor of_values = describe_values(s, v, b);
          wgmma_fence();
          start_values(part, parts, of_values, b);
          take_values(out, part, parts, r.shrink, s, v, of_values, b, ends);
          if (ends) ++v;
        }
      }
      skip(2 * behind);
      store(p, out, r, w, m);
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.queries.init();
      s.ring.init();
      fence_mbarrier_init();
    }
    block_barrier();
    wait_for_previous_grid();
    start_next_grid();
    const int warpgroup = warp_index() / 4;
    if (warpgroup == 0) {
      release_registers<24>();
      if (thread_index() == 0) load(p, s);
    } else {
      request_registers<240>();
      compute(p, s, warpgroup - 1);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
