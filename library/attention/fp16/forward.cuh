// SPDX-License-Identifier: Apache-2.0
// FP32-accurate attention on Tensor Cores: three products of FP16 parts for Q K^T and for P V (TMA and wgmma,
// sm_90a).
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/atomic.cuh>
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/bulk.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/registers.cuh>
#include <antiphase/device/tensor_copy.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/wgmma.cuh>
#include <cmath>

#include "library/attention/fp16/forward.hpp"
#include "library/attention/fp16/forward_tile.cuh"
#include "library/attention/fp16/visible_bits.cuh"
#include "library/split_multiply.cuh"

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

// The waits between the parts of a block. A parameter, so that tests can take one wait away.
template <forward_policy P> struct forward_waits {
  static constexpr int computing_warps = 4 * P.groups;
  using ring = channel<mbarrier, P.slots, threads(1), warps(computing_warps)>;
  AP_DEV static void values(ring& r, cursor<P.slots> at) { r.wait(at, full); }
  AP_DEV static void last_part() { wgmma_wait<0>(); }
};

template <forward_policy P, class Waits = forward_waits<P>> struct forward_kernel {
  static constexpr int D = P.depth, N = P.keys, chunks = D / 64;
  static constexpr int columns = P.columns, part_columns = columns < 64 ? columns : 64;
  static constexpr int column_parts = (columns + 63) / 64, last_columns = columns - (column_parts - 1) * 64;
  static constexpr int value_keys = N / chunks;  // of a slot with a part of V
  static constexpr int threads = (1 + P.groups) * warpgroup_size, computing_warps = Waits::computing_warps;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  static_assert(D == 64 || D == 128);
  static_assert(columns % 16 == 0 && columns > D - 64 && columns <= D);
  static_assert(N == 64 || N == 128);
  static_assert(N >= 64 * chunks);
  static_assert(!(P.biased || P.hidden) || N == visible_bits::columns);

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = forward_params;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  // An item: the tile of queries of a member and head.
  struct item {
    std::int32_t member, head, tile;  // member < 0: there are no more
  };
  struct slot {
    alignas(1024) f16 element[2 * N * 64];
  };
  struct storage {
    parts_chunk<P.queries()> q[chunks];
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
  // Starts Q K^T of the warpgroup's 64 queries, in one sum. Mixed products of parts with far_lo are 2^11
  // times as large: they are waited for, and shrunk.
  using score_sums = accumulator<N>;
  AP_DEV static void multiply_keys(score_sums& x, const storage& s, slot_cursor at, int group, bool far) {
    constexpr int q_lo = P.queries() * 128, k_lo = N * 128;  // bytes to the lo parts
    matrix_descriptor q[chunks], k[chunks];
    AP_UNROLL
    for (int c = 0; c < chunks; ++c, ++at) {
      q[c] = describe(s.q[c].part[0][64 * group], 16, 1024, swizzle::bytes_128);
      k[c] = describe(s.slots[at.index].element, 16, 1024, swizzle::bytes_128);
    }
    const auto of_q = [&](auto part, int i) { return further(q[i / 4], part * q_lo + i % 4 * 32); };
    const auto of_k = [&](auto part, int i) { return further(k[i / 4], part * k_lo + i % 4 * 32); };
    wgmma_fence();
    multiply_mixed<major::k, major::k>(x.value, columns / 16, of_q, of_k, false);
    if (far) {
      wgmma_commit();
      wgmma_wait<0>();
      x.pin();
      x.scale(1.f / far_lo);
      wgmma_fence();
    }
    multiply_main<major::k, major::k>(x.value, columns / 16, of_q, of_k, true);
    wgmma_commit();
  }
  // P V of a tile, added to the outputs, which are scaled at first. Parts, of 64 keys and at most 64 columns,
  // are fresh sums: the mixed products, 2^11 times as large, are shrunk before the main ones are added. Two
  // parts are in progress, so that the Tensor Cores have work while the other one is shrunk or added; one
  // where a bias, or 128 columns in a warpgroup alone, leaves too few registers. Of two, the odd one has the
  // last columns where a row has two parts.
  static constexpr int blocks = N / 64;
  static constexpr bool two_in_progress = !P.biased && (D == 64 || P.groups > 1);
  static_assert(two_in_progress || last_columns == part_columns);
  AP_DEV static void multiply_values(accumulator<columns>& out, const halves<N>& p, const float (&shrink)[2],
                                     storage& s, slot_cursor first) {
    constexpr int parts = blocks * column_parts;
    accumulator<part_columns> even;
    accumulator<column_parts == 2 ? last_columns : part_columns> odd;
    const auto with_sum = [&](int t, const auto& use) {
      if (two_in_progress && t % 2 == 1)
        use(odd);
      else
        use(even);
    };
    const auto key_of = [](int t) { return t / column_parts * 64; };
    const auto slot_of = [&](int t) {
      slot_cursor at = first;
      if (key_of(t) >= value_keys) ++at;
      return at;
    };
    const auto begins_slot = [&](int t) { return t % column_parts == 0 && key_of(t) % value_keys == 0; };
    const auto of_p = [&](int t) {
      return [&p, t ](auto part, int i) -> const auto& { return p.part[part][t / column_parts * 4 + i]; };
    };
    const auto of_v = [&](int t) {
      const f16* const from = s.slots[slot_of(t).index].element +
                              (t % column_parts * 2 * value_keys + key_of(t) % value_keys) * 64;
      const matrix_descriptor v = describe(from, 16, 1024, swizzle::bytes_128);
      return [v](auto part, int i) { return further(v, part * value_keys * 128 + i * 2048); };
    };
    const auto start_mixed = [&](int t) {
      if (begins_slot(t)) Waits::values(s.ring, slot_of(t));
      wgmma_fence();
      with_sum(t, [&](auto& sum) { multiply_mixed<major::mn>(sum.value, 4, of_p(t), of_v(t), false); });
      wgmma_commit();
    };
    const auto start_main = [&](int t) {
      with_sum(t, [&](auto& sum) {
        sum.pin();
        sum.scale(1.f / far_lo);
        wgmma_fence();
        multiply_main<major::mn>(sum.value, 4, of_p(t), of_v(t), true);
      });
      wgmma_commit();
    };
    const auto add = [&](int t) {
      const int column = t % column_parts * 64;
      with_sum(t, [&](auto& sum) {
        sum.pin();
        const float* const scale =
            &s.v_scale[slot_of(t).index][key_of(t) % value_keys / 64][column + sum.column()];
        AP_UNROLL
        for (int i = 0; i < sum.count; ++i) {
          const pack<float, 2> of_columns = load_pack<2>(scale + i / 4 * 8);
          float& o = out.value[column / 2 + i];
          o = multiply_add(sum.value[i], of_columns.element[i % 2],
                           key_of(t) == 0 ? o * shrink[out.half_of(i)] : o);
        }
      });
      if (t + 1 == parts || begins_slot(t + 1)) s.ring.release(slot_of(t), read_by_warp{});
    };
    if constexpr (!two_in_progress) {
      AP_UNROLL
      for (int t = 0; t < parts; ++t) {
        start_mixed(t);
        wgmma_wait<0>();
        start_main(t);
        if (t + 1 < parts)
          wgmma_wait<0>();
        else
          Waits::last_part();
        add(t);
      }
      return;
    }
    start_mixed(0);
    start_mixed(1);
    AP_UNROLL
    for (int t = 0; t < parts; t += 2) {
      wgmma_wait<1>();
      start_main(t);
      wgmma_wait<1>();
      start_main(t + 1);
      wgmma_wait<1>();
      add(t);
      if (t + 2 < parts) {
        start_mixed(t + 2);
        wgmma_wait<1>();
      } else {
        Waits::last_part();
      }
      add(t + 1);
      if (t + 2 < parts) start_mixed(t + 3);
    }
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  using tile = forward_tile<columns, N>;
  using rows = typename tile::rows;
  // Scores to probabilities, times 2^15. `k_scale`: of each 64 keys.
  using tile_pairs = pairs_of_tile<false, N>;
  AP_DEV static void weigh(const params& p, score_sums& x, rows& r, int first_key,
                           const float (&k_scale)[blocks], const tile_pairs& pairs,
                           const visible_tile& visible) {
    float to_score[blocks];
    AP_UNROLL
    for (int b = 0; b < blocks; ++b)
      to_score[b] = power_of_two(r.exponent + exponent_of(k_scale[b]), p.factor.mantissa);
    if constexpr (P.biased) {
      x.each([&](float& e, int, int column) { e *= to_score[column / 64]; });
      pairs.add_bias(x, N);
      AP_UNROLL
      for (int b = 0; b < blocks; ++b) to_score[b] = 1;
      if (p.visible.words != nullptr) visible.hide(x);
    }
    if constexpr (P.hidden) visible.hide(x);
    tile::weigh(x, r, first_key, to_score);
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
      const bool far = p.far[w.member * p.problem.kv_heads + kv_head] != 0;
      score_sums x;
      tile_pairs pairs;
      visible_tile visible;
      accumulator<columns> out = {};
      halves<N> parts;
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
        weigh(p, x, r, j * N, scale_of_keys, pairs, visible);
      };
      if (keys.end <= keys.begin) {
        skip(2 * (of_block.end - of_block.begin));
        s.queries.release(query, by_warp{});
        tile::store(p.problem, out, r, w.head, m);
        continue;
      }
      const int before = keys.begin - of_block.begin, behind = of_block.end - keys.end;
      skip(2 * before);
      for (int j = keys.begin; j < keys.end; ++j) {
        const slot_cursor k = advanced(at), v = advanced(at);
        if constexpr (P.biased) {
          pairs.load(p.problem.bias, m, w.head, r.first, j * N + accumulator<N>::column());
          if (p.visible.words != nullptr)
            visible.load(p.visible, w.member, w.head, r.first - lane_index() / 4, j);
        }
        if constexpr (P.hidden) visible.load(p.visible, w.member, w.head, r.first - lane_index() / 4, j);
        wait_for_keys(k);
        multiply_keys(x, s, k, group, far);
        wgmma_wait<0>();
        take_scores(k, j);
        split<far_lo>(parts, x);
        multiply_values(out, parts, r.shrink, s, v);
      }
      skip(2 * behind);
      tile::store(p.problem, out, r, w.head, m);
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
