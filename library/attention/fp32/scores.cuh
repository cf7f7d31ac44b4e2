// SPDX-License-Identifier: Apache-2.0
// Scores of a pair of query and key, and which pairs take no part.
#pragma once
#include <antiphase/device/exponential.cuh>
#include <antiphase/device/global.cuh>
#include <antiphase/device/math.cuh>
#include "library/attention/members.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

constexpr float minus_infinity = -INFINITY;
constexpr float least_factor =
    0x1p-100f;  // smallest scale that is applied after the largest score is subtracted
constexpr double log2_of_e = 1.4426950408889634, ln_of_2 = 0.6931471805599453;

// The exponent of 2 of a pair is (t - m) * factor, with t from the product of its rows by of(), and m the
// largest t of the query, which is subtracted first, so that the largest weight is exactly 1. Without a bias
// t is the product itself. A negative scale would turn its order around, and factors near 0 would lose their
// bits or let a hidden score of -infinity become NaN: both are multiplied in first, as with a bias.
struct scores {
  const problem& p;
  const member& m;
  reach see;
  int head;
  bool scaled;  // t is the scaled product
  float factor;
  bool may_hide;  // apart from the reach

  AP_DEV scores(const problem& of, const member& in, int of_head)
      : p(of),
        m(in),
        see(reach_of(of, in)),
        head(of_head),
        scaled(of.bias.data != nullptr || scale_of(of) < least_factor),
        factor(static_cast<float>(log2_of_e * (scaled ? 1.0 : static_cast<double>(scale_of(of))))),
        may_hide(of.bias.data != nullptr || of.visible.data != nullptr) {}

  // `Pairs`: pairs or written_pairs.
  template <class Pairs> AP_DEV std::int64_t place_in(const Pairs& x, int i, int j) const {
    return m.index * x.member_stride + head * x.head_stride + i * x.query_stride + j * x.key_stride;
  }
  template <class T> AP_DEV T at(const pairs<T>& x, int i, int j) const {
    return in_global_memory(x.data)[place_in(x, i, j)];
  }
  // For pairs that take part.
  AP_DEV float of(float product, int i, int j) const {
    if (!scaled) return product;
    const float t = scale_of(p);
    return p.bias.data != nullptr ? multiply_add(t, product, at(p.bias, i, j)) : t * product;
  }
  // True if the pair contributes nothing: it lies outside the sequence, or is masked.
  AP_DEV bool hides(int i, int j) const {
    if (i >= m.queries || !see.sees(i, j)) return true;
    return may_hide && ((p.visible.data != nullptr && at(p.visible, i, j) == 0) ||
                        (p.bias.data != nullptr && at(p.bias, i, j) == minus_infinity));
  }
  // Whether no pair of these queries and keys is hidden.
  AP_DEV bool all_seen(int first_query, int queries, int first_key, int keys) const {
    return !may_hide && first_query + queries <= m.queries &&
           see.begin(first_query + queries - 1) <= first_key && first_key + keys <= see.end(first_query);
  }
};

// Beyond 2^30 the rounding error of a logit exceeds this bound: weights are then wrong, but finite.
constexpr float most_exponent = 64;
AP_DEV float clamped_exponent(float x) {
  return x > most_exponent ? most_exponent : x < -most_exponent ? -most_exponent : x;
}

// What attention_backward() needs of a query: `top`, its largest score as an exponent of 2, rounded, and the
// sum of 2 to the (score - top). Made from the largest t and the sum of 2 to the (t - largest) * factor:
// rounding `top` would put an error into every weight of the row, so the sum takes it back.
struct stored_softmax {
  float top, sum;
};
AP_DEV stored_softmax softmax_of(float largest, float factor, float sum) {
  if (sum == 0) return {minus_infinity, 0};
  const float top = largest * factor;
  return {top, sum * exp2_accurate(clamped_exponent(fmaf(largest, factor, -top)))};
}
// From a logsumexp. The rounding error of `top` goes into the sum: it would be an error of every weight.
AP_DEV stored_softmax softmax_from(float logsumexp) {
  const double exact = static_cast<double>(logsumexp) * log2_of_e;
  const float top = static_cast<float>(exact), rest = static_cast<float>(exact - static_cast<double>(top));
  const bool sees_keys = rest == rest;  // no infinity
  return {top, sees_keys ? exp2_accurate(clamped_exponent(rest)) : 0};
}
// log of the sum of exp(score).
AP_DEV float logsumexp_of(const scores& s, float largest, float sum) {
  if (sum == 0) return minus_infinity;
  return (s.scaled ? largest : largest * scale_of(s.p)) + logf(sum);
}
// The weight of a pair that takes part; `inverse`: 1 / stored_softmax::sum.
AP_DEV float weight_of(float t, float factor, float top, float inverse) {
  const float exponent = fmaf(t, factor, -top);
  return exp2_accurate(exponent > most_exponent ? most_exponent : exponent) * inverse;
}
AP_DEV void store_softmax(const scores& s, int i, float largest, float sum) {
  if (s.p.logsumexp != nullptr)
    store_logsumexp(in_global_memory(s.p.logsumexp), s.p, s.m, s.head, i, logsumexp_of(s, largest, sum));
  if (s.p.softmax == nullptr) return;
  const std::int64_t row = stored_row(s.p, s.m, s.head, i);
  const stored_softmax stored = softmax_of(largest, s.factor, sum);
  in_global_memory(s.p.softmax)[2 * row] = stored.top;
  in_global_memory(s.p.softmax)[2 * row + 1] = stored.sum;
}
// The softmax of a query as the forward stored it, or from the logsumexp.
AP_DEV stored_softmax softmax_of_query(const problem& p, const member& m, int head, std::int64_t i) {
  if (p.softmax == nullptr)
    return softmax_from(in_global_memory(p.logsumexp)[logsumexp_of_head(p, m, head) + m.first_query + i]);
  const float* const of = in_global_memory(p.softmax) + 2 * stored_row(p, m, head, i);
  return {of[0], of[1]};
}

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
