// Taking times on a GPU: rested, warmed up, in random order, medians with their spread.
#include "tool/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

namespace antiphase::tool {
namespace {

int repeats_of(const executor& where, const work& run, const protocol& how) {
  where.milliseconds(run, nullptr);  // warm-up: loads the code, fills the caches
  const double once = where.milliseconds(run, nullptr);
  return static_cast<int>(std::clamp(std::ceil(how.sample_ms / std::max(once, 1e-6)), 1., static_cast<double>(how.most_repeats)));
}

timing summary(std::vector<double> samples) {
  std::ranges::sort(samples);
  const std::size_t middle = samples.size() / 2;
  const double median = samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  return {.median_us = median, .fastest_us = samples.front(), .slowest_us = samples.back()};
}

}  // namespace

std::vector<timing> measure(const executor& where, const std::vector<work>& works, const protocol& how) {
  std::vector<int> repeats;
  for (const work& run : works) repeats.push_back(repeats_of(where, run, how));
  std::vector<std::vector<double>> samples(works.size());
  std::vector<std::size_t> order(works.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 shuffler{1};
  for (int round = 0; round < how.samples; ++round) {
    std::ranges::shuffle(order, shuffler);
    for (const std::size_t i : order) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(how.rest_ms));
      const auto many = [&](stream on) {
        for (int n = 0; n < repeats[i]; ++n) works[i](on);
      };
      samples[i].push_back(where.milliseconds(many, nullptr) * 1000 / repeats[i]);
    }
  }
  std::vector<timing> result;
  for (auto& s : samples) result.push_back(summary(std::move(s)));
  return result;
}

}  // namespace antiphase::tool
