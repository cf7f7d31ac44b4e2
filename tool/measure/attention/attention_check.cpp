// SPDX-License-Identifier: Apache-2.0
#include "tool/measure/attention/attention_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tool/base/parallel.hpp"

namespace antiphase::tool {
namespace {

constexpr double unit = 0x1p-24;
constexpr std::int64_t most_rows = 512;  // of the sample

// [member][head][row][depth], large enough for weights that differ by several powers of ten.
std::vector<float> numbers(std::int64_t rows, std::int64_t depth, std::uint64_t seed, float by) {
  std::vector<float> all = random_values(static_cast<std::size_t>(rows * depth), seed);
  for (float& x : all) x *= by;
  return all;
}

struct row_result {
  double error = 0, size = 0;  // squares, over the row
  bool within = true;
};

constexpr std::int64_t few_keys = 4;  // of a query that FP32 computes, whatever the policy

// One row of O: `q` and `found` have `depth` elements, `k` and `v` `keys` rows of them.
row_result compared(const float* q, const float* k, const float* v, const float* found, std::int64_t keys,
                    std::int64_t depth, bool by_parts) {
  const double d = static_cast<double>(depth),
               scale = static_cast<double>(1 / std::sqrt(static_cast<float>(depth)));
  const auto count = static_cast<std::size_t>(keys);
  std::vector<double> score(count), weight(count), wrong(count);
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < count; ++j) {
    double product = 0, size = 0;
    for (std::int64_t c = 0; c < depth; ++c) {
      const double term =
          static_cast<double>(q[c]) * static_cast<double>(k[static_cast<std::int64_t>(j) * depth + c]);
      product += term, size += std::abs(term);
    }
    score[j] = scale * product, wrong[j] = (by_parts ? 47 + d / 64 : d + 4) * scale * size;
    largest = std::max(largest, score[j]);
  }
  double sum = 0, wrong_sum = 0;
  for (const double s : score) sum += std::exp(s - largest);
  for (std::size_t j = 0; j < count; ++j) {
    weight[j] = std::exp(score[j] - largest) / sum;
    wrong[j] = weight[j] * std::expm1(unit * (wrong[j] + 3 * (largest - score[j]) * std::log2(std::exp(1.)) +
                                              (by_parts ? 9 : 5)));
    wrong_sum += wrong[j];
  }
  row_result result;
  const double seen = static_cast<double>(keys), units = by_parts ? 66 + seen / 8 : seen + seen / 32 + 8,
               floor = by_parts ? seen * 0x1p-49 + 0x1p-47 : seen * 0x1p-126;
  for (std::int64_t c = 0; c < depth; ++c) {
    const auto value = [&](std::size_t j) {
      return static_cast<double>(v[static_cast<std::int64_t>(j) * depth + c]);
    };
    double exact = 0, size = 0, moved = 0, most = 0;
    for (std::size_t j = 0; j < count; ++j)
      exact += weight[j] * value(j), size += weight[j] * std::abs(value(j)),
          most = std::max(most, std::abs(value(j)));
    for (std::size_t j = 0; j < count; ++j) moved += wrong[j] * (std::abs(value(j)) + std::abs(exact));
    const double bound = moved / (1 - wrong_sum) + units * unit * size + floor * most,
                 off = static_cast<double>(found[c]) - exact;
    result.error += off * off, result.size += exact * exact;
    if (!(std::abs(off) <= bound)) result.within = false;
  }
  return result;
}

}  // namespace

attention_operands::attention_operands(const context& where, std::int64_t members, std::int64_t heads,
                                       std::int64_t queries, std::int64_t keys, std::int64_t depth,
                                       bool causal)
    : host_q_(numbers(members * heads * queries, depth, 1, 4)),
      host_k_(numbers(members * heads * keys, depth, 2, 1)),
      host_v_(numbers(members * heads * keys, depth, 3, 1)),
      q_(where, host_q_),
      k_(where, host_k_),
      v_(where, host_v_),
      out_(where, host_q_.size()),
      problem_{.q = packed_heads(std::as_const(q_).data(), heads, queries, depth),
               .k = packed_heads(std::as_const(k_).data(), heads, keys, depth),
               .v = packed_heads(std::as_const(v_).data(), heads, keys, depth),
               .out = packed_heads(out_.data(), heads, queries, depth),
               .members = members,
               .heads = heads,
               .queries = queries,
               .keys = keys,
               .depth = depth,
               .mask = causal ? antiphase::causal::top_left : antiphase::causal::no} {}

void attention_operands::forget_result() {
  out_.copy_from(std::vector<float>(out_.size(), std::numeric_limits<float>::quiet_NaN()));
}

verdict attention_operands::check(bool by_parts) const {
  const std::vector<float> found = out_.to_host();
  const std::int64_t all = rows_of_all(), depth = problem_.depth, keys = problem_.keys;
  const std::int64_t count = std::min(all, most_rows);
  std::vector<row_result> results(static_cast<std::size_t>(count));
  in_parallel(results.size(), [&](std::size_t first, std::size_t last) {
    for (std::size_t n = first; n < last; ++n) {
      // first and last row among them
      const std::int64_t row = count < 2 ? 0 : static_cast<std::int64_t>(n) * (all - 1) / (count - 1);
      const std::int64_t head = row / problem_.queries, i = row % problem_.queries;
      const std::int64_t seen = problem_.mask == causal::no ? keys : std::min(keys, i + 1);
      results[n] =
          compared(&host_q_[static_cast<std::size_t>(row * depth)],
                   &host_k_[static_cast<std::size_t>(head * keys * depth)],
                   &host_v_[static_cast<std::size_t>(head * keys * depth)],
                   &found[static_cast<std::size_t>(row * depth)], seen, depth, by_parts && seen > few_keys);
    }
  });
  verdict v{.error = 0, .verified = std::ranges::none_of(found, [](float x) { return !std::isfinite(x); })};
  double error = 0, size = 0;
  for (const row_result& r : results) {
    error += r.error, size += r.size;
    v.verified = v.verified && r.within;
  }
  v.error = size > 0 ? std::sqrt(error / size) : 0;
  return v;
}

}  // namespace antiphase::tool
