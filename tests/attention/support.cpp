// SPDX-License-Identifier: Apache-2.0
#include "tests/attention/support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace antiphase::attention_test {
namespace {

std::vector<std::int32_t> offsets_of(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> all(lengths.size() + 1);
  std::partial_sum(lengths.begin(), lengths.end(), all.begin() + 1);
  return all;
}
std::string place_of(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) {
  return fmt::format("member {}, head {}, row {}, column {}", b, h, i, c);
}

// Follows errors and their bounds; NaN is beyond every bound.
struct checker {
  double worst = 0;
  std::string first;

  void within(double found, double expected, double bound, const auto& what) {
    const double error = std::abs(found - expected);
    if (bound > 0 && std::isfinite(bound)) worst = std::max(worst, error / bound);
    if (!(error <= bound) && !(found == expected) && first.empty())
      first = fmt::format("{} is {}, expected {} within {:.3g}: {:.3g} off", what(), found, expected, bound,
                          error);
  }
};

}  // namespace

std::string text(const shape& s) {
  return fmt::format(
      "{} x {} heads ({} of K) of {} x {}, depth {}, mask {}, window {} {}, scale {}{}{}{}{}, padding {}, "
      "offset {}, {} spare",
      s.members, s.heads, s.kv_heads, s.queries, s.keys, s.depth, static_cast<int>(s.mask), s.before,
      s.behind, s.scale_used(), s.bias ? ", bias" : "", s.visible ? ", visible" : "",
      s.rows_first ? ", rows first" : "", s.packed() ? ", packed" : "", s.padding, s.offset, s.spare);
}

rows::rows(const shape& s, bool of_keys)
    : members_(s.members),
      heads_(of_keys ? s.kv_heads : s.heads),
      depth_(s.depth),
      origin_(64 + s.offset),
      member_(0) {
  const std::int64_t width = s.depth + s.padding;
  std::int64_t all = 0;
  for (std::int64_t b = 0; b < s.members; ++b) {
    count_.push_back(of_keys ? s.keys_of(b) : s.queries_of(b));
    first_.push_back(s.packed() ? all : 0);
    all += count_.back();
  }
  const std::int64_t lines = s.packed() ? all : of_keys ? s.keys : s.queries;
  row_ = s.rows_first ? heads_ * width : width;
  head_ = s.rows_first ? width : lines * width;
  if (!s.packed()) member_ = heads_ * lines * width;
  // nothing lies after the last element, not even its row's padding
  host_.resize(static_cast<std::size_t>(
      origin_ + std::max<std::int64_t>((s.packed() ? 1 : members_) * heads_ * lines * width - s.padding, 0)));
  for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = guard_number(i);
}

void rows::each(const std::function<void(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>& f) const {
  for (std::int64_t b = 0; b < members_; ++b)
    for (std::int64_t h = 0; h < heads_; ++h)
      for (std::int64_t i = 0; i < count_[static_cast<std::size_t>(b)]; ++i)
        for (std::int64_t c = 0; c < depth_; ++c) f(b, h, i, c);
}
void rows::fill(std::uint64_t seed, float by) {
  each([&](auto b, auto h, auto i, auto c) {
    host_[place(b, h, i, c)] = by * number_at(seed, place(b, h, i, c));
  });
}
std::string rows::stray() const {
  std::vector<bool> element(host_.size());
  std::string first;
  each([&](auto b, auto h, auto i, auto c) {
    const std::size_t at = place(b, h, i, c);
    element[at] = true;
    if (first.empty() && same_bits(host_[at], guard_number(at)))
      first = place_of(b, h, i, c) + " was not written";
  });
  for (std::size_t i = 0; i < host_.size() && first.empty(); ++i)
    if (!element[i] && !same_bits(host_[i], guard_number(i)))
      first = fmt::format("float {} of {}, which is no element, was written: {}", i, host_.size(), host_[i]);
  return first;
}

call::call(const shape& s, std::uint64_t seed)
    : of(s),
      q(s, false),
      k(s, true),
      v(s, true),
      out(s, false),
      d_out(s, false),
      d_q(s, false),
      d_k(s, true),
      d_v(s, true) {
  q.fill(seed), k.fill(seed + 1), v.fill(seed + 2), d_out.fill(seed + 3);
  const auto all = static_cast<std::size_t>(s.heads * s.queries * s.keys);
  if (s.bias) {
    bias.resize(static_cast<std::size_t>(s.members) * all);
    for (std::size_t n = 0; n < bias.size(); ++n) {
      bias[n] = number_at(seed + 4, n);
      if (number_at(seed + 5, n) > 1.5f) bias[n] = -infinite;
    }
  }
  if (s.visible) {
    visible.resize(all);
    for (std::size_t n = 0; n < all; ++n)
      visible[n] = number_at(seed + 6, n) > -1 ? static_cast<unsigned char>(n | 1) : 0;
  }
}

std::size_t call::stored(std::int64_t b, std::int64_t h, std::int64_t i) const {
  if (!of.packed()) return static_cast<std::size_t>((b * of.heads + h) * of.queries + i);
  const std::vector<std::int32_t> offsets = offsets_of(of.query_lengths);
  return static_cast<std::size_t>(h * offsets.back() + offsets[static_cast<std::size_t>(b)] + i);
}
bool call::sees(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
  const std::int64_t lag = of.keys_of(b) - of.queries_of(b),
                     diagonal = i + (of.mask == causal::top_left ? 0 : lag);
  if (of.mask != causal::no && j > diagonal) return false;
  if (of.before >= 0 && j < diagonal - of.before) return false;
  if (of.behind >= 0 && j > diagonal + of.behind) return false;
  if (of.visible && visible[pair(0, h, i, j)] == 0) return false;
  return !of.bias || bias[pair(b, h, i, j)] != -infinite;
}

void call::forward(const context& where, const attention_options& options) {
  for (rows* const one : {&q, &k, &v, &out, &d_out, &d_q, &d_k, &d_v}) one->upload(where);
  std::size_t stored_rows = 0;
  for (std::int64_t b = 0; b < of.members; ++b)
    stored_rows += static_cast<std::size_t>(of.heads * of.queries_of(b));
  const std::size_t lines = static_cast<std::size_t>(of.packed() ? of.heads : of.members * of.heads);
  logsumexp.assign(stored_rows + lines * static_cast<std::size_t>(of.spare), guard_number(1));
  softmax.assign(2 * stored_rows, guard_number(2));
  on_logsumexp_.emplace(where, std::span<const float>(logsumexp));
  on_softmax_.emplace(where, std::span<const float>(softmax));
  problem_ = {.q = q.view<const float>(),
              .k = k.view<const float>(),
              .v = v.view<const float>(),
              .out = out.view<float>(),
              .members = of.members,
              .heads = of.heads,
              .kv_heads = of.kv_heads,
              .queries = of.queries,
              .keys = of.keys,
              .depth = of.depth,
              .scale = of.scale,
              .mask = of.mask,
              .window_before = of.before,
              .window_behind = of.behind,
              .logsumexp = on_logsumexp_->data(),
              .softmax = on_softmax_->data()};
  if (of.spare > 0 && lines > 0)
    problem_.logsumexp_stride = static_cast<std::int64_t>(stored_rows / lines) + of.spare;
  const std::int64_t of_head = of.queries * of.keys;
  if (of.bias) {
    on_bias_.emplace(where, std::span<const float>(bias));
    problem_.bias = {on_bias_->data(), of.heads * of_head, of_head, of.keys, 1};
  }
  if (of.visible) {
    on_visible_.emplace(where, std::span<const unsigned char>(visible));
    problem_.visible = {on_visible_->data(), 0, of_head, of.keys, 1};
  }
  if (of.packed()) {
    const std::vector<std::int32_t> of_queries = offsets_of(of.query_lengths),
                                    of_keys = offsets_of(of.key_lengths);
    on_query_offsets_.emplace(where, std::span<const std::int32_t>(of_queries));
    on_key_offsets_.emplace(where, std::span<const std::int32_t>(of_keys));
    problem_.lengths = {on_query_offsets_->data(), on_key_offsets_->data(), of_queries.back(),
                        of_keys.back()};
  }
  attention(where, problem_, options);
  where.runs_on().synchronize(options.stream);
  out.download();
  logsumexp = on_logsumexp_->to_host(), softmax = on_softmax_->to_host();
  take_logsumexp();
}

// Takes the spare floats away.
void call::take_logsumexp() {
  spare_.clear();
  if (problem_.logsumexp_stride == 0) return;
  const auto stride = static_cast<std::size_t>(problem_.logsumexp_stride),
             rows_of_line = stride - static_cast<std::size_t>(of.spare);
  std::vector<float> of_queries;
  for (std::size_t n = 0; n < logsumexp.size(); ++n) {
    if (n % stride < rows_of_line)
      of_queries.push_back(logsumexp[n]);
    else if (logsumexp[n] != infinite && rows_of_line > 0)
      spare_ = fmt::format("float {} of logsumexp is {}, expected infinity", n, logsumexp[n]);
  }
  logsumexp = of_queries;
}

void call::backward(const context& where, const attention_options& options, bool from_logsumexp) {
  attention_problem p = problem_;
  if (from_logsumexp) p.softmax = nullptr;
  if (!d_bias.empty()) on_d_bias_.emplace(where, std::span<const float>(d_bias));
  attention_backward(where, p, gradients(), options);
  where.runs_on().synchronize(options.stream);
  for (rows* const one : {&d_q, &d_k, &d_v}) one->download();
  if (!d_bias.empty()) d_bias = on_d_bias_->to_host();
}

// A query's exact weights, and how wrong each may be: the eps of docs/use/accuracy.md#attention.
struct call::weights {
  std::vector<std::int64_t> key;
  std::vector<double> p, eps;
  double logsumexp = -std::numeric_limits<double>::infinity(), wrong = 0;  // sum of p eps
};
call::weights call::weights_of(std::int64_t b, std::int64_t h, std::int64_t i, arithmetic by) const {
  weights w;
  std::vector<double> score, magnitude;
  const double scale = static_cast<double>(of.scale_used()), depth = static_cast<double>(of.depth);
  const double of_product = by == arithmetic::fp32 ? depth + 4 : 47 + depth / 64;
  const std::int64_t kv = h / (of.heads / of.kv_heads);
  for (std::int64_t j = 0; j < of.keys_of(b); ++j) {
    if (!sees(b, h, i, j)) continue;
    double product = 0, all = 0;
    for (std::int64_t c = 0; c < of.depth; ++c) {
      const double term = static_cast<double>(q(b, h, i, c)) * static_cast<double>(k(b, kv, j, c));
      product += term, all += std::abs(term);
    }
    const double added = of.bias ? static_cast<double>(bias[pair(b, h, i, j)]) : 0;
    w.key.push_back(j);
    score.push_back(scale * product + added);
    magnitude.push_back(of_product * std::abs(scale) * all + 2 * std::abs(added));
  }
  if (w.key.empty()) return w;
  const double largest = *std::ranges::max_element(score);
  double sum = 0;
  for (const double s : score) sum += std::exp(s - largest);
  w.logsumexp = largest + std::log(sum);
  for (std::size_t n = 0; n < score.size(); ++n) {
    w.p.push_back(std::exp(score[n] - w.logsumexp));
    w.eps.push_back(std::expm1(unit * (magnitude[n] + 3 * (largest - score[n]) * std::log2(std::exp(1)) +
                                       (by == arithmetic::fp32 ? 5 : 9))));
    w.wrong += w.p.back() * w.eps.back();
  }
  return w;
}

std::string call::wrong_forward(arithmetic by, double* worst) const {
  checker all;
  for (std::int64_t b = 0; b < of.members; ++b)
    for (std::int64_t h = 0; h < of.heads; ++h)
      for (std::int64_t i = 0; i < of.queries_of(b); ++i) {
        const weights w = weights_of(b, h, i, by);
        const double seen = static_cast<double>(w.key.size());
        const double units = by == arithmetic::fp32 ? seen + seen / 32 + 8 : 66 + seen / 8;
        const std::int64_t kv = h / (of.heads / of.kv_heads);
        for (std::int64_t c = 0; c < of.depth; ++c) {
          double o = 0, magnitude = 0, moved = 0, most = 0;
          for (std::size_t n = 0; n < w.key.size(); ++n) {
            const double x = static_cast<double>(v(b, kv, w.key[n], c));
            o += w.p[n] * x, magnitude += w.p[n] * std::abs(x), most = std::max(most, std::abs(x));
          }
          for (std::size_t n = 0; n < w.key.size(); ++n)
            moved += w.p[n] * w.eps[n] * (std::abs(static_cast<double>(v(b, kv, w.key[n], c))) + std::abs(o));
          const double floor = by == arithmetic::fp32 ? seen * 0x1p-126 : seen * 0x1p-49 + 0x1p-47;
          const double bound = !(w.wrong < 1) ? std::numeric_limits<double>::infinity()
                                              : moved / (1 - w.wrong) + units * unit * magnitude +
                                                    floor * most + seen * 0x1p-149;
          all.within(static_cast<double>(out(b, h, i, c)), o, seen == 0 ? 0 : bound,
                     [&] { return "out of " + place_of(b, h, i, c); });
        }
        const double told = static_cast<double>(logsumexp[stored(b, h, i)]);
        const double top = static_cast<double>(softmax[2 * stored(b, h, i)]),
                     sum = static_cast<double>(softmax[2 * stored(b, h, i) + 1]);
        const double most = w.eps.empty() ? 0 : *std::ranges::max_element(w.eps);
        all.within(told, w.logsumexp, most + (seen + 8) * unit + 4 * unit * std::abs(w.logsumexp),
                   [&] { return "logsumexp of " + place_of(b, h, i, 0); });
        if (seen == 0 && !(top == -std::numeric_limits<double>::infinity() && sum == 0) && all.first.empty())
          all.first = "softmax of " + place_of(b, h, i, 0) + " is not (-infinity, 0)";
        // it does not carry the rounding of the largest score
        if (seen > 0)
          all.within(top * std::log(2.0) + std::log(sum), w.logsumexp, most + (seen + 8) * unit,
                     [&] { return "softmax of " + place_of(b, h, i, 0); });
      }
  if (worst != nullptr) *worst = std::max(*worst, all.worst);
  return !all.first.empty() ? all.first : !spare_.empty() ? spare_ : out.stray();
}

std::string call::wrong_backward(arithmetic by, double* worst) const {
  checker all;
  const auto sized = [&](const rows& like) {
    std::size_t last = 0;
    like.each([&](auto b, auto h, auto i, auto c) { last = std::max(last, like.place(b, h, i, c) + 1); });
    return std::vector<double>(last);
  };
  // exact gradients and their bounds, where the results lie
  std::vector<double> q_is = sized(d_q), q_may = q_is, k_is = sized(d_k), k_may = k_is, v_is = k_is,
                      v_may = k_is, bias_is(d_bias.size()), bias_may = bias_is;
  const double scale = static_cast<double>(of.scale_used()), depth = static_cast<double>(of.depth);
  // What FP16 parts lose of numbers far below the largest of their tile, here of their member and head.
  // Weights are at most 1.
  const double lost = by == arithmetic::fp16 ? 0x1p-38 : 0, least_weight = 0x1p-126;  // smaller ones are 0
  const double denormal = 0x1p-149, of_scale = denormal * std::max(1., std::abs(scale)),
               smallest = by == arithmetic::fp16 ? 0x1p-110 * std::max(1., std::abs(scale)) : denormal;
  const auto largest_of = [&](const rows& in, std::int64_t b, std::int64_t h, std::int64_t count) {
    double largest = 0;
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t c = 0; c < of.depth; ++c)
        largest = std::max(largest, std::abs(static_cast<double>(in(b, h, i, c))));
    return largest;
  };
  for (std::int64_t b = 0; b < of.members; ++b)
    for (std::int64_t h = 0; h < of.heads; ++h) {
      const std::int64_t kv = h / (of.heads / of.kv_heads);
      const double most_g = largest_of(d_out, b, h, of.queries_of(b)),
                   most_q = largest_of(q, b, h, of.queries_of(b)),
                   most_k = largest_of(k, b, kv, of.keys_of(b)), most_v = largest_of(v, b, kv, of.keys_of(b)),
                   most_product = depth * most_g * most_v;
      for (std::int64_t i = 0; i < of.queries_of(b); ++i) {
        const weights w = weights_of(b, h, i, by);
        const double keys = static_cast<double>(w.key.size()),
                     rows_of_key = static_cast<double>(of.queries_of(b) * (of.heads / of.kv_heads));
        std::vector<double> of_weight(w.key.size()), magnitude(w.key.size());
        double dot = 0, dot_may = 0;
        for (std::int64_t c = 0; c < of.depth; ++c) {
          const double g = static_cast<double>(d_out(b, h, i, c));
          double o = 0;
          for (std::size_t n = 0; n < w.key.size(); ++n) {
            const double x = static_cast<double>(v(b, kv, w.key[n], c));
            o += w.p[n] * x, of_weight[n] += g * x, magnitude[n] += std::abs(g * x);
          }
          dot += g * o;
          dot_may += std::abs(g) * (std::abs(static_cast<double>(out(b, h, i, c)) - o) + unit * std::abs(o));
        }
        for (std::size_t n = 0; n < w.key.size(); ++n) {
          const std::int64_t j = w.key[n];
          const double rho = w.eps[n] + w.wrong + (20 + keys + keys / 8) * unit;
          const double slope = w.p[n] * (of_weight[n] - dot);
          const double slope_may =
              rho * std::abs(slope) +
              w.p[n] * ((depth + 8) * unit * magnitude[n] + dot_may + 4 * unit * std::abs(dot)) +
              4 * lost * most_product + least_weight * (std::abs(of_weight[n]) + std::abs(dot)) +
              (depth + 8) * denormal;
          if (!d_bias.empty()) bias_is[pair(b, h, i, j)] = slope, bias_may[pair(b, h, i, j)] = slope_may;
          for (std::int64_t c = 0; c < of.depth; ++c) {
            const double x = static_cast<double>(k(b, kv, j, c)), y = static_cast<double>(q(b, h, i, c)),
                         g = static_cast<double>(d_out(b, h, i, c));
            const std::size_t at_q = d_q.place(b, h, i, c), at_k = d_k.place(b, kv, j, c);
            q_is[at_q] += scale * slope * x;
            q_may[at_q] += std::abs(scale * x) * (slope_may + (keys + 8) * unit * std::abs(slope)) +
                           std::abs(scale) * lost * 2 * std::abs(slope) * most_k + 4 * of_scale;
            k_is[at_k] += scale * slope * y;
            k_may[at_k] += std::abs(scale * y) * (slope_may + (rows_of_key + 8) * unit * std::abs(slope)) +
                           std::abs(scale) * lost * 2 * std::abs(slope) * most_q + 4 * of_scale;
            v_is[at_k] += w.p[n] * g;
            v_may[at_k] += w.p[n] * std::abs(g) * (rho + (rows_of_key + 8) * unit) + lost * most_g +
                           least_weight * std::abs(g) + 4 * denormal;
          }
        }
      }
    }
  const auto check_all = [&](const char* name, const rows& found, const std::vector<double>& is,
                             const std::vector<double>& may) {
    found.each([&](auto b, auto h, auto i, auto c) {
      const std::size_t at = found.place(b, h, i, c);
      if (!std::isfinite(may[at])) return;  // logits so large that nothing is guaranteed
      all.within(static_cast<double>(found(b, h, i, c)), is[at], may[at] + smallest,
                 [&] { return name + place_of(b, h, i, c); });
    });
    if (all.first.empty()) all.first = found.stray();
  };
  check_all("dQ of ", d_q, q_is, q_may);
  check_all("dK of ", d_k, k_is, k_may);
  check_all("dV of ", d_v, v_is, v_may);
  for (std::size_t n = 0; n < d_bias.size(); ++n)
    if (std::isfinite(bias_may[n]))
      all.within(static_cast<double>(d_bias[n]), bias_is[n], bias_may[n],
                 [&] { return fmt::format("the gradient of the bias, pair {},", n); });
  if (worst != nullptr) *worst = std::max(*worst, all.worst);
  return all.first;
}

}  // namespace antiphase::attention_test
