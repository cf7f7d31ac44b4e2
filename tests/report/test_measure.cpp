// SPDX-License-Identifier: Apache-2.0
// Timing: the statistics, numbers of runs, and their order.
#include "tool/measure/measure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <chrono>
#include <set>
#include <string>
#include <thread>

namespace antiphase::tool {
namespace {

TEST(timing_summary, of_an_odd_number_of_samples) {
  const timing t = summary({70, 10, 50, 30, 20});
  EXPECT_EQ(t.median_us, 30);
  EXPECT_EQ(t.fastest_us, 10);
  EXPECT_EQ(t.slowest_us, 70);
  EXPECT_EQ(t.lower_quartile_us, 20);
  EXPECT_EQ(t.upper_quartile_us, 50);
}
TEST(timing_summary, interpolates_between_samples) {
  const timing t = summary({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(t.median_us, 2.5);
  EXPECT_DOUBLE_EQ(t.lower_quartile_us, 1.75);
  EXPECT_DOUBLE_EQ(t.upper_quartile_us, 3.25);
}
TEST(timing_summary, of_one_sample) {
  const timing t = summary({5});
  EXPECT_EQ(t.median_us, 5);
  EXPECT_EQ(t.fastest_us, t.slowest_us);
  EXPECT_EQ(t.lower_quartile_us, t.upper_quartile_us);
}

TEST(protocol_names, are_read_back_and_others_refused) {
  EXPECT_EQ(parse_protocol(name(protocol_kind::rested)), protocol_kind::rested);
  EXPECT_EQ(parse_protocol(name(protocol_kind::hot)), protocol_kind::hot);
  EXPECT_THROW(parse_protocol("warm"), bad_request);
}

// Works of some milliseconds each, and the order in which they ran, without repetitions.
struct recorded_works {
  std::string order;
  std::vector<work> works;

  explicit recorded_works(int count) {
    for (int i = 0; i < count; ++i)
      works.push_back([this, i](stream) {
        const char mark = static_cast<char>('a' + i);
        if (order.empty() || order.back() != mark) order += mark;
        std::this_thread::sleep_for(std::chrono::milliseconds(1 + i));
      });
  }
};

TEST(measuring, times_each_work_on_its_own) {
  const auto cpu = make_cpu_executor({});
  recorded_works recorded(3);
  const auto times = measure(*cpu, recorded.works, {.samples = 3, .rest_ms = 0});
  ASSERT_EQ(times.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GE(times[i].fastest_us, 1000. * static_cast<double>(1 + i)) << i;
    EXPECT_LE(times[i].fastest_us, times[i].median_us) << i;
    EXPECT_LE(times[i].median_us, times[i].slowest_us) << i;
  }
}
TEST(measuring, changes_the_order_from_round_to_round) {
  const auto cpu = make_cpu_executor({});
  recorded_works recorded(4);
  measure(*cpu, recorded.works, {.samples = 8, .rest_ms = 0, .sample_ms = 0});
  EXPECT_EQ(recorded.order.substr(0, 4), "abcd");  // warm-up
  // A round may begin with the work that ended the previous one; the two then share a mark.
  std::string all;
  std::set<std::string> orders;
  for (const char mark : recorded.order.substr(4)) {
    if (all.find(mark) != std::string::npos) {
      orders.insert(all);
      all.clear();
    }
    all += mark;
  }
  EXPECT_GE(orders.size(), 3u) << recorded.order;
}
TEST(measuring, rests_only_if_asked_to) {
  const auto cpu = make_cpu_executor({});
  int runs = 0;
  const std::vector<work> works{[&](stream) { ++runs; }};
  const auto seconds = [&](const protocol& how) {
    const auto start = std::chrono::steady_clock::now();
    measure(*cpu, works, how);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  EXPECT_GE(
      seconds(
          {.kind = protocol_kind::rested, .samples = 3, .rest_ms = 40, .sample_ms = 1e6, .most_repeats = 5}),
      0.12);
  EXPECT_EQ(runs, 2 + 3 * (1 + 5));  // finding the repetitions; per sample one untimed run
  runs = 0;
  const double hot = seconds({.kind = protocol_kind::hot,
                              .samples = 3,
                              .rest_ms = 10000,
                              .heat_ms = 1,
                              .sample_ms = 1e6,
                              .most_repeats = 5});
  EXPECT_LT(hot, 10);
  EXPECT_GT(runs, 2 + 3 * (1 + 5));  // and the heating runs
}

}  // namespace
}  // namespace antiphase::tool
