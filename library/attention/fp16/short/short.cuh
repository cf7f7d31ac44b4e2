// SPDX-License-Identifier: Apache-2.0
// FP32-accurate attention of short sequences on Tensor Cores in one kernel, whose blocks split what they
// multiply (wgmma, sm_90a).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/mbarrier.cuh>
#include <antiphase/device/wgmma.cuh>

#include "library/attention/fp16/block_split.cuh"
#include "library/attention/fp16/forward_tile.cuh"
#include "library/attention/fp16/short/short.hpp"
#include "library/attention/fp32/single_query.cuh"
#include "library/split_multiply.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A block has 64 queries of a head, and walks over tiles of 64 keys:
//   K:  load into registers | write its parts | multiply, weigh | load ...
//   V:                        load            |                 | write its parts | multiply
// V is loaded while K is multiplied, and where several blocks fit a multiprocessor they alternate between
// loading and multiplying: they find that antiphase by themselves. The parts are those of forward.cuh with
// far_lo; parts of Q and K of a tile share a scale, and those of V have one for each column. Of two
// warpgroups both compute all scores, and each a half of the outputs' columns. Where parts do not keep the
// contract (contract_pass), the block's queries are computed again in FP32, a warp for each, as are those
// that see few keys.
template <short_policy P> struct short_kernel {
  static constexpr int columns = P.columns, chunks = (columns + 63) / 64, N = 64;
  static constexpr int warps = P.warps(), threads = warps * warp_size;
  // Columns of a warpgroup's outputs.
  static constexpr int own_columns = columns / P.groups, own_chunks = (own_columns + 63) / 64;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr bool overlaps_previous = true;
  static constexpr int blocks_wanted = P.groups > 1 ? 1 : chunks > 1 ? 2 : 3;
  static_assert(columns == 32 || (columns % 64 == 0 && own_columns % 64 == 0 && columns <= 256));
  using params = short_params;

  using splits = block_split<columns, threads>;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  using chunk = typename splits::chunk;
  struct storage {
    chunk q[chunks], k[chunks], v[chunks];
    alignas(16) float v_scale[columns];  // times 2^-15
    // largest magnitudes
    typename splits::column_sizes of_columns;
    float of_q[warps], of_k[warps];
    bool is_unfit[warps];
  };

 private:
  using tile = forward_tile<own_columns, N>;
  using rows_in_registers = typename splits::rows;

  // split
  // ---------------------------------------------------------------------------------------------------------
  // The largest magnitude of the warp's elements.
  AP_DEV static void share_largest(float& of_warp, const rows_in_registers& x) {
    float of_column[4], largest = 0;
    x.largest_of_columns(of_column);
    AP_UNROLL
    for (int e = 0; e < 4; ++e) largest = larger_magnitude(largest, of_column[e]);
    largest = largest_of_warp(largest);
    if (lane_index() == 0) of_warp = largest;
  }
  AP_DEV static float scale_of_tile(const float (&of_warps)[warps]) {
    float largest = 0;
    AP_UNROLL
    for (int w = 0; w < warps; ++w) largest = larger_magnitude(largest, of_warps[w]);
    return scale_for(largest);
  }
  // Returns the largest scale of the thread's columns.
  AP_DEV static float write_values(storage& s, const rows_in_registers& x) {
    float up[4], largest = 0;
    AP_UNROLL
    for (int e = 0; e < 4; ++e) {
      const int column = 4 * x.lane() + e;
      float of_column = 0;
      AP_UNROLL
      for (int i = 0; i < splits::sets; ++i)
        of_column = larger_magnitude(of_column, s.of_columns.of_set[i][column]);
      const float scale = scale_for(of_column);
      if (x.first_row() == 0) s.v_scale[column] = scale * (1.f / (1 << part_exponent));
      largest = fmaxf(largest, scale);
      up[e] = inverse_of(scale);
    }
    splits::write(s.v, x, up, far_lo);
    return largest;
  }

  // multiply
  // ---------------------------------------------------------------------------------------------------------
  static constexpr int lo_at = split_rows * 128;  // bytes to the lo parts
  using scores_of_tile = typename tile::scores;

  // sum = a b: the mixed products, 2^11 times as large, are shrunk before the main ones are added.
  template <major... Majors, int Columns, class A, class B>
  AP_DEV static void multiply(accumulator<Columns>& sum, int steps, const A& a, const B& b) {
    wgmma_fence();
    multiply_mixed<Majors...>(sum.value, steps, a, b, false);
    wgmma_commit();
    wgmma_wait<0>();
    sum.pin();
    sum.scale(1.f / far_lo);
    wgmma_fence();
    multiply_main<Majors...>(sum.value, steps, a, b, true);
    wgmma_commit();
    wgmma_wait<0>();
    sum.pin();
  }
  // x = Q K^T.
  AP_DEV static void multiply_keys(scores_of_tile& x, const storage& s) {
    const auto of = [&](const chunk(&in)[chunks], auto part, int i) {
      return further(describe(in[i / 4].part, 16, 1024, swizzle::bytes_128), part * lo_at + i % 4 * 32);
    };
    const auto of_q = [&](auto part, int i) { return of(s.q, part, i); };
    const auto of_k = [&](auto part, int i) { return of(s.k, part, i); };
    multiply<major::k, major::k>(x, columns / 16, of_q, of_k);
  }
  // Adds P V to the outputs, which are scaled at first: of columns from `first` on.
  AP_DEV static void multiply_values(typename tile::outputs& out, const halves<N>& weights,
                                     const float (&shrink)[2], const storage& s, int first) {
    AP_UNROLL
    for (int c = 0; c < own_chunks; ++c) {
      accumulator<own_columns / own_chunks> sum;
      const auto of_weights = [&](auto part, int i) -> const auto& { return weights.part[part][i]; };
      const auto of_v = [&](auto part, int i) {
        return further(describe(s.v[first / 64 + c].part, 16, 1024, swizzle::bytes_128),
                       part * lo_at + i * 2048);
      };
      multiply<major::mn>(sum, N / 16, of_weights, of_v);
      AP_UNROLL
      for (int i = 0; i < sum.count; ++i) {
        const pack<float, 2> scale = load_pack<2>(&s.v_scale[first + 64 * c + sum.column() + i / 4 * 8]);
        float& o = out.value[32 * c + i];
        o = multiply_add(sum.value[i], scale.element[i % 2], o * shrink[out.half_of(i)]);
      }
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& all) const {
    storage& s = antiphase::shared<storage, shared>();
    wait_for_previous_grid();
    start_next_grid();
    const problem& p = all.problem;
    const int warp = warp_index(), first_column = warp * warp_size / warpgroup_size * own_columns;
    // Tiles with most keys come first, and heads that share K follow each other.
    const int heads = static_cast<int>(p.heads), lines = static_cast<int>(p.members) * heads,
              block = static_cast<int>(block_index().x), head = block % lines % heads,
              kv_head = head / (heads / static_cast<int>(p.kv_heads)),
              first = (all.tiles - 1 - block / lines) * split_rows;
    const member m = member_of(p, block % lines / heads);
    if (first >= m.queries) return;
    const int queries = m.queries - first < split_rows ? m.queries - first : split_rows;
    const scores alone(p, m, head);
    const reach sees = alone.see;
    const int begin = sees.begin(first) / N * N, end = sees.end(first + queries - 1);
    const auto load_keys = [&](rows_in_registers& x, const attentions::heads<const float>& of, int from,
                               bool in_vectors) {
      splits::load(x, key_row(p, of, m, kv_head, from), of.row_stride, m.keys - from, p, in_vectors);
    };

    typename tile::rows r{.first = first + scores_of_tile::row(), .sees = sees};
    typename tile::outputs out = {};
    bool is_unfit = false;
    if (begin < end) {
      rows_in_registers q, k, v;
      splits::load(q, query_row(p, p.q, m, head, first), p.q.row_stride, queries, p, all.q_in_vectors);
      share_largest(s.of_q[warp], q);
      block_barrier();
      const float q_scale = scale_of_tile(s.of_q);
      splits::write(s.q, q, q_scale, scale_of(p) < 0 ? -1.f : 1.f, far_lo);
      r.exponent = exponent_of(q_scale) + all.factor.exponent;
      for (int from = begin; from < end; from += N) {
        load_keys(k, p.k, from, all.k_in_vectors);
        share_largest(s.of_k[warp], k);
        block_barrier();  // of_k is complete, and no thread multiplies the tile of K before
        const float k_scale = scale_of_tile(s.of_k);
        splits::write(s.k, k, k_scale, 1, far_lo);
        load_keys(v, p.v, from, all.v_in_vectors);
        [[maybe_unused]] pairs_of_tile<false, N> pairs;
        const int column = from + scores_of_tile::column();
        if constexpr (P.biased) pairs.load(p, m, head, r.first, column);
        fence_async();
        block_barrier();
        scores_of_tile x;
        multiply_keys(x, s);
        float to_score[1] = {power_of_two(r.exponent + exponent_of(k_scale), all.factor.mantissa)};
        if constexpr (P.biased) {
          pairs.add_to(x, p, m, head, r.first, column, to_score);
          to_score[0] = 1;
        }
        tile::weigh(x, r, from, to_score);
        halves<N> weights;
        attentions::split<far_lo>(weights, x);
        splits::share(s.of_columns, v);
        block_barrier();  // of_columns is complete, and no thread multiplies the tile of V before
        const float v_scale = write_values(s, v);
        const float logits =
            bound_of_logits(scale_of(p), static_cast<int>(p.depth), tile::up * q_scale, tile::up * k_scale);
        const bool fits = logits <= all.most_logit && sums_are_finite(tile::up * v_scale, m.keys);
        is_unfit = warp_any(!fits) || is_unfit;
        if (lane_index() == 0) s.is_unfit[warp] = is_unfit;
        fence_async();
        block_barrier();
        multiply_values(out, weights, r.shrink, s, first_column);
      }
      AP_UNROLL
      for (int w = 0; w < warps; ++w) is_unfit = is_unfit || s.is_unfit[w];
    }
    tile::store(p, out, r, head, m, first_column);
    block_barrier();  // before queries that are computed again are written by other warps
    AP_ROLLED
    for (int i = warp; i < queries; i += warps)
      if (is_unfit || sees_few_keys(alone, first + i)) attend_query<columns>(alone, first + i);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
