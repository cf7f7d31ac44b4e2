// SPDX-License-Identifier: Apache-2.0
// Attention of queries that see few keys, in FP32: parts of FP16 would be less accurate there.
#pragma once
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/launch.cuh>
#include "src/attention/fp32_kernels.hpp"
#include "src/attention/scores.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// Warp n of a head's few_warps has a query. Few keys are seen by at most few_keys queries at the beginning,
// which a mask cuts off, by as many at the end, which a window does, or by all.
struct few_keys_attention {
  static constexpr int threads = 32 * few_warps;
  static constexpr bool overlaps_previous = true;
  using params = few_keys_arguments;
  struct storage {};

  AP_DEV void operator()(const params& a) const {
    const problem& p = a.problem;
    wait_for_previous_grid();
    const int line = static_cast<int>(block_index().x), heads = static_cast<int>(p.heads),
              warp = warp_index();
    const member m = member_of(p, line / heads);
    const scores s(p, m, line % heads);
    if (m.keys <= few_keys || s.see.high <= s.see.low + few_keys) {
      for (int i = warp; i < m.queries; i += few_warps) compute(s, i);
      return;
    }
    const int end_of_first = few_keys - s.see.high + 1;
    if (warp < few_keys) {
      compute(s, end_of_first - few_keys + warp);
    } else {
      const int i = m.keys - s.see.low - 2 * few_keys + warp;
      if (i >= end_of_first) compute(s, i);
    }
  }

 private:
  AP_DEV static void compute(const scores& s, int i) {
    const problem& p = s.p;
    if (i < 0 || i >= s.m.queries) return;
    const int begin = s.see.begin(i), count = s.see.end(i) - begin;
    if (count < 1 || count > few_keys) return;
    const int kv_head = s.head / static_cast<int>(p.heads / p.kv_heads), depth = static_cast<int>(p.depth);
    const float* const q = in_global_memory(query_row(p, p.q, s.m, s.head, i));
    float t[few_keys], largest = minus_infinity;
    bool hidden[few_keys];
    AP_UNROLL
    for (int j = 0; j < few_keys; ++j) {
      t[j] = 0;
      hidden[j] = j >= count || s.hides(i, begin + j);
      if (hidden[j]) continue;
      const float* const k = in_global_memory(key_row(p, p.k, s.m, kv_head, begin + j));
      for (int c = lane_index(); c < depth; c += warp_size) t[j] = multiply_add(q[c], k[c], t[j]);
      AP_UNROLL
      for (int by = 1; by < warp_size; by *= 2) t[j] += shuffle_xor(t[j], by);
      t[j] = s.of(t[j], i, begin + j);
      largest = t[j] > largest ? t[j] : largest;
    }
    const float reference = largest == minus_infinity ? 0.f : largest;
    float sum = 0;
    AP_UNROLL
    for (int j = 0; j < few_keys; ++j) {
      t[j] = hidden[j] ? 0.f : exp2_accurate((t[j] - reference) * s.factor);
      sum += t[j];
    }
    float* const out = in_global_memory(query_row(p, p.out, s.m, s.head, i));
    for (int c = lane_index(); c < depth; c += warp_size) {
      float o = -0.f;  // one key of weight 1 gives its V bit for bit, -0 too
      AP_UNROLL
      for (int j = 0; j < few_keys; ++j)
        if (!hidden[j])
          o = multiply_add(t[j], in_global_memory(key_row(p, p.v, s.m, kv_head, begin + j))[c], o);
      out[c] = sum == 0 ? 0.f : o / sum;
    }
    if (lane_index() == 0) store_softmax(s, i, largest, sum);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
