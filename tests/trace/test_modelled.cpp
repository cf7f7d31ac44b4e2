// SPDX-License-Identifier: Apache-2.0
// Modelled timelines next to what an H200 measured: ticks of a step, and their order.
#include <gtest/gtest.h>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/trace.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {
namespace {

using nlohmann::json;

constexpr double clock_per_us = 1980, multiprocessors = 132;

json result(const std::string& file) {
  std::ifstream in(ANTIPHASE_RESULTS "/" + file);
  return json::parse(in);
}
double us(const json& record) { return record.at("time_us").at("ours").get<double>(); }

std::shared_ptr<const machine_profile> h200() {
  return std::make_shared<const machine_profile>(shipped_profile("H200"));
}
context on_h200() { return context(make_cpu_executor({.limits = h200()->limits})); }

timeline modelled(std::string_view policy, std::int64_t m, std::int64_t n, std::int64_t k,
                  const trace_options& options) {
  const context where = on_h200();
  const device_array<float> a(where, std::vector<float>(static_cast<std::size_t>(m * k), 1)),
      b(where, std::vector<float>(static_cast<std::size_t>(k * n), 1));
  device_array<float> c(where, static_cast<std::size_t>(m * n));
  return record_gemm(
      where, policy,
      {.a = row_major(a.data(), m, k), .b = row_major(b.data(), k, n), .c = row_major(c.data(), m, n)},
      options);
}
// Mean ticks from a step's computation to the next one's, in the middle of a timeline.
double ticks_of_step(const timeline& t) {
  const std::vector<step_times> steps = by_step(t);
  const std::size_t first = 4, last = steps.size() - 5;
  return static_cast<double>(steps.at(last).compute_begin - steps.at(first).compute_begin) /
         static_cast<double>(last - first);
}

struct two_times {
  std::string of;
  double measured, modelled;
  double error() const { return std::abs(modelled / measured - 1); }
};
double median_error(const std::vector<two_times>& all) {
  std::vector<double> errors;
  for (const two_times& t : all) errors.push_back(t.error());
  std::ranges::sort(errors);
  const std::size_t half = errors.size() / 2;
  return errors.size() % 2 == 1 ? errors.at(half) : (errors.at(half - 1) + errors.at(half)) / 2;
}
// Of two kernels that were not measured to be as fast within 5 %, the same one is faster.
void expect_same_order(const std::vector<two_times>& all) {
  constexpr double tie = 1.05;
  for (const two_times& a : all)
    for (const two_times& b : all)
      EXPECT_TRUE(a.measured * tie >= b.measured || a.modelled < b.modelled * 1.02)
          << a.of << " and " << b.of;
}
std::string text(const std::vector<two_times>& all) {
  std::string lines;
  for (const two_times& t : all)
    lines += t.of + ": measured " + std::to_string(std::lround(t.measured)) + ", modelled " +
             std::to_string(std::lround(t.modelled)) + "\n";
  return lines;
}

// The ladder at 2048^3: its operands lie in the L2 cache. Clocks of a step of all blocks of a multiprocessor.
TEST(Modelled, StepsOfTheLadderTakeWhatAnH200Measured) {
  constexpr double size = 2048, launch = 2.2;
  constexpr int steps = 24;
  std::vector<two_times> all;
  const json file = result("20261129T145900-gemm-2048x2048x2048-rested.json");
  for (const json& r : file.at("records")) {
    const std::string policy = r.value("policy", "");
    const auto step = std::ranges::find(gemms::steps, policy, &gemms::step::name);
    // naive has no steps; strict takes smaller tiles for a product that this test can compute
    if (step == std::end(gemms::steps) || policy == "naive" || policy == "strict") continue;
    const gemms::policy& how = step->policy;
    const int blocks = r.at("blocks_per_multiprocessor");
    const double waves = std::ceil(size / how.tile.m * size / how.tile.n / (multiprocessors * blocks));
    const timeline t = modelled(policy, std::int64_t{how.tile.m} * blocks, how.tile.n,
                                std::int64_t{how.tile_k} * steps, {.profile = h200(), .blocks = blocks});
    ASSERT_EQ(t.steps, steps) << policy;
    all.push_back({policy, (us(r) - launch) * clock_per_us / waves / (size / how.tile_k), ticks_of_step(t)});
  }
  ASSERT_EQ(all.size(), 11U);
  EXPECT_LT(median_error(all), 0.1) << text(all);
  for (const two_times& t : all) EXPECT_LT(t.error(), 0.2) << t.of << "\n" << text(all);
  expect_same_order(all);
}

// Recordings have what recording takes besides, about 9.5 clocks of each warp for each span.
TEST(Modelled, RecordingsOfAnH200AreThoseStepsAndTheirSpans) {
  std::vector<two_times> all;
  const json file = result("timelines/h200.json");
  for (const json& r : file.at("timelines")) {
    const timeline t = modelled(r.at("policy").get<std::string>(), 128, 128, 512, {.profile = h200()});
    const double spans = static_cast<double>(t.spans.size()) / t.steps;
    EXPECT_EQ(t.device, "NVIDIA H200");
    all.push_back({t.policy, r.at("duration").get<double>() / t.steps, ticks_of_step(t) + 9.5 * spans});
  }
  ASSERT_EQ(all.size(), 6U);
  for (const two_times& t : all) EXPECT_LT(t.error(), 0.12) << text(all);
  expect_same_order(all);
}

// The scan's ring of 1, 2, 3 and 8 stages, of an array in memory. Clocks of a tile of each block.
TEST(Modelled, RingsOfAScanTakeWhatAnH200Measured) {
  constexpr double start = 5, tiles = 43691 / multiprocessors;
  std::map<std::string, double> measured;
  const json file = result("20261127T081710-scan-268435456-rested.json");
  for (const json& r : file.at("records"))
    if (r.contains("time_us")) measured[r.at("policy")] = (us(r) - start) * clock_per_us / tiles;
  constexpr std::int64_t count = 8 * 32 * 6144;
  const context where = on_h200();
  const device_array<float> in(where, std::vector<float>(count, 1));
  device_array<float> out(where, count);
  std::vector<two_times> all;
  for (const char* policy : {"single-pass-1", "single-pass-2", "single-pass-3", "single-pass"}) {
    const timeline t = record_scan(where, policy, {.in = in.data(), .out = out.data(), .length = count},
                                   {.profile = h200(), .from_memory = true});
    ASSERT_GT(t.recorded, 24) << policy;
    all.push_back({policy, measured.at(policy), ticks_of_step(t)});
  }
  EXPECT_LT(median_error(all), 0.1) << text(all);
  for (const two_times& t : all) EXPECT_LT(t.error(), 0.2) << text(all);
  for (std::size_t i = 1; i < all.size(); ++i)  // what the second, third and eighth buffer gain
    EXPECT_NEAR(all[i - 1].modelled / all[i].modelled, all[i - 1].measured / all[i].measured, 0.25)
        << text(all);
  expect_same_order(all);
}

// Blocks of a multiprocessor share its units: two of a kernel that hides its loads take twice as long, and
// two that wait for theirs less.
TEST(Modelled, BlocksShareAMultiprocessor) {
  const auto ticks = [](const char* policy, int blocks) {
    return ticks_of_step(modelled(policy, 64, 32, 768, {.profile = h200(), .blocks = blocks}));
  };
  EXPECT_GT(ticks("async-2", 2), 1.55 * ticks("async-2", 1));
  EXPECT_LT(ticks("async-1", 2), 1.55 * ticks("async-1", 1));
  EXPECT_THROW(ticks("async-2", 3), bad_request);  // the grid has two
}

// Another machine, and data from its memory: other ticks.
TEST(Modelled, TheMachineAndWhereDataLieMakeADifference) {
  const auto ticks = [](const char* machine, bool from_memory) {
    const auto as = std::make_shared<const machine_profile>(shipped_profile(machine));
    const timeline t = modelled("tiled", 32, 32, 768, {.profile = as, .from_memory = from_memory});
    EXPECT_EQ(t.device, as->limits.name);
    return ticks_of_step(t);
  };
  EXPECT_GT(ticks("H200", true), 1.1 * ticks("H200", false));
  EXPECT_NE(ticks("H200", false), ticks("A100", false));
}

// The gain of a second buffer depends on the latency in clocks, not on the GPU's size.
TEST(Modelled, SecondBufferGainsTheSameOnASmallerGpu) {
  const auto gain = [](const std::shared_ptr<const machine_profile>& as) {
    const trace_options options{.profile = as, .from_memory = false};
    return ticks_of_step(modelled("tiled", 32, 32, 768, options)) /
           ticks_of_step(modelled("double-buffered", 32, 32, 768, options));
  };
  machine_profile quarter = *h200();
  quarter.limits.multiprocessors /= 4;
  for (machine_figure* rate : {&quarter.cache_bytes, &quarter.memory_bytes}) rate->value /= 4;
  EXPECT_NEAR(gain(std::make_shared<const machine_profile>(quarter)), gain(h200()), 0.01);
  quarter.cache_latency.value /= 2;
  EXPECT_LT(gain(std::make_shared<const machine_profile>(quarter)), gain(h200()) - 0.05);
}

}  // namespace
}  // namespace antiphase
