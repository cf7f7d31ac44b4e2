// SPDX-License-Identifier: Apache-2.0
// Fits the factors of a tuning to measured times.
#include "tool/measure/tuning_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace antiphase::tool {
namespace {

using gemms::tuning_class;

// A weighted sum of logarithms, and the sum of its weights.
struct mean_log {
  double sum = 0, weight = 0;
  void add(const mean_log& more, double weighing) {
    sum += weighing * more.sum;
    weight += weighing * more.weight;
  }
  double value() const { return weight > 0 ? sum / weight : 0; }
};

bool side_by_side(const tuning_class& x, const tuning_class& y) {
  const auto apart = [](std::size_t i, std::size_t j) { return std::max(i, j) - std::min(i, j); };
  std::size_t steps = 0;
  for (std::size_t i = 0; i < x.cell.size(); ++i) steps += apart(x.cell[i], y.cell[i]);
  return steps == 1;
}

std::vector<std::string> policies_of(std::span<const tuning_sample> samples) {
  std::vector<std::string> names;
  for (const tuning_sample& s : samples)
    for (const tuning_sample::time& t : s.times)
      if (std::ranges::find(names, t.policy) == names.end()) names.push_back(t.policy);
  std::ranges::sort(names);
  return names;
}

using by_class = std::array<mean_log, tuning_class::count>;
by_class ratios_of(std::span<const tuning_sample> samples, const std::string& policy) {
  by_class all{};
  for (const tuning_sample& s : samples)
    for (const tuning_sample::time& t : s.times)
      if (t.policy == policy) all[s.tuning_class.index()].add({std::log(t.measured / t.predicted), 1}, 1);
  return all;
}
mean_log all_of(const by_class& ratios) {
  mean_log all;
  for (const mean_log& one : ratios) all.add(one, 1);
  return all;
}

}  // namespace

std::vector<gemms::tuning::of_policy> fitted(std::span<const tuning_sample> samples) {
  // Of the weights tried, this one and that of as_predicted chose best for products outside the fit.
  constexpr double neighbour = .1;
  constexpr mean_log as_predicted{0, 1};
  std::vector<gemms::tuning::of_policy> all;
  for (const std::string& policy : policies_of(samples)) {
    const by_class ratios = ratios_of(samples, policy);
    gemms::tuning::of_policy& to = all.emplace_back(gemms::tuning::of_policy{policy, {}});
    for (std::size_t i = 0; i < tuning_class::count; ++i) {
      mean_log here = ratios[i];
      here.add(as_predicted, 1);
      for (std::size_t j = 0; j < tuning_class::count; ++j)
        if (side_by_side(gemms::tuning_class_at(i), gemms::tuning_class_at(j)))
          here.add(ratios[j], neighbour);
      to.factors[i] = std::round(1000 * std::exp(here.value())) / 1000;
    }
  }
  return all;
}

double lag_of(std::span<const tuning_sample> samples, const gemms::tuning& with) {
  mean_log lag;
  for (const tuning_sample& s : samples) {
    if (s.times.empty()) continue;
    const auto corrected = [&](const tuning_sample::time& t) {
      return t.predicted * with.factor(t.policy, s.tuning_class);
    };
    const double taken = std::ranges::min_element(s.times, {}, corrected)->measured;
    const double least = std::ranges::min_element(s.times, {}, &tuning_sample::time::measured)->measured;
    lag.add({std::log(taken / least), 1}, 1);
  }
  return std::exp(lag.value());
}

std::vector<mean_ratio> mean_ratios(std::span<const tuning_sample> samples) {
  std::vector<mean_ratio> all;
  for (const std::string& policy : policies_of(samples)) {
    const mean_log mean = all_of(ratios_of(samples, policy));
    all.push_back({policy, static_cast<std::size_t>(mean.weight), std::exp(mean.value())});
  }
  return all;
}

}  // namespace antiphase::tool
