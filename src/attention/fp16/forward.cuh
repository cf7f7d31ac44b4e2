// SPDX-License-Identifier: Apache-2.0
// FP32-accurate attention on Tensor Cores: three products of FP16 parts for Q K^T and for P V (TMA and wgmma,
// sm_90a).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
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

namespace antiphase::attentions {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A persistent kernel with warp specialisation, one block per multiprocessor. An item is the queries of one
// tile of one head, 64 for each computing warpgroup. One thread of warpgroup 0 is the producer: it takes the
// next item from a counter and loads:
//   queries:  one slot with the item and its Q        load | use until the last scores are there | load ...
//   ring:     slots of 64 keys of K or of V, by turns  load | multiply | load ...
// Scores of a tile are two fresh sums, of hi hi and of the mixed products, which are kept 2^11 times as large;
// so is the tile's part of the output, which is then added to FP32 registers together with its rescaling:
// Tensor Cores truncate, so sums that stayed in them would drift. While one warpgroup takes exponentials the
// other one multiplies: they find that antiphase by themselves.
enum forward_event { full, empty };

// How the parts of a block wait for each other. A parameter, so that tests can take one wait away.
template <forward_policy P> struct forward_waits {
  static constexpr int computing_warps = 4 * P.groups;
  using ring = channel<mbarrier, P.slots, threads(1), warps(computing_warps)>;
  AP_DEV static void values(ring& r, cursor<P.slots> at) { r.wait(at, full); }
  AP_DEV static void part() { wgmma_wait<0>(); }
};

template <forward_policy P, class Waits = forward_waits<P>> struct forward_kernel {
  static constexpr int D = P.depth, N = key_tile, chunks = D / 64;
  static constexpr int threads = (1 + P.groups) * warpgroup_size, computing_warps = Waits::computing_warps;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  static_assert(D == 64 || D == 128);

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
    chunk<N> columns[chunks];
  };
  struct storage {
    chunk<P.queries()> q[chunks];
    slot slots[P.slots];
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
  AP_DEV static void load_tile(storage& s, slot_cursor& at, const tensor_map& map, std::int64_t row,
                               int head) {
    s.ring.acquire(at);
    AP_UNROLL
    for (int c = 0; c < chunks; ++c)
      tensor_load(s.slots[at.index].columns[c].part, map, s.ring.barrier[full][at.index], 64 * c,
                  static_cast<int>(row), 0, head);
    s.ring.commit(at++, full, bytes{sizeof(slot)});
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
      for (int j = keys.begin; j < keys.end; ++j) {
        load_tile(s, at, p.k, row + j * N, kv_head);
        if (P.joined && j > keys.begin) load_tile(s, at, p.v, row + (j - 1) * N, kv_head);
        if (!P.joined) load_tile(s, at, p.v, row + j * N, kv_head);
      }
      if (P.joined && keys.end > keys.begin) load_tile(s, at, p.v, row + (keys.end - 1) * N, kv_head);
    }
  }

  // multiply
  // ---------------------------------------------------------------------------------------------------------
  // Starts main = hi hi and mixed = hi lo + lo hi of Q K^T, the warpgroup's 64 queries.
  AP_DEV static void multiply_keys(scores& main, scores& mixed, const storage& s, slot_cursor at, int group) {
    constexpr int q_lo = P.queries() * 128, k_lo = N * 128;  // bytes to the lo parts
    matrix_descriptor q[chunks], k[chunks];
    AP_UNROLL
    for (int c = 0; c < chunks; ++c) {
      q[c] = describe(s.q[c].part[0][64 * group], 16, 1024, swizzle::bytes_128);
      k[c] = describe(s.slots[at.index].columns[c].part, 16, 1024, swizzle::bytes_128);
    }
    AP_UNROLL
    for (int i = 0; i < 4 * chunks; ++i) {
      const int c = i / 4, step = i % 4 * 32;
      wgmma<major::k, major::k>(mixed, further(q[c], q_lo + step), further(k[c], step), i > 0);
      wgmma<major::k, major::k>(mixed, further(q[c], step), further(k[c], k_lo + step), true);
    }
    AP_UNROLL
    for (int i = 0; i < 4 * chunks; ++i)
      wgmma<major::k, major::k>(main, further(q[i / 4], i % 4 * 32), further(k[i / 4], i % 4 * 32), i > 0);
  }
  AP_DEV static matrix_descriptor describe_values(const storage& s, slot_cursor at) {
    return describe(s.slots[at.index].columns[0].part, sizeof(chunk<N>), 1024, swizzle::bytes_128);
  }
  static constexpr int values_lo = N * 128, values_step = 2048;
  // Starts mixed = hi lo + lo hi of P V.
  AP_DEV static void multiply_values_mixed(outputs& mixed, const halves& p, const storage& s,
                                           slot_cursor at) {
    const matrix_descriptor v = describe_values(s, at);
    AP_UNROLL
    for (int i = 0; i < N / 16; ++i) {
      wgmma<major::mn>(mixed, p.lo[i], further(v, i * values_step), i > 0);
      wgmma<major::mn>(mixed, p.hi[i], further(v, values_lo + i * values_step), true);
    }
  }
  // Starts main = hi hi of P V, or adds it.
  AP_DEV static void multiply_values_main(outputs& main, const halves& p, const storage& s, slot_cursor at,
                                          bool add) {
    const matrix_descriptor v = describe_values(s, at);
    AP_UNROLL
    for (int i = 0; i < N / 16; ++i)
      wgmma<major::mn>(main, p.hi[i], further(v, i * values_step), add || i > 0);
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  // Of the two rows of a thread, of which the second is 8 further. Scores are in units in which exp2 takes them.
  struct rows {
    int first;
    reach sees;
    float to_score;  // what turns a product of the tile's parts into a score, but for K's scale
    float top[2] = {-INFINITY, -INFINITY};
    float sum[2] = {};  // this thread's share
    float shrink[2];    // by which what was there is multiplied
  };
  static constexpr float log2_e = 1.44269504f, up = 1 << part_exponent;

  // Adds the bias of each pair, and hides what problem::visible hides.
  AP_DEV static void add_bias(const params& p, scores& x, const rows& r, const item& w, int first_key,
                              float to_score) {
    const problem& a = p.what;
    AP_UNROLL
    for (int i = 0; i < N / 2; ++i) {
      const int key = first_key + i / 4 * 8 + 2 * (lane_index() % 4) + i % 2, row = r.first + i % 4 / 2 * 8;
      x[i] *= to_score;
      if (!r.sees.sees(row, key)) continue;
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
  // Scores to probabilities, times 2^15.
  AP_DEV static void weigh(const params& p, scores& x, const scores& mixed, rows& r, const item& w,
                           int first_key, float k_scale) {
    float to_score = r.to_score * k_scale;
    AP_UNROLL
    for (int i = 0; i < N / 2; ++i) x[i] = multiply_add(mixed[i], 1 / far_lo, x[i]);
    if constexpr (P.biased) {
      add_bias(p, x, r, w, first_key, to_score);
      to_score = 1;
    }
    hide(x, r, first_key);
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      float top = x[2 * h];
      AP_UNROLL
      for (int i = 0; i < N / 2; i += 4) top = fmaxf(top, fmaxf(x[i + 2 * h], x[i + 2 * h + 1]));
      top = fmaxf(top, shuffle_xor(top, 1));
      top = fmaxf(top, shuffle_xor(top, 2));
      const float now = fmaxf(r.top[h], top * to_score), from = now == -INFINITY ? 0 : now;
      r.shrink[h] = exp2_accurate(r.top[h] - from);
      r.top[h] = now;
      float sum0 = 0, sum1 = 0;
      AP_UNROLL
      for (int i = 0; i < N / 2; i += 4) {
        sum0 += x[i + 2 * h] = exp2_near(multiply_add(x[i + 2 * h], to_score, -from)) * up;
        sum1 += x[i + 2 * h + 1] = exp2_near(multiply_add(x[i + 2 * h + 1], to_score, -from)) * up;
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
  struct values_part {
    outputs main;
    float mixed[P.joined ? D / 2 : 1];
  };
  AP_DEV static void start_values(values_part& part, const halves& parts, const storage& s, slot_cursor at) {
    if constexpr (P.joined) {
      multiply_values_mixed(part.mixed, parts, s, at);
      multiply_values_main(part.main, parts, s, at, false);
    } else {
      multiply_values_mixed(part.main, parts, s, at);
    }
    wgmma_commit();
  }
  AP_DEV static void take_values(outputs& out, values_part& part, const halves& parts,
                                 const float (&shrink)[2], storage& s, slot_cursor at) {
    if constexpr (!P.joined) {
      wgmma_wait<0>();
      pin_registers(part.main);
      AP_UNROLL
      for (int i = 0; i < D / 2; ++i) part.main[i] *= 1 / far_lo;
      wgmma_fence();
      multiply_values_main(part.main, parts, s, at, true);
      wgmma_commit();
    }
    Waits::part();
    pin_registers(part.main);
    if constexpr (P.joined) pin_registers(part.mixed);
    s.ring.release(at, by_warp{});
    AP_UNROLL
    for (int i = 0; i < D / 2; ++i) {
      if constexpr (P.joined) part.main[i] = multiply_add(part.mixed[i], 1 / far_lo, part.main[i]);
      out[i] = multiply_add(out[i], shrink[i % 4 / 2], part.main[i]);
    }
  }

  AP_DEV static void store(const params& p, const outputs& out, const rows& r, const item& w,
                           const member& m) {
    const float* const v_scale =
        p.v_scale + (w.member * p.what.kv_heads + w.head / (p.what.heads / p.what.kv_heads)) * D;
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      float sum = r.sum[h];
      sum += shuffle_xor(sum, 1);
      sum += shuffle_xor(sum, 2);
      const int row = r.first + 8 * h, depth = static_cast<int>(p.what.depth);
      if (row >= m.queries) continue;
      const float back = sum > 0 ? 1 / sum : 0;
      float* const to = query_row(p.what, p.what.out, m, w.head, row);
      AP_UNROLL
      for (int b = 0; b < D / 8; ++b) {
        AP_UNROLL
        for (int e = 0; e < 2; ++e) {
          const int c = 8 * b + 2 * (lane_index() % 4) + e;
          if (c < depth) to[c] = out[4 * b + 2 * h + e] * back * v_scale[c];
        }
      }
      if (lane_index() % 4 != 0) continue;
      const std::int64_t at = stored_row(p.what, m, w.head, row);
      const float weight = sum * (1 / up);
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
      rows r{.first = mine + thread_index() % warpgroup_size / 32 * 16 + lane_index() / 4, .sees = sees};
      const int kv_head = w.head / static_cast<int>(p.what.heads / p.what.kv_heads);
      // Rows behind the last have no tile of their own: any scale will do.
      const std::int64_t q_tile = p.queries.first_tile(w.member) + first / split_rows + group;
      r.to_score =
          (mine < m.queries ? p.q_scale[w.head * p.queries.tiles + q_tile] : 1) * p.what.scale * log2_e;
      const float* const k_scale = p.k_scale + kv_head * p.keys.tiles + p.keys.first_tile(w.member);
      scores x, mixed;
      outputs out = {};
      halves parts;
      values_part part;
      // Of the block's tiles, those that this warpgroup has no use for.
      const auto skip = [&](int slots) {
        for (int i = 0; i < slots; ++i, ++at) {
          s.ring.wait(at, full);
          s.ring.release(at, by_warp{});
        }
      };
      const auto start_scores = [&](slot_cursor k) {
        s.ring.wait(k, full);
        wgmma_fence();
        multiply_keys(x, mixed, s, k, group);
        wgmma_commit();
      };
      const auto take_scores = [&](slot_cursor k, int j) {
        pin_registers(x);
        pin_registers(mixed);
        s.ring.release(k, by_warp{});
        if (j == keys.end - 1) s.queries.release(query, by_warp{});
        weigh(p, x, mixed, r, w, j * N, k_scale[j]);
      };
      if (keys.end <= keys.begin) {
        skip(2 * (of_block.end - of_block.begin));
        s.queries.release(query, by_warp{});
        store(p, out, r, w, m);
        continue;
      }
      const int before = keys.begin - of_block.begin, behind = of_block.end - keys.end;
      if constexpr (P.joined) {
        // The order in the ring is K of a tile, then V of the one before it.
        skip(before > 0 ? 2 * before - 1 : 0);
        const slot_cursor k = at++;
        start_scores(k);
        wgmma_wait<0>();
        take_scores(k, keys.begin);
        split(parts, x);
        skip(before > 0 ? 1 : 0);
        for (int j = keys.begin + 1; j < keys.end; ++j) {
          const slot_cursor k = at++, v = at++;
          start_scores(k);
          Waits::values(s.ring, v);
          start_values(part, parts, s, v);
          wgmma_wait<1>();
          const float shrink[2] = {r.shrink[0], r.shrink[1]};
          take_scores(k, j);
          take_values(out, part, parts, shrink, s, v);
          split(parts, x);
        }
        skip(behind > 0 ? 1 : 0);
        const slot_cursor v = at++;
        Waits::values(s.ring, v);
        wgmma_fence();
        start_values(part, parts, s, v);
        take_values(out, part, parts, r.shrink, s, v);
        skip(behind > 0 ? 2 * behind - 1 : 0);
      } else {
        skip(2 * before);
        for (int j = keys.begin; j < keys.end; ++j) {
          const slot_cursor k = at++, v = at++;
          start_scores(k);
          wgmma_wait<0>();
          take_scores(k, j);
          split(parts, x);
          Waits::values(s.ring, v);
          wgmma_fence();
          start_values(part, parts, s, v);
          take_values(out, part, parts, r.shrink, s, v);
        }
        skip(2 * behind);
      }
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
