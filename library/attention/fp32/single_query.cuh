// SPDX-License-Identifier: Apache-2.0
// Attention of one query by a warp, in FP32: few_keys keys at a time.
#pragma once
#include <antiphase/device/lanes.cuh>
#include "library/attention/fp32/fp32_kernels.hpp"
#include "library/attention/fp32/scores.cuh"

namespace antiphase::attentions {
inline namespace AP_TARGET {

// Query i, which is one of the member's, in rows of at most `Columns` elements.
template <int Columns> AP_DEV void attend_query(const scores& s, int i) {
  constexpr int of_lane = Columns / warp_size;
  const problem& p = s.p;
  const int kv_head = s.head / static_cast<int>(p.heads / p.kv_heads), depth = static_cast<int>(p.depth);
  const float* const q = in_global_memory(query_row(p, p.q, s.m, s.head, i));
  float o[of_lane], largest = minus_infinity, sum = 0;
  AP_UNROLL
  for (int c = 0; c < of_lane; ++c) o[c] = -0.f;  // one key of weight 1 gives its V bit for bit, -0 too
  AP_ROLLED
  for (int begin = s.see.begin(i), end = s.see.end(i); begin < end; begin += few_keys) {
    float t[few_keys] = {}, now = largest;
    const float* k[few_keys];
    const float* v[few_keys];
    // Keys past the last are the last, and hidden: loads of all wait for none.
    const auto key = [&](int j) { return begin + j < end ? begin + j : end - 1; };
    AP_UNROLL
    for (int j = 0; j < few_keys; ++j) {
      k[j] = in_global_memory(key_row(p, p.k, s.m, kv_head, key(j)));
      v[j] = in_global_memory(key_row(p, p.v, s.m, kv_head, key(j)));
    }
    AP_UNROLL
    for (int n = 0; n < of_lane; ++n) {
      const int c = lane_index() + n * warp_size;
      if (c >= depth) break;
      AP_UNROLL
      for (int j = 0; j < few_keys; ++j) t[j] = multiply_add(q[c], k[j][c], t[j]);
    }
    AP_UNROLL
    for (int by = 1; by < warp_size; by *= 2) {
      AP_UNROLL
      for (int j = 0; j < few_keys; ++j) t[j] += shuffle_xor(t[j], by);
    }
    bool hidden[few_keys];
    AP_UNROLL
    for (int j = 0; j < few_keys; ++j) {
      hidden[j] = begin + j >= end || s.hides(i, begin + j);
      if (hidden[j]) continue;
      t[j] = s.of(t[j], i, begin + j);
      now = t[j] > now ? t[j] : now;
    }
    const float reference = now == minus_infinity ? 0.f : now,
                shrink = exp2_accurate((largest - reference) * s.factor);
    largest = now;
    sum *= shrink;
    AP_UNROLL
    for (int j = 0; j < few_keys; ++j) {
      t[j] = hidden[j] ? 0.f : exp2_accurate((t[j] - reference) * s.factor);
      sum += t[j];
    }
    AP_UNROLL
    for (int n = 0; n < of_lane; ++n) {
      const int c = lane_index() + n * warp_size;
      if (c >= depth) break;
      o[n] *= shrink;
      AP_UNROLL
      for (int j = 0; j < few_keys; ++j)
        if (!hidden[j]) o[n] = multiply_add(t[j], v[j][c], o[n]);
    }
  }
  float* const out = in_global_memory(query_row(p, p.out, s.m, s.head, i));
  AP_UNROLL
  for (int n = 0; n < of_lane; ++n) {
    const int c = lane_index() + n * warp_size;
    if (c < depth) out[c] = sum == 0 ? 0.f : o[n] / sum;
  }
  if (lane_index() == 0) store_softmax(s, i, largest, sum);
}
// Queries that see so few keys by mask and window that parts of FP16 would be less accurate.
AP_DEV bool sees_few_keys(const scores& s, int i) {
  const int count = s.see.end(i) - s.see.begin(i);
  return count >= 1 && count <= few_keys;
}

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
