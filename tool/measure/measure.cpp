// SPDX-License-Identifier: Apache-2.0
// Measuring times on a GPU: warm-up, random order, medians with their spread. docs/project/measuring.md has
// the method and its reasons.
#include "tool/measure/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "tool/program/text/names.hpp"

namespace antiphase::tool {
namespace {

int repeats_of(const executor& where, const work& run, const protocol& how) {
  where.milliseconds(run, nullptr);  // warm-up: loads the code, fills the caches
  const double once = where.milliseconds(run, nullptr);
  return static_cast<int>(
      std::clamp(std::ceil(how.sample_ms / std::max(once, 1e-6)), 1., static_cast<double>(how.most_repeats)));
}

void heat(const executor& where, const std::vector<work>& works, double until_ms) {
  for (double busy_ms = 0; busy_ms < until_ms && !works.empty();)
    for (const work& run : works) busy_ms += std::max(where.milliseconds(run, nullptr), 1e-3);
}

}  // namespace

std::string_view name(protocol_kind kind) { return kind == protocol_kind::rested ? "rested" : "hot"; }

protocol_kind parse_protocol(std::string_view text) {
  constexpr protocol_kind all[] = {protocol_kind::rested, protocol_kind::hot};
  return all[choice_of("--protocol", text, {std::string(name(all[0])), std::string(name(all[1]))})];
}

timing divided(timing t, int by) {
  for (double* value :
       {&t.median_us, &t.fastest_us, &t.slowest_us, &t.lower_quartile_us, &t.upper_quartile_us})
    *value /= by;
  return t;
}

timing summary(std::vector<double> samples) {
  std::ranges::sort(samples);
  const auto quantile = [&](double share) {
    const double position = share * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (position - static_cast<double>(below)) * (samples[above] - samples[below]);
  };
  return {.median_us = quantile(0.5),
          .fastest_us = samples.front(),
          .slowest_us = samples.back(),
          .lower_quartile_us = quantile(0.25),
          .upper_quartile_us = quantile(0.75)};
}

timing host_time(const executor& where, const work& run) {
  constexpr double most_ms = 100;  // of the device's work
  constexpr int few = 20;
  where.milliseconds(run, nullptr);  // loads the code, fills caches that last from call to call
  const double once_ms = std::max(where.milliseconds(run, nullptr), 1e-3);
  const int rounds = static_cast<int>(std::clamp(most_ms / (few * once_ms), 1., 20.));
  std::vector<double> samples;
  for (int round = 0; round < rounds; ++round) {
    for (int n = 0; n < few; ++n) {
      const auto start = std::chrono::steady_clock::now();
      run(nullptr);
      samples.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    where.synchronize(nullptr);
  }
  return summary(std::move(samples));
}

std::vector<timing> measure(const executor& where, const std::vector<work>& works, const protocol& how,
                            const timing_observer& so_far) {
  std::vector<int> repeats;
  for (const work& run : works) repeats.push_back(repeats_of(where, run, how));
  std::vector<std::vector<double>> samples(works.size());
  std::vector<std::size_t> order(works.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 shuffler{1};
  if (how.kind == protocol_kind::hot) heat(where, works, how.heat_ms);
  std::vector<timing> result(works.size());
  for (int round = 0; round < how.samples; ++round) {
    std::ranges::shuffle(order, shuffler);
    for (const std::size_t i : order) {
      if (how.kind == protocol_kind::rested)
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(how.rest_ms));
      // Untimed run: the sample finds its own code and data in the caches, not those of the previous work.
      where.milliseconds(works[i], nullptr);
      const auto many = [&](stream on) {
        for (int n = 0; n < repeats[i]; ++n) works[i](on);
      };
      samples[i].push_back(where.milliseconds(many, nullptr) * 1000 / repeats[i]);
    }
    std::ranges::transform(samples, result.begin(), summary);
    if (so_far) so_far(result);
  }
  return result;
}

}  // namespace antiphase::tool
