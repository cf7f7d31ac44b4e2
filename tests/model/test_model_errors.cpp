// SPDX-License-Identifier: Apache-2.0
// Errors of predictions: medians, ranks, picks, and the records that count.
#include "tool/commands/model/model_errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tool/base/errors.hpp"

namespace antiphase::tool {
namespace {

compared_time time_of(std::string policy, double measured, double predicted, std::string contest = "c",
                      bool fitted = false) {
  compared_time t{.family = "f",
                  .policy = std::move(policy),
                  .shape = "s",
                  .contest = std::move(contest),
                  .fitted = fitted,
                  .measured = measured,
                  .takes = {}};
  t.takes.add(limit::memory, predicted);
  return t;
}

TEST(model_errors, ranks) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 40}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3}, {1, 3, 2}), 0.5);
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4}, {1, 1, 2, 3}), 0.9486833, 1e-6);  // ties share a rank
  // constant predictions have no rank correlation
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3}, {5, 5, 5}), 0);
}

TEST(model_errors, medians_of_what_was_not_fitted_and_picks) {
  const auto all = errors_of(
      {time_of("a", 1, 1.1), time_of("b", 2, 2.2), time_of("c", 4, 3), time_of("d", 1, 9, "", true)});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "f");
  EXPECT_EQ(all[1].name, "all");
  for (const family_error& f : all) {
    EXPECT_EQ(f.times, 4U);
    EXPECT_EQ(f.fitted_times, 1U);
    EXPECT_NEAR(f.fitted_median, 8, 1e-12);
    EXPECT_NEAR(f.median, 0.1, 1e-12);
    EXPECT_NEAR(f.p90, 0.25, 1e-12);
    EXPECT_EQ(f.ranked, 1U);
    EXPECT_DOUBLE_EQ(f.rank, 1);
    EXPECT_EQ(f.picks, 1U);
  }
  // 20 % slower
  EXPECT_EQ(errors_of({time_of("a", 1, 3), time_of("b", 1.2, 2), time_of("c", 4, 4)})[0].picks, 0U);
  EXPECT_EQ(errors_of({time_of("a", 1, 3), time_of("b", 1.04, 2), time_of("c", 4, 4)})[0].picks, 1U);  // 4 %
  // two records make no ranking
  EXPECT_EQ(errors_of({time_of("a", 1, 3), time_of("b", 1.04, 2)})[0].ranked, 0U);
}

TEST(model_errors, records) {
  std::vector<compared_time> times;
  const machine_profile& on = shipped_profile("H200");
  const json ladder = json::parse(R"({"command": "ladder gemm", "records": [
    {"kernel": "gemm.ladder.tiled", "policy": "tiled", "shape": {"m": 1024, "n": 1024, "k": 1024}, "protocol": "rested", "time_us": {"ours": 308}},
    {"kernel": "gemm.ladder.tiled", "policy": "tiled", "shape": {"m": 2048, "n": 2048, "k": 2048}, "protocol": "rested", "time_us": {"ours": 2431}},
    {"kernel": "gemm.ladder.async-4", "policy": "async-4", "shape": {"m": 1, "n": 1, "k": 1}, "refused": "too much"}]})");
  add_times(on, ladder, "l.json", times);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_TRUE(times[0].fitted);
  EXPECT_FALSE(times[1].fitted);
  EXPECT_NEAR(times[0].takes.seconds, 308e-6, 31e-6);

  times.clear();
  const json tune = json::parse(
      R"({"command": "tune", "records": [{"shape": {"m": 4096, "n": 4096, "k": 4096},
    "layout": "nn", "beta": 0, "times": [{"policy": "fp16", "measured_us": 640},
    {"policy": "tf32", "measured_us": 1500}, {"policy": "fp64-dots", "measured_us": 9}]}]})");
  add_times(on, tune, "t.json", times);
  ASSERT_EQ(times.size(), 2U);  // dots does not take this shape
  EXPECT_EQ(times[0].shape, times[1].shape);
  EXPECT_LT(times[0].takes.seconds, times[1].takes.seconds);

  try {
    add_times(on,
              json::parse(
                  R"({"command": "ladder gemm",
                "records": [{"kernel": "gemm.ladder.tiled", "time_us": {"ours": "x"}}]})"),
              "bad.json", times);
    FAIL();
  } catch (const bad_input& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("'bad.json'"));
  }
}

}  // namespace
}  // namespace antiphase::tool
