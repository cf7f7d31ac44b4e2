// SPDX-License-Identifier: Apache-2.0
// Gradients of attention by a warp for each row, in FP32, from a softmax of their own.
#pragma once
#include <antiphase/device/lanes.cuh>
#include "library/attention/fp32/fp32_kernels.hpp"
#include "library/attention/fp32/scores.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// Numbers of a query: its largest score, as scores::of() has it, 1 / the sum of the weights, and D, the sum
// of dP weighted. A query that sees no key takes no part: `inverse` is 0.
struct query_numbers {
  float largest, inverse, d;
};

// A lane has every 32nd of the rows' at most `Columns` elements.
template <int Columns> struct warp_gradients {
  static constexpr int of_lane = Columns / warp_size, at_once = few_keys;
  using part = float[of_lane];

  const scores& s;
  const row_gradients& results;
  const written_pairs& bias_gradient;
  int kv_head;

  AP_DEV warp_gradients(const scores& of, const row_gradients& to, const written_pairs& bias)
      : s(of),
        results(to),
        bias_gradient(bias),
        kv_head(of.head / static_cast<int>(of.p.heads / of.p.kv_heads)) {}

  AP_DEV query_numbers numbers_of(int i) const {
    float largest = minus_infinity;
    double sum = 0, d = 0;  // of as many terms as there are keys
    walk_keys(i, [&](int j, float(&t)[at_once], const float(&dp)[at_once], const auto&) {
      bool hidden[at_once];
      float now = largest;
      AP_UNROLL
      for (int n = 0; n < at_once; ++n) {
        hidden[n] = hides(i, j + n);
        if (hidden[n]) continue;
        t[n] = s.of(t[n], i, j + n);
        now = t[n] > now ? t[n] : now;
      }
      const float reference = now == minus_infinity ? 0.f : now,
                  shrink = exp2_accurate((largest - reference) * s.factor);
      largest = now;
      sum *= shrink, d *= shrink;
      AP_UNROLL
      for (int n = 0; n < at_once; ++n) {
        if (hidden[n]) continue;
        const float weight = exp2_accurate((t[n] - reference) * s.factor);
        sum += weight, d += double{weight} * double{dp[n]};
      }
    });
    if (sum == 0) return {largest, 0, 0};
    return {largest, static_cast<float>(1 / sum), static_cast<float>(d / sum)};
  }
  // dQ of query i, and its row of the bias' gradient.
  AP_DEV void store_query(int i, const query_numbers& of) const {
    part sum = {};
    walk_keys(i, [&](int j, const float(&t)[at_once], const float(&dp)[at_once], const auto& rows) {
      AP_UNROLL
      for (int n = 0; n < at_once; ++n) {
        if (j + n >= s.m.keys) break;
        const bool hidden = of.inverse == 0 || hides(i, j + n);
        const float slope = hidden ? 0.f : weight(t[n], i, j + n, of) * (dp[n] - of.d);
        if (!hidden) add(sum, slope, rows.first[n]);
        if (bias_gradient.data != nullptr && lane_index() == 0)
          in_global_memory(bias_gradient.data)[s.place_in(bias_gradient, i, j + n)] = slope;
      }
    });
    store(query_row(s.p, results.q, s.m, s.head, i), sum, scale_of(s.p));
  }
  // Adds what the queries from `first` to end - 1 make of dK and dV of key j to the results, which count as 0
  // if `is_first`; if `is_last`, dK is multiplied by the scale.
  AP_DEV void add_to_key(int j, int first, int end, const query_numbers* numbers, bool is_first,
                         bool is_last) const {
    float* const k_gradient = key_row(s.p, results.k, s.m, kv_head, j);
    float* const v_gradient = key_row(s.p, results.v, s.m, kv_head, j);
    part of_k = {}, of_v = {};
    if (!is_first) load(of_k, k_gradient), load(of_v, v_gradient);
    part k, v;
    load(k, key_row(s.p, s.p.k, s.m, kv_head, j));
    load(v, key_row(s.p, s.p.v, s.m, kv_head, j));
    walk(
        k, v, first, end, [&](int i) { return query_row(s.p, s.p.q, s.m, s.head, i); },
        [&](int i) { return query_row(s.p, results.out, s.m, s.head, i); },
        [&](int i, const float(&t)[at_once], const float(&dp)[at_once], const auto& rows) {
          AP_UNROLL
          for (int n = 0; n < at_once; ++n) {
            if (i + n >= end) break;
            const query_numbers of = numbers[i + n - first];
            if (of.inverse == 0 || s.hides(i + n, j)) continue;
            const float w = weight(t[n], i + n, j, of);
            add(of_v, w, rows.second[n]);
            add(of_k, w * (dp[n] - of.d), rows.first[n]);
          }
        });
    store(k_gradient, of_k, is_last ? scale_of(s.p) : 1);
    store(v_gradient, of_v, 1);
  }

 private:
  struct other_rows {
    const float *first[at_once], *second[at_once];
  };
  AP_DEV int depth() const { return static_cast<int>(s.p.depth); }
  AP_DEV bool hides(int i, int j) const { return j >= s.m.keys || s.hides(i, j); }
  AP_DEV float weight(float product, int i, int j, const query_numbers& of) const {
    return exp2_accurate((s.of(product, i, j) - of.largest) * s.factor) * of.inverse;
  }
  // Calls use(c, n) for the lane's columns.
  template <class Use> AP_DEV void each(Use use) const {
    AP_UNROLL
    for (int n = 0; n < of_lane; ++n) {
      const int c = lane_index() + n * warp_size;
      if (c < depth()) use(c, n);
    }
  }
  AP_DEV void load(part& to, const float* from) const {
    each([&](int c, int n) { to[n] = in_global_memory(from)[c]; });
  }
  AP_DEV void store(float* to, const part& from, float factor) const {
    each([&](int c, int n) { in_global_memory(to)[c] = factor * from[n]; });
  }
  AP_DEV void add(part& to, float factor, const float* row) const {
    each([&](int c, int n) { to[n] = multiply_add(factor, row[c], to[n]); });
  }
  // Calls use(index, products of `first`, products of `second`, the others' rows) for the others from `begin`
  // to end - 1, at_once at a time. Rows past the last are the last: loads of all wait for none.
  template <class First, class Second, class Use> AP_DEV void walk(const part& first, const part& second,
                                                                   int begin, int end, First first_row,
                                                                   Second second_row, Use use) const {
    AP_ROLLED
    for (int from = begin; from < end; from += at_once) {
      float of_first[at_once] = {}, of_second[at_once] = {};
      other_rows rows;
      AP_UNROLL
      for (int n = 0; n < at_once; ++n) {
        const int at = from + n < end ? from + n : end - 1;
        rows.first[n] = in_global_memory(first_row(at)), rows.second[n] = in_global_memory(second_row(at));
      }
      each([&](int c, int own) {
        AP_UNROLL
        for (int n = 0; n < at_once; ++n) {
          of_first[n] = multiply_add(first[own], rows.first[n][c], of_first[n]);
          of_second[n] = multiply_add(second[own], rows.second[n][c], of_second[n]);
        }
      });
      AP_UNROLL
      for (int by = 1; by < warp_size; by *= 2) {
        AP_UNROLL
        for (int n = 0; n < at_once; ++n) {
          of_first[n] += shuffle_xor(of_first[n], by);
          of_second[n] += shuffle_xor(of_second[n], by);
        }
      }
      use(from, of_first, of_second, rows);
    }
  }
  // Calls use() with products of Q and K, and dP, of the keys that query i sees by mask and window.
  template <class Use> AP_DEV void walk_keys(int i, Use use) const {
    part q, g;
    load(q, query_row(s.p, s.p.q, s.m, s.head, i));
    load(g, query_row(s.p, results.out, s.m, s.head, i));
    walk(
        q, g, s.see.begin(i), s.see.end(i), [&](int j) { return key_row(s.p, s.p.k, s.m, kv_head, j); },
        [&](int j) { return key_row(s.p, s.p.v, s.m, kv_head, j); }, use);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
