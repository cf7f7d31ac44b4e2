// SPDX-License-Identifier: Apache-2.0
// The mathematics of a tile of attention's forward: scores to probabilities, and what is stored.
#pragma once
#include <antiphase/device/accumulator.cuh>
#include <antiphase/device/exponential.cuh>
#include <antiphase/device/math.cuh>
#include <cmath>

#include "library/attention/fp16/pairs_tile.cuh"
#include "library/attention/fp16/split_pass.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// Scores and outputs of a warpgroup's 64 queries: N keys in a tile, outputs of Columns elements.
template <int Columns, int N> struct forward_tile {
  static constexpr int blocks = N / 64;
  static constexpr float up = 1 << part_exponent;
  using scores = accumulator<N>;
  using outputs = accumulator<Columns>;

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

  AP_DEV static visible_columns visible_in(const rows& r, int first_key) {
    const int key = first_key + scores::column();
    return {{r.sees.begin(r.first) - key, r.sees.begin(r.first + 8) - key},
            {r.sees.end(r.first) - key, r.sees.end(r.first + 8) - key}};
  }
  // Products to probabilities, times 2^15. `to_score`: what turns those of each 64 keys into scores.
  AP_DEV static void weigh(scores& x, rows& r, int first_key, const float (&to_score)[blocks]) {
    float from[2];
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

  // Columns from `first` on, a multiple of 8; with the first ones what is stored of the softmax.
  AP_DEV static void store(const problem& p, const outputs& out, const rows& r, int head, const member& m,
                           int first = 0) {
    AP_UNROLL
    for (int h = 0; h < 2; ++h) {
      const float sum = sum_of_row(r.sum[h]);
      const int row = r.first + 8 * h, depth = static_cast<int>(p.depth);
      if (row >= m.queries) continue;
      const float weight = sum * (1 / up), back = sum == 0 ? 0 : 1 / weight;
      float* const to = query_row(p, p.out, m, head, row);
      AP_UNROLL
      for (int i = 2 * h; i < out.count; i += 4) {
        AP_UNROLL
        for (int e = 0; e < 2; ++e) {
          const int c = first + out.column() + out.column_of(i + e);
          if (c < depth) to[c] = out.value[i + e] * back;
        }
      }
      if (first + out.column() != 0) continue;
      if (p.softmax != nullptr) {
        const std::int64_t at = stored_row(p, m, head, row);
        p.softmax[2 * at] = r.top[h], p.softmax[2 * at + 1] = weight;
      }
      if (p.logsumexp != nullptr)
        store_logsumexp(p.logsumexp, p, m, head, row, (r.top[h] + log2f(weight)) * 0.693147181f);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
