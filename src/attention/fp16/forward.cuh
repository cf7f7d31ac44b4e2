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
#include "src/attention/fp16/pairs_tile.cuh"
#include "src/attention/fp16/split_pass.cuh"
#include "src/split_multiply.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A persistent kernel with warp specialisation, one block per multiprocessor. An item is the queries of one
// tile of one head, 64 for each computing warpgroup. One thread of warpgroup 0 is the producer: it takes the
// next item from a counter and loads:
//   queries:  one slot with the item and its Q        load | use until the last scores are there | load ...
//   ring:     slots of 64 keys of K or of V, alternately  load | multiply | load ...
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
    const auto each = static_cast<std::uint32_t>(p.problem.members * p.problem.heads);
    const std::uint32_t tile = i / each, rest = i % each;
    if (tile >= static_cast<std::uint32_t>(p.tiles)) return {-1, 0, 0};
    const auto heads = static_cast<std::uint32_t>(p.problem.heads);
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
  // `tiles`: of split_rows that the member has from there on. After the last one are zeros, or finite parts
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
    const int group = static_cast<int>(p.problem.heads / p.problem.kv_heads);
    for (;;) {
      const item w = item_at(p, atomic_add(p.next_item, 1u));
      if (w.member < 0) {
        s.queries.acquire(query);
        s.now = w;
        s.queries.commit(query, full);
        return;
      }
      const member m = member_of(p.problem, w.member);
      const int first = w.tile * P.queries(), kv_head = w.head / group;
      if (first >= m.queries || p.flags[w.member * p.problem.kv_heads + kv_head] != 0) continue;
      s.queries.acquire(query);
      s.now = w;
      AP_UNROLL
      for (int c = 0; c < chunks; ++c)
        tensor_load(s.q[c].part, p.q, s.queries.barrier[full][0], 64 * c,
                    static_cast<int>(p.queries.first_tile(w.member) * split_rows + first), 0, w.head);
      s.queries.commit(query++, full, bytes{sizeof s.q});
      const range keys = range_of(reach_of(p.problem, m), m, first, P.queries());
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
  // Sums of hi hi and of the mixed products. Where the registers do not hold two, `main` has both.
  template <int Columns, bool Apart> struct split_sums {
    accumulator<Columns> main;
    accumulator<Apart ? Columns : 2> mixed;

    AP_DEV void pin() {
      main.pin();
      if constexpr (Apart) mixed.pin();
    }
    // The product: mixed sums are kept 2^11 times as large.
    AP_DEV float at(int i) const {
      if constexpr (Apart) return multiply_add(mixed.value[i], 1.f / far_lo, main.value[i]);
      return main.value[i];
    }
    // Starts the products; mixed ones that shrink in place are waited for.
    template <major... Majors, class A, class B> AP_DEV void multiply(int steps, const A& a, const B& b) {
      if constexpr (Apart) {
        multiply_mixed<Majors...>(mixed.value, steps, a, b, false);
      } else {
        multiply_mixed<Majors...>(main.value, steps, a, b, false);
        wgmma_commit();
        wgmma_wait<0>();
        main.pin();
        main.scale(1.f / far_lo);
        wgmma_fence();
      }
      multiply_main<Majors...>(main.value, steps, a, b, !Apart);
      wgmma_commit();
    }
  };

  // Starts Q K^T of the warpgroup's 64 queries.
  using score_sums = split_sums<N, P.apart>;
  AP_DEV static void multiply_keys(score_sums& x, const storage& s, slot_cursor at, int group) {
    constexpr int q_lo = P.queries() * 128, k_lo = N * 128;  // bytes to the lo parts
    matrix_descriptor q[chunks], k[chunks];
    AP_UNROLL
    for (int c = 0; c < chunks; ++c, ++at) {
      q[c] = describe(s.q[c].part[0][64 * group], 16, 1024, swizzle::bytes_128);
      k[c] = describe(s.slots[at.index].element, 16, 1024, swizzle::bytes_128);
    }
    wgmma_fence();
    x.template multiply<major::k, major::k>(
        4 * chunks, [&](auto part, int i) { return further(q[i / 4], part * q_lo + i % 4 * 32); },
        [&](auto part, int i) { return further(k[i / 4], part * k_lo + i % 4 * 32); });
  }
  // Starts P V of the keys of a block of 64, and adds it to the outputs, which it scales at first. `is_last`:
  // no more is read of the slot.
  using output_sums = split_sums<D, D == 64>;
  AP_DEV static void multiply_values(accumulator<D>& out, output_sums& sums, const halves<N>& p,
                                     const float (&shrink)[2], storage& s, slot_cursor at, int block,
                                     bool is_last) {
    const f16* const from = s.slots[at.index].element + block * 64 % value_keys * 64;
    const matrix_descriptor v = describe(from, 2 * value_keys * 128, 1024, swizzle::bytes_128);
    constexpr int values_lo = value_keys * 128, values_step = 2048;
    wgmma_fence();
    sums.template multiply<major::mn>(
        4, [&](auto part, int i) -> const auto& { return p.part[part][4 * block + i]; },
        [&](auto part, int i) { return further(v, part * values_lo + i * values_step); });
    Waits::part();
    sums.pin();
    const float* const scale = &s.v_scale[at.index][block * 64 % value_keys / 64][accumulator<D>::column()];
    AP_UNROLL
    for (int b = 0; b < D / 8; ++b) {
      const pack<float, 2> of_columns = load_pack<2>(scale + 8 * b);
      AP_UNROLL
      for (int i = 4 * b; i < 4 * b + 4; ++i) {
        float& o = out.value[i];
        o = multiply_add(sums.at(i), of_columns.element[i % 2], block == 0 ? o * shrink[out.half_of(i)] : o);
      }
    }
    if (is_last) s.ring.release(at, by_warp{});
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  // State of a thread's two rows, the second 8 further than the first. Scores are in units in which exp2
  // takes them.
  struct rows {
    int first;
    reach sees;
    int exponent = 0;  // of what turns a product of the tile's parts into a score, except for K's scale
    float top[2] = {-INFINITY, -INFINITY};
    float sum[2] = {};     // this thread's share
    float shrink[2] = {};  // by which what was there is multiplied
  };
  static constexpr float up = 1 << part_exponent;

  AP_DEV static visible_columns visible_in(const rows& r, int first_key) {
    const int key = first_key + accumulator<N>::column();
    return {{r.sees.begin(r.first) - key, r.sees.begin(r.first + 8) - key},
            {r.sees.end(r.first) - key, r.sees.end(r.first + 8) - key}};
  }
  // Scores to probabilities, times 2^15. `k_scale`: of each 64 keys.
  static constexpr int blocks = N / 64;
  using tile_pairs = pairs_of_tile<false, N>;
  AP_DEV static void weigh(const params& p, score_sums& sums, rows& r, const member& m, int head,
                           int first_key, const float (&k_scale)[blocks], tile_pairs& pairs) {
    accumulator<N>& x = sums.main;
    float to_score[blocks], from[2];
    AP_UNROLL
    for (int b = 0; b < blocks; ++b)
      to_score[b] = power_of_two(r.exponent + exponent_of(k_scale[b]), p.factor.mantissa);
    if constexpr (P.apart) {
      AP_UNROLL
      for (int i = 0; i < x.count; ++i) x.value[i] = sums.at(i);
    }
    if constexpr (P.biased) {
      pairs.add_to(x, p.problem, m, head, r.first, first_key + x.column(), to_score);
      AP_UNROLL
      for (int b = 0; b < blocks; ++b) to_score[b] = 1;
    }
    const int row = r.first - lane_index() / 4;  // the warp's first
    if (first_key < r.sees.begin(row + 15) || first_key + N > r.sees.end(row))
      hide(x, visible_in(r, first_key));
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      float top = -INFINITY;
      AP_UNROLL
      for (int b = 0; b < blocks; ++b) top = fmaxf(top, x.template row_max<64>(h, 64 * b) * to_score[b]);
      const float now = fmaxf(r.top[h], max_of_row(top));
      from[h] = now == -INFINITY ? 0 : now;
      r.shrink[h] = exp2_accurate(r.top[h] - from[h]);
      r.top[h] = now;
    }
    x.each([&](float& e, int half, int column) {
      e = exp2_near(multiply_add(e, to_score[column / 64], -from[half])) * up;
    });
    AP_UNROLL
    for (int h = 0; h < 2; ++h) r.sum[h] = multiply_add(r.sum[h], r.shrink[h], x.row_sum(h));
  }

  AP_DEV static void store(const params& p, const accumulator<D>& out, const rows& r, const item& w,
                           const member& m) {
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      const float sum = sum_of_row(r.sum[h]);
      const int row = r.first + 8 * h, depth = static_cast<int>(p.problem.depth);
      if (row >= m.queries) continue;
      const float weight = sum * (1 / up), back = sum == 0 ? 0 : 1 / weight;
      float* const to = query_row(p.problem, p.problem.out, m, w.head, row);
      AP_UNROLL
      for (int i = 2 * h; i < out.count; i += 4) {
        AP_UNROLL
        for (int e = 0; e < 2; ++e) {
          const int c = out.column() + out.column_of(i + e);
          if (c < depth) to[c] = out.value[i + e] * back;
        }
      }
      if (out.column() != 0) continue;
      const std::int64_t at = stored_row(p.problem, m, w.head, row);
      if (p.problem.softmax != nullptr)
        p.problem.softmax[2 * at] = r.top[h], p.problem.softmax[2 * at + 1] = weight;
      if (p.problem.logsumexp != nullptr) p.problem.logsumexp[at] = (r.top[h] + log2f(weight)) * 0.693147181f;
    }
  }

  AP_DEV static void compute(const params& p, storage& s, int group) {
    cursor<1> query;
    slot_cursor at;
    for (;; ++query) {
      s.queries.wait(query, full);
      const item w{uniform(s.now.member), uniform(s.now.head), uniform(s.now.tile)};
      if (w.member < 0) return;
      const member m = member_of(p.problem, w.member);
      const int first = w.tile * P.queries(), mine = first + rows_of_group * group;
      const reach sees = reach_of(p.problem, m);
      const range of_block = range_of(sees, m, first, P.queries()),
                  keys = range_of(sees, m, mine, rows_of_group);
      rows r{.first = mine + accumulator<N>::row(), .sees = sees};
      const int kv_head = w.head / static_cast<int>(p.problem.heads / p.problem.kv_heads);
      // Rows after the last have no tile of their own: any scale will do.
      const std::int64_t q_tile = p.queries.first_tile(w.member) + first / split_rows + group;
      r.exponent = exponent_of(mine < m.queries ? p.q_scale[w.head * p.queries.tiles + q_tile] : 1) +
                   p.factor.exponent;
      const float* const k_scale = p.k_scale + kv_head * p.keys.tiles + p.keys.first_tile(w.member);
      const int tiles = static_cast<int>(tiles_in(m.keys));
      score_sums x;
      tile_pairs pairs;
      accumulator<D> out = {};
      halves<N> parts;
      output_sums part;
      // Of the block's tiles, those that this warpgroup has no use for.
      const auto skip = [&](int operands) {
        for (int i = 0; i < chunks * operands; ++i, ++at) {
          s.ring.wait(at, full);
          s.ring.release(at, by_warp{});
        }
      };
      const auto wait_for_keys = [&](slot_cursor k) {
        for (int c = 0; c < chunks; ++c, ++k) s.ring.wait(k, full);
      };
      const auto take_scores = [&](slot_cursor k, int j) {
        x.pin();
        AP_UNROLL
        for (int c = 0; c < chunks; ++c, ++k) s.ring.release(k, by_warp{});
        if (j == keys.end - 1) s.queries.release(query, by_warp{});
        float scale_of_keys[blocks];
        AP_UNROLL
        for (int b = 0; b < blocks; ++b)
          scale_of_keys[b] = k_scale[j * blocks + b < tiles ? j * blocks + b : 0];
        weigh(p, x, r, m, w.head, j * N, scale_of_keys, pairs);
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
        if constexpr (P.biased) pairs.load(p.problem, m, w.head, r.first, j * N + accumulator<N>::column());
        wait_for_keys(k);
        multiply_keys(x, s, k, group);
        wgmma_wait<0>();
        take_scores(k, j);
        split<far_lo>(parts, x.main);
        AP_UNROLL
        for (int b = 0; b < blocks; ++b) {
          const bool begins = b * 64 % value_keys == 0, ends = (b + 1) * 64 % value_keys == 0;
          if (begins) Waits::values(s.ring, v);
          multiply_values(out, part, parts, r.shrink, s, v, b, ends);
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
