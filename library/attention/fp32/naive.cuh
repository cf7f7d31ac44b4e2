// SPDX-License-Identifier: Apache-2.0
// Attention with all scores in memory: three kernels, one output per thread.
#pragma once
#include <antiphase/device/exponential.cuh>
#include <antiphase/device/kernel.cuh>
#include "library/attention/fp32/fp32_kernels.hpp"
#include "library/attention/fp32/scores.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// plan: scores, softmax in place, product. A score becomes a weight; a pair that is hidden takes no part, and
// its weight is hidden_weight.
template <naive_stage Stage> struct naive_attention {
  static constexpr int threads = 256;
  static constexpr float hidden_weight = -1;
  using params = naive_arguments;
  struct storage {};

  AP_DEV void operator()(const params& a) const {
    const problem& p = a.problem;
    const std::int64_t of_row = Stage == naive_stage::scores    ? p.keys
                                : Stage == naive_stage::softmax ? 1
                                                                : p.depth;
    const std::int64_t number = std::int64_t{block_index().x} * threads + thread_index();
    const std::int64_t row = number / of_row, line = row / p.queries;
    if (line >= p.members * p.heads) return;
    const member m = member_of(p, static_cast<int>(line / p.heads));
    const int i = static_cast<int>(row % p.queries);
    if (i >= m.queries) return;
    const scores s(p, m, static_cast<int>(line % p.heads));
    float* const of_query = in_global_memory(a.scores) + row * p.keys;
    const int n = static_cast<int>(number % of_row);
    if constexpr (Stage == naive_stage::scores) {
      if (n < m.keys && !s.hides(i, n)) of_query[n] = score(s, i, n);
    } else if constexpr (Stage == naive_stage::softmax) {
      weigh(s, i, of_query);
    } else {
      in_global_memory(query_row(p, p.out, m, s.head, i))[n] = output(s, of_query, n);
    }
  }

 private:
  AP_DEV static int kv_head(const scores& s) { return s.head / static_cast<int>(s.p.heads / s.p.kv_heads); }
  AP_DEV static float score(const scores& s, int i, int j) {
    const float* const q = in_global_memory(query_row(s.p, s.p.q, s.m, s.head, i));
    const float* const k = in_global_memory(key_row(s.p, s.p.k, s.m, kv_head(s), j));
    float product = 0;
    for (int c = 0; c < s.p.depth; ++c) product = multiply_add(q[c], k[c], product);
    return s.of(product, i, j);
  }
  AP_DEV static void weigh(const scores& s, int i, float* t) {
    float largest = minus_infinity, sum = 0;
    for (int j = 0; j < s.m.keys; ++j)
      if (!s.hides(i, j)) largest = t[j] > largest ? t[j] : largest;
    const float reference = largest == minus_infinity ? 0.0f : largest;
    for (int j = 0; j < s.m.keys; ++j) {
      const bool hidden = s.hides(i, j);
      t[j] = hidden ? hidden_weight : exp2_accurate((t[j] - reference) * s.factor);
      if (!hidden) sum += t[j];
    }
    for (int j = 0; j < s.m.keys; ++j)
      if (t[j] != hidden_weight) t[j] = sum == 0 ? 0.0f : t[j] / sum;
    store_softmax(s, i, largest, sum);
  }
  AP_DEV static float output(const scores& s, const float* weight, int c) {
    float sum = -0.0f;
    bool sees = false;
    for (int j = 0; j < s.m.keys; ++j) {
      if (weight[j] == hidden_weight) continue;
      sees = true;
      sum = multiply_add(weight[j], in_global_memory(key_row(s.p, s.p.v, s.m, kv_head(s), j))[c], sum);
    }
    return sees ? sum : 0.0f;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
