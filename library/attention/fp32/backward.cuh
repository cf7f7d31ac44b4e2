// SPDX-License-Identifier: Apache-2.0
// The gradients of attention in FP32 multiply-adds, without atomic additions.
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include "library/attention/fp32/rows.cuh"
#include "library/attention/fp32/scores.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// D_i, the sum of dO_ic O_ic over c, in FP64: one warp for each row.
struct row_dots {
  static constexpr int threads = 128;
  using params = dots_arguments;
  struct storage {};

  AP_DEV void operator()(const params& a) const {
    if (none_flagged(a.flags, a.problem)) return;
    for (unsigned number = block_index().x; number < a.tiles; number += grid_extent().x) compute(a, number);
  }

 private:
  AP_DEV static void compute(const params& a, unsigned number) {
    const problem& p = a.problem;
    const block_item item(number, p.queries, p.heads, threads / warp_size);
    const member m = member_of(p, item.member);
    const int i = item.tile * (threads / warp_size) + warp_index();
    if (i >= m.queries) return;
    const int kv_head = item.head / static_cast<int>(p.heads / p.kv_heads);
    if (!is_flagged(a.flags, p, m, kv_head)) return;
    const float* const out = in_global_memory(query_row(p, read_only(p.out), m, item.head, i));
    const float* const gradient = in_global_memory(query_row(p, a.gradient, m, item.head, i));
    double sum = 0;
    for (int c = lane_index(); c < p.depth; c += warp_size)
      sum += static_cast<double>(gradient[c]) * static_cast<double>(out[c]);
    AP_UNROLL
    for (int by = warp_size / 2; by > 0; by /= 2) sum += shuffle_xor(sum, by);
    if (lane_index() == 0) in_global_memory(a.dots)[stored_row(p, m, item.head, i)] = static_cast<float>(sum);
  }
};

// problem::softmax from problem::logsumexp: a thread for each row.
struct softmax_of_rows {
  static constexpr int threads = 256;
  using params = softmax_arguments;
  struct storage {};

  AP_DEV void operator()(const params& a) const {
    const std::int64_t row = std::int64_t{block_index().x} * threads + thread_index();
    if (row >= a.rows) return;
    const std::int64_t at = row / a.rows_of_head * a.stride + row % a.rows_of_head;
    const stored_softmax of = softmax_from(in_global_memory(a.logsumexp)[at]);
    in_global_memory(a.softmax)[2 * row] = of.top;
    in_global_memory(a.softmax)[2 * row + 1] = of.sum;
  }
};

// plan
// -----------------------------------------------------------------------------------------------------------
// A block owns rows of Q and computes their dQ, or rows of K and V and computes their dK and dV; it walks
// over tiles of 32 of the others. A lane computes P = exp2(score - top) / sum and dS = P (dO V - D) of its
// row of the tile with all rows that its warp owns; then it adds up its columns of
//   dQ = scale dS K, or of dK = scale dS^T Q and dV = P^T dO.
// K's rows walk over all heads that share them, in their order.

template <backward_policy P> struct attention_gradient {
  static constexpr int threads = threads_of_block;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool of_keys = P.owner == owned::keys;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = backward_arguments;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  // Numbers of a query. A row that sees no key takes no part: its sum is 0.
  struct query_numbers {
    float top, inverse, dot;
  };
  struct warp_part {
    alignas(16) float slope[P.rows][keys_of_tile + tile_padding];                 // dS
    alignas(16) float weight[of_keys ? P.rows : 1][keys_of_tile + tile_padding];  // P
    std::uint32_t hidden[keys_of_tile];
  };
  struct storage {
    alignas(16) float own[2][P.tile()][P.depth];                      // Q and dO, or K and V
    alignas(16) float tile[2][keys_of_tile][P.depth + tile_padding];  // K and V, or Q and dO
    query_numbers owned_queries[of_keys ? 1 : P.tile()];
    warp_part of_warp[warps_of_block];
  };

 private:
  AP_DEV static query_numbers numbers_of(const params& a, const scores& s, int i) {
    if (i >= s.m.queries) return {0, 0, 0};
    const std::int64_t row = stored_row(s.p, s.m, s.head, i);
    const float* const softmax = in_global_memory(s.p.softmax) + 2 * row;
    return {softmax[0], softmax[1] == 0 ? 0.0f : 1 / softmax[1], in_global_memory(a.dots)[row]};
  }

  // The sums of what the warp owns.
  struct sums {
    output_rows<P.rows, P.depth> of_slopes;
    output_rows<of_keys ? P.rows : 1, P.depth> of_weights;
  };

  // The lane's row of the tile with the warp's own rows.
  AP_DEV static void weigh(storage& all, warp_part& mine, const params& a, const scores& s, int own,
                           int other) {
    const int first = warp_index() * P.rows, depth = static_cast<int>(s.p.depth);
    float product[P.rows], of_gradient[P.rows];
    multiply_rows(product, &all.own[0][first], all.tile[0][lane_index()], depth);
    multiply_rows(of_gradient, &all.own[1][first], all.tile[1][lane_index()], depth);
    query_numbers of{};
    if constexpr (of_keys) of = numbers_of(a, s, other + lane_index());
    std::uint32_t hidden = 0;
    warp_sync();  // the last tile's weights have been read
    AP_UNROLL
    for (int r = 0; r < P.rows; ++r) {
      const int i = of_keys ? other + lane_index() : own + first + r,
                j = of_keys ? own + first + r : other + lane_index();
      if constexpr (!of_keys) of = all.owned_queries[first + r];
      const bool hides = of.inverse == 0 || s.hides(i, j);
      hidden |= static_cast<std::uint32_t>(hides) << r;
      float weight = 0;
      if (!hides) weight = weight_of(s.of(product[r], i, j), s.factor, of.top, of.inverse);
      mine.slope[r][lane_index()] = hides ? 0.0f : weight * (of_gradient[r] - of.dot);
      if constexpr (of_keys) mine.weight[r][lane_index()] = weight;
    }
    mine.hidden[lane_index()] = hidden;
    if constexpr (!of_keys)
      if (a.bias_gradient.data != nullptr) store_slopes(mine, a, s, own + first, other + lane_index());
    warp_sync();
  }
  // The gradient of the bias: a lane's own elements of dS.
  AP_DEV static void store_slopes(const warp_part& mine, const params& a, const scores& s, int first_row,
                                  int key) {
    const written_pairs& x = a.bias_gradient;
    if (key >= s.m.keys) return;
    float* const to =
        in_global_memory(x.data) + s.m.index * x.member_stride + s.head * x.head_stride + key * x.key_stride;
    for (int r = 0; r < P.rows && first_row + r < s.m.queries; ++r)
      to[(first_row + r) * x.query_stride] = mine.slope[r][lane_index()];
  }

  // All tiles of `count` others from `first` on that one of the block's own rows meets.
  AP_DEV static void walk(storage& all, sums& to, const params& a, const scores& s, int own, int first,
                          int end) {
    const problem& p = s.p;
    const int depth = static_cast<int>(p.depth), kv_head = s.head / static_cast<int>(p.heads / p.kv_heads);
    warp_part& mine = all.of_warp[warp_index()];
    for (int other = first / keys_of_tile * keys_of_tile; other < end; other += keys_of_tile) {
      if constexpr (of_keys) {
        load_rows<false, P.depth>(all.tile[0], query_row(p, p.q, s.m, s.head, other), p.q.row_stride,
                                  s.m.queries - other, depth);
        load_rows<false, P.depth>(all.tile[1], query_row(p, a.results.out, s.m, s.head, other),
                                  a.results.out.row_stride, s.m.queries - other, depth);
      } else {
        load_rows<false, P.depth>(all.tile[0], key_row(p, p.k, s.m, kv_head, other), p.k.row_stride,
                                  s.m.keys - other, depth);
        load_rows<false, P.depth>(all.tile[1], key_row(p, p.v, s.m, kv_head, other), p.v.row_stride,
                                  s.m.keys - other, depth);
      }
      block_barrier();
      weigh(all, mine, a, s, own, other);
      to.of_slopes.template add<false>(mine.slope, all.tile[0], mine.hidden);
      if constexpr (of_keys) to.of_weights.template add<false>(mine.weight, all.tile[1], mine.hidden);
      block_barrier();
    }
  }

  template <class Rows>
  AP_DEV static void store(const Rows& rows, int r, float scale, float* to, std::int64_t depth) {
    AP_UNROLL
    for (int c = 0; c < rows.columns; ++c)
      if (rows.column(c) < depth) in_global_memory(to)[rows.column(c)] = scale * rows.sum[r][c];
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& a) const {
    if (none_flagged(a.flags, a.problem)) return;
    for (unsigned number = block_index().x; number < a.tiles; number += grid_extent().x) {
      compute(a, number);
      block_barrier();  // the tile's memory is free for the next one
    }
  }

 private:
  AP_DEV static void compute(const params& a, unsigned number) {
    storage& all = antiphase::shared<storage, shared_kind::dynamic>();
    const problem& p = a.problem;
    const block_item item(number, of_keys ? p.keys : p.queries, of_keys ? p.kv_heads : p.heads, P.tile());
    const member m = member_of(p, item.member);
    const int shared_by = static_cast<int>(p.heads / p.kv_heads),
              kv_head = of_keys ? item.head : item.head / shared_by;
    const int top = item.tile * P.tile(), rows = of_keys ? m.keys : m.queries;
    if (top >= rows || !is_flagged(a.flags, p, m, kv_head)) return;
    const int bottom = top + P.tile() < rows ? top + P.tile() : rows;
    const int depth = static_cast<int>(p.depth);
    sums to;
    to.of_slopes.clear(0);
    to.of_weights.clear(0);
    if constexpr (of_keys) {
      load_rows<false, P.depth>(all.own[0], key_row(p, p.k, m, kv_head, top), p.k.row_stride, rows - top,
                                depth);
      load_rows<false, P.depth>(all.own[1], key_row(p, p.v, m, kv_head, top), p.v.row_stride, rows - top,
                                depth);
      // Query i sees key j if i + low <= j < i + high.
      const reach see = reach_of(p, m);
      const std::int64_t first = std::int64_t{top} - see.high + 1, end = std::int64_t{bottom} - see.low;
      for (int h = kv_head * shared_by; h < (kv_head + 1) * shared_by; ++h)
        walk(all, to, a, scores(p, m, h), top, first > 0 ? static_cast<int>(first) : 0,
             end < m.queries ? static_cast<int>(end) : m.queries);
    } else {
      load_rows<false, P.depth>(all.own[0], query_row(p, p.q, m, item.head, top), p.q.row_stride, rows - top,
                                depth);
      load_rows<false, P.depth>(all.own[1], query_row(p, a.results.out, m, item.head, top),
                                a.results.out.row_stride, rows - top, depth);
      const scores s(p, m, item.head);
      for (int r = thread_index(); r < P.tile(); r += threads)
        all.owned_queries[r] = numbers_of(a, s, top + r);
      walk(all, to, a, s, top, s.see.begin(top), s.see.end(bottom - 1));
    }
    const int first_row = top + warp_index() * P.rows;
    AP_UNROLL
    for (int r = 0; r < P.rows; ++r) {
      const int row = first_row + r;
      if (row >= rows) continue;
      if constexpr (of_keys) {
        store(to.of_slopes, r, scale_of(p), key_row(p, a.results.k, m, kv_head, row), p.depth);
        store(to.of_weights, r, 1, key_row(p, a.results.v, m, kv_head, row), p.depth);
      } else {
        store(to.of_slopes, r, scale_of(p), query_row(p, a.results.q, m, item.head, row), p.depth);
      }
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
