// SPDX-License-Identifier: Apache-2.0
// The cost models: special cases, monotonicity, and measured occupancy.
#include <gtest/gtest.h>
#include <antiphase/executor/pipeline_cost.hpp>
#include <antiphase/gemm/cost.hpp>
#include <antiphase/scan/cost.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

namespace antiphase {
namespace {

const machine_profile& h200() { return shipped_profile("H200"); }

double clocks(const pipeline_step& s, int blocks = 1) { return step_clocks(h200(), s, blocks).seconds; }
pipeline_step textbook(double load, double compute, int stages) {
  return {.threads = 32,
          .stages = stages,
          .meets = false,
          .arithmetic = compute,
          .latency = load / h200().clock.value};
}

TEST(pipeline_cost, textbook_is_the_special_case) {
  for (const auto& [load, compute] : {std::pair{100., 50.}, {100., 100.}, {50., 100.}, {1000., 10.}}) {
    const textbook_times said{load, compute};
    EXPECT_DOUBLE_EQ(clocks(textbook(load, compute, 1)), said.one_buffer());
    // A smooth maximum: the longer time, and at most a fifth more if both are equal.
    EXPECT_GE(clocks(textbook(load, compute, 2)), said.two_buffers() - 1e-9);
    EXPECT_LE(clocks(textbook(load, compute, 2)), said.two_buffers() * std::pow(2, 0.25) + 1e-9);
  }
  EXPECT_DOUBLE_EQ((textbook_times{100, 50}.gain()), 1.5);
  EXPECT_DOUBLE_EQ((textbook_times{100, 100}.gain()), 2);
  EXPECT_NEAR(clocks(textbook(1000, 10, 2)), 1000, 1e-3);
  EXPECT_NEAR(clocks(textbook(10, 1000, 2)), 1000, 1e-3);
  // latency is divided among the steps during which a load is in flight
  EXPECT_NEAR(clocks(textbook(1000, 10, 5)), 250, 1e-3);
}

TEST(pipeline_cost, blocks_hide_what_one_buffer_does_not) {
  pipeline_step s{.threads = 256, .stages = 1, .issue = 8000, .shared = 500, .latency = 5e-7};
  const double alone = clocks(s, 1), four = clocks(s, 4) / 4;
  EXPECT_LT(four, 0.75 * alone);
  s.stages = 3;
  EXPECT_LT(clocks(s, 1), 0.75 * alone);
  EXPECT_NEAR(clocks(s, 4) / 4, four, 0.02 * four);  // nothing left to gain
}

TEST(pipeline_cost, registers_stage_one_step_however_many_slots) {
  pipeline_step s{.stages = 2, .asynchronous = false, .arithmetic = 100, .latency = 1e-6};
  const double two = clocks(s);
  s.stages = 4;
  EXPECT_DOUBLE_EQ(clocks(s), two);
  s.asynchronous = true;
  EXPECT_LT(clocks(s), 0.5 * two);
}

TEST(pipeline_cost, memory_is_as_fast_as_there_are_bytes_in_flight) {
  pipeline_step s{.stages = 2, .arithmetic = 1, .bytes = 8192};
  const double few = clocks(s);
  s.stages = 4;
  EXPECT_NEAR(clocks(s) * 3, few, 1e-6 * few);  // three times as many bytes in flight, still less than 48 KiB
  EXPECT_EQ(step_clocks(h200(), s, 1).largest(), limit::latency) << "a further slot helps";
  s.stages = 8;
  const double per_processor = h200().memory_bytes.value / 132 / h200().clock.value;
  EXPECT_NEAR(clocks(s), 8192 / per_processor, 1e-6);
  EXPECT_EQ(step_clocks(h200(), s, 1).largest(), limit::memory);
}

// As a convolution's ring: it waited for loads, and a third buffer gained 57 %.
TEST(pipeline_law, the_limit_is_what_would_shorten_a_step) {
  pipeline_step s{.threads = 128, .stages = 2, .arithmetic = 200, .latency = 551 / h200().clock.value};
  const prediction two = step_clocks(h200(), s, 1);
  EXPECT_GT(two.of(limit::arithmetic), two.of(limit::latency)) << "the larger part";
  EXPECT_EQ(two.largest(), limit::latency);
  s.latency = 0;
  EXPECT_NEAR(two.saved_without(limit::latency), two.seconds - clocks(s), 1e-9);
  for (const int stages : {2, 3, 4, 5, 6, 7}) {
    pipeline_step more{.threads = 128, .arithmetic = 200, .latency = 551 / h200().clock.value};
    more.stages = stages;
    const prediction now = step_clocks(h200(), more, 1);
    ++more.stages;
    if (now.seconds > 1.1 * clocks(more)) {
      EXPECT_EQ(now.largest(), limit::latency) << stages;
    }
  }
  EXPECT_EQ(step_clocks(h200(), {.threads = 128, .stages = 2, .arithmetic = 2000, .latency = s.latency}, 1)
                .largest(),
            limit::arithmetic);
}

// As bench overlap measured on an H100, where one block's second buffer gains 1.50 of the textbook's 1.54.
TEST(pipeline_cost, few_bytes_in_flight_take_their_latency) {
  pipeline_step s{.threads = 128, .stages = 1, .arithmetic = 500, .bytes = 4096, .latency = 6e-7};
  const double load = s.latency * h200().clock.value, one = clocks(s);
  s.stages = 2;
  EXPECT_NEAR(one / clocks(s), (textbook_times{load, 650}.gain()), 0.1);
  s.stages = 4;
  EXPECT_GT(one / clocks(s), 2);
}

TEST(pipeline_cost, a_further_buffer_is_never_slower) {
  for (const double arithmetic : {1., 300., 1000., 3000.})
    for (const int blocks : {1, 2, 4, 8}) {
      pipeline_step s{.threads = 128, .arithmetic = arithmetic, .bytes = 4096, .latency = 6e-7};
      double before = clocks(s, blocks);
      for (s.stages = 2; s.stages <= 8; ++s.stages) {
        EXPECT_LE(clocks(s, blocks), before * (1 + 1e-9)) << arithmetic << ' ' << blocks << ' ' << s.stages;
        before = clocks(s, blocks);
      }
    }
}

TEST(pipeline_cost, waves_and_their_tail) {
  const pipeline_step s{.stages = 3, .arithmetic = 1000};
  const auto seconds = [&](std::int64_t tiles) { return blocks_seconds(h200(), s, tiles, 64, 2).seconds; };
  EXPECT_DOUBLE_EQ(seconds(132), seconds(1));
  EXPECT_DOUBLE_EQ(seconds(264), seconds(133));
  EXPECT_NEAR(seconds(265), seconds(264) + seconds(1), 1e-12);
  EXPECT_GT(seconds(264), 1.5 * seconds(132));
  const prediction p = blocks_seconds(h200(), s, 1000, 64, 2);
  EXPECT_NEAR(p.seconds, std::accumulate(p.parts.begin(), p.parts.end(), 0.), 1e-15);
  EXPECT_EQ(p.largest(), limit::arithmetic);
}

// Blocks per multiprocessor follow from estimated registers, and agree with all measured ladder steps.
TEST(model, blocks_are_those_that_were_measured) {
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ANTIPHASE_RESULTS)) {
    if (entry.path().string().find("-gemm-") == std::string::npos || entry.path().extension() != ".json")
      continue;
    std::ifstream file(entry.path());
    const auto content = nlohmann::json::parse(file);
    for (const auto& r : content.at("records")) {
      const std::string kernel = r.at("kernel"), policy = r.at("policy");
      if (policy == "naive" || r.contains("refused")) continue;
      const std::int64_t m = r.at("shape").at("m"), n = r.at("shape").at("n"), k = r.at("shape").at("k");
      const auto address = [](std::uintptr_t number) { return reinterpret_cast<float*>(number << 40); };
      gemms::pipeline_shape shape;
      if (kernel.starts_with("gemm.ladder-f16.")) {
        shape = gemms::shape_of(h200(), gemms::find_tensor_core_step(policy), 0);
      } else {
        const gemms::problem p{.a = row_major<const float>(address(1), m, k),
                               .b = row_major<const float>(address(2), k, n),
                               .c = row_major(address(3), m, n)};
        shape = gemms::shape_of(h200(),
                                gemms::prepare(target::cpu, gemms::find_step(policy), p).instance.policy, 0);
      }
      SCOPED_TRACE(entry.path().filename().string() + " " + kernel);
      EXPECT_EQ(shape.resident, r.at("blocks_per_multiprocessor").get<int>());
      EXPECT_NEAR(static_cast<double>(shape.shared_bytes), r.at("shared_bytes").get<double>(), 1024);
      ++compared;
    }
  }
  EXPECT_GE(compared, 75);
}

TEST(gemm_cost, what_cannot_run_takes_for_ever) {
  gemms::policy huge = gemms::register_tile_policy;
  huge.stages = 64;
  EXPECT_TRUE(std::isinf(gemms::predict(h200(), huge, {.m = 128, .n = 128, .k = 128}).seconds));
}
TEST(gemm_cost, batches_and_nothing) {
  const gemms::policy& how = gemms::register_tile_policy;
  const double one = gemms::predict(h200(), how, {.m = 256, .n = 256, .k = 256}).seconds;
  EXPECT_NEAR(gemms::predict(h200(), how, {.m = 256, .n = 256, .k = 256, .count = 7}).seconds, 7 * one,
              1e-12);
  EXPECT_NEAR(gemms::predict(h200(), how, {.m = 0, .n = 256, .k = 256}).seconds, h200().launch.value, 1e-9);
}
TEST(gemm_cost, faster_machines_are_not_slower) {
  for (machine_figure machine_profile::*const figure :
       {&machine_profile::clock, &machine_profile::memory_bytes, &machine_profile::multiply_adds,
        &machine_profile::issue, &machine_profile::shared_bytes})
    for (const gemms::step& s : gemms::steps) {
      machine_profile faster = h200();
      (faster.*figure).value *= 2;
      const gemms::product_size p{.m = 2048, .n = 1000, .k = 777};
      EXPECT_LE(gemms::predict(faster, s.policy, p).seconds,
                gemms::predict(h200(), s.policy, p).seconds * (1 + 1e-12))
          << s.name;
    }
}
TEST(gemm_law, parts_of_an_explained_time_add_up) {
  const prediction p =
      gemms::explained(h200(), gemms::find_policy("fp16")->work, {.m = 4096, .n = 4096, .k = 4096}, 7e-4);
  EXPECT_NEAR(p.seconds, 7e-4, 1e-15);
  EXPECT_EQ(p.largest(), limit::arithmetic);
  EXPECT_NEAR(p.of(limit::arithmetic), 3 * std::pow(4096., 3) / 4.09e14, 1e-8);
  EXPECT_EQ(
      gemms::explained(h200(), gemms::find_policy("fp64-dots")->work, {.m = 1, .n = 16384, .k = 16384}, 3e-4)
          .largest(),
      limit::memory);
  EXPECT_EQ(gemms::explained(h200(), gemms::find_policy("fp64-dots")->work, {.m = 1, .n = 1, .k = 1}, 1e-6)
                .largest(),
            limit::launch);
}

TEST(scan_cost, nothing_is_faster_than_memory) {
  for (const machine_profile& on : shipped_profiles())
    for (const scans::step& s : scans::steps)
      for (const std::int64_t count : {1 << 10, 1 << 20, 1 << 24, 1 << 28})
        for (const std::size_t size : {1, 4, 8}) {
          const double bytes = 2 * static_cast<double>(count) * static_cast<double>(size);
          EXPECT_GE(scans::predict(on, s, count, size).seconds * (1 + 1e-9),
                    (bytes - on.cache_size.value) / on.memory_bytes.value)
              << s.name << " of " << count << " on " << on.limits.name;
        }
}
TEST(scan_cost, stages_hide_latency_until_memory_is_all) {
  const auto us = [](const char* step, std::int64_t n) {
    return 1e6 * scans::predict(h200(), scans::find_step(step), n, 4).seconds;
  };
  EXPECT_GT(us("single-pass-1", 1 << 26), 1.2 * us("single-pass-2", 1 << 26));
  EXPECT_GT(us("single-pass-2", 1 << 26), 1.1 * us("single-pass-3", 1 << 26));
  EXPECT_LT(us("single-pass", 1 << 28), 1.15 * 8 * (1 << 28) / 4.24e6);
  EXPECT_TRUE(std::isinf(us("one-wave", (1 << 22) + 1)));
  EXPECT_LT(us("one-wave", 1 << 16), us("single-pass", 1 << 16));
}

}  // namespace
}  // namespace antiphase
