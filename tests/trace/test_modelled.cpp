// SPDX-License-Identifier: Apache-2.0
// Modelled timelines beside what an H200 measured: ticks of a step, and their order.
#include <gtest/gtest.h>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/trace.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace antiphase {
namespace {

using nlohmann::json;

json result(const std::string& file) {
  std::ifstream in(ANTIPHASE_RESULTS "/" + file);
  return json::parse(in);
}

std::shared_ptr<const machine_profile> h200() {
  return std::make_shared<const machine_profile>(shipped_profile("H200"));
}
context on_h200() { return context(make_cpu_executor({.limits = h200()->limits})); }

// Mean ticks between the computations of steps in the middle of a timeline.
double ticks_of_step(const timeline& t) {
  const std::vector<step_times> steps = by_step(t);
  const std::size_t first = 4, last = steps.size() - 5;
  return static_cast<double>(steps.at(last).compute_begin - steps.at(first).compute_begin) /
         static_cast<double>(last - first);
}

// `beside`: what was measured and what the clock says, by kernel.
struct pair_of_times {
  std::string of;
  double measured, modelled;
  double error() const { return std::abs(modelled / measured - 1); }
};
double median_error(const std::vector<pair_of_times>& all) {
  std::vector<double> errors;
  for (const pair_of_times& p : all) errors.push_back(p.error());
  std::ranges::sort(errors);
  return errors[errors.size() / 2];
}
// Where one of two kernels was measured to be faster by more than a tie, 5 %, the clock says so too.
void expect_same_order(const std::vector<pair_of_times>& all) {
  constexpr double tie = 1.05;
  for (const pair_of_times& a : all)
    for (const pair_of_times& b : all)
      if (a.measured * tie < b.measured)
        EXPECT_LT(a.modelled, b.modelled) << a.of << " takes less than " << b.of;
}
std::string text(const std::vector<pair_of_times>& all) {
  std::string lines;
  for (const pair_of_times& p : all)
    lines += p.of + ": measured " + std::to_string(p.measured) + ", modelled " + std::to_string(p.modelled) + "\n";
  return lines;
}

// The ladder at 2048^3, whose operands lie in the L2 cache: clocks of a step of all blocks that share a
// multiprocessor.
TEST(Modelled, StepsOfTheLadderTakeWhatAnH200Measured) {
  constexpr double size = 2048, clock = 1.98e3, launch = 2.2;  // cycles of a us; us
  std::vector<pair_of_times> all, of_one_tile;
  for (const json& r : result("20261127T054447-gemm-2048x2048x2048-rested.json").at("records")) {
    const std::string policy = r.value("policy", "");
    const auto step = std::ranges::find(gemms::steps, policy, &gemms::step::name);
    if (step == std::end(gemms::steps) || step->how.tile_k == 1) continue;
    const gemms::policy& how = step->how;
    const int blocks = r.at("blocks_per_multiprocessor");
    const double waves = std::ceil(size / how.tile.m * size / how.tile.n / (132 * blocks)),
                 measured = (r.at("time_us").at("ours").get<double>() - launch) * clock / waves / (size / how.tile_k);
    constexpr int steps = 24;
    const std::int64_t m = std::int64_t{how.tile.m} * blocks, n = how.tile.n, k = how.tile_k * steps;
    const context where = on_h200();
    const device_array<float> a(where, std::vector<float>(static_cast<std::size_t>(m * k), 1)),
        b(where, std::vector<float>(static_cast<std::size_t>(k * n), 1));
    device_array<float> c(where, static_cast<std::size_t>(m * n));
    const gemms::instance* twin = nullptr;
    (void)twin;
    const timeline t = record_gemm(
        where, policy,
        {.a = row_major(a.data(), m, k), .b = row_major(b.data(), k, n), .c = row_major(c.data(), m, n)},
        {.as = h200(), .blocks = blocks});
    if (t.steps != steps) continue;  // strict has smaller tiles for so small a product
    all.push_back({policy, measured, ticks_of_step(t)});
    if (how.tile.m == 32) of_one_tile.push_back(all.back());
  }
  ASSERT_GE(all.size(), 10U);
  EXPECT_LT(median_error(all), 0.1) << text(all);
  for (const pair_of_times& p : all) EXPECT_LT(p.error(), 0.2) << p.of << "\n" << text(all);
  expect_same_order(all);
}

// The scan's ring of 1, 2, 3 and 8 stages, of arrays in memory.
TEST(Modelled, RingsOfAScanTakeWhatAnH200Measured) {
  constexpr double start = 5, clock = 1.98e3, tiles = 43691. / 132;  // us, cycles of a us, of a block
  std::map<std::string, double> measured;
  for (const json& r : result("20261127T081710-scan-268435456-rested.json").at("records"))
    if (const std::string policy = r.value("policy", ""); policy.starts_with("single-pass") && r.contains("time_us"))
      measured[policy] = (r.at("time_us").at("ours").get<double>() - start) * clock / tiles;
  constexpr std::int64_t count = 8 * 24 * 6144;
  const context where = on_h200();
  const device_array<float> in(where, std::vector<float>(count, 1));
  device_array<float> out(where, count);
  std::vector<pair_of_times> all;
  for (const char* policy : {"single-pass-1", "single-pass-2", "single-pass-3", "single-pass"}) {
    const timeline t = record_scan(where, policy, {.in = in.data(), .out = out.data(), .length = count},
                                   {.as = h200(), .from_memory = true});
    ASSERT_GT(t.recorded, 16) << policy;
    all.push_back({policy, measured.at(policy),
                   static_cast<double>(measure(t).duration) / static_cast<double>(t.recorded)});
  }
  EXPECT_LT(median_error(all), 0.2) << text(all);
  expect_same_order(all);
}

}  // namespace
}  // namespace antiphase
