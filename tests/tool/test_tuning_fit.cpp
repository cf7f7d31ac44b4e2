// SPDX-License-Identifier: Apache-2.0
// Factors fitted to measured times, and their value.
#include "tool/measure/tuning_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace antiphase::tool {
namespace {

using gemms::tuning_class_at, gemms::tuning_class_of;

const gemms::tuning_class here = tuning_class_of(16, 1000, 300), beside = tuning_class_of(64, 1000, 300),
                          across = tuning_class_of(64, 1000, 2000), far_away = tuning_class_of(4000, 4000, 3);

double factor(const std::vector<gemms::tuning::of_policy>& all, const char* policy,
              const gemms::tuning_class& of) {
  return gemms::tuning{
      .source = {}, .version = {}, .device = {}, .compute_capability = {}, .made = {}, .policies = all}
      .factor(policy, of);
}

// The weighted mean of the class's measurements, those of adjacent classes with weight 1/10, and one product
// that takes as long as predicted.
TEST(tuning_fit, factors_are_weighted_means) {
  const std::vector<tuning_sample> samples{{here, {{"a", 10, 40}, {"b", 5, 5}}},
                                           {here, {{"a", 1, 4}}},
                                           {beside, {{"a", 3, 24}}},
                                           {far_away, {{"b", 2, 1}}}};
  const auto all = fitted(samples);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].policy, "a");
  EXPECT_EQ(all[1].policy, "b");
  const auto power = [](double of_two) { return std::round(1000 * std::exp2(of_two)) / 1000; };
  EXPECT_DOUBLE_EQ(factor(all, "a", here), power((2 + 2 + .1 * 3) / 3.1));
  EXPECT_DOUBLE_EQ(factor(all, "a", beside), power((3 + .1 * 4) / 2.2));
  EXPECT_DOUBLE_EQ(factor(all, "a", across), power(.1 * 3 / 1.1))
      << "not of the class that two steps lead to";
  EXPECT_EQ(factor(all, "a", far_away), 1);
  EXPECT_DOUBLE_EQ(factor(all, "b", far_away), power(-1. / 2));
  EXPECT_EQ(factor(all, "b", here), 1);
  EXPECT_EQ(factor(all, "c", here), 1);
  EXPECT_TRUE(fitted({}).empty());
}

TEST(tuning_fit, a_class_has_those_beside_it_in_every_direction_once) {
  const gemms::tuning_class middle{{3, 1, 3, 1}};
  const auto all = fitted(std::vector<tuning_sample>{{middle, {{"a", 1, 1024}}}});
  int touched = 0;
  for (std::size_t i = 0; i < gemms::tuning_class::count; ++i)
    touched += factor(all, "a", tuning_class_at(i)) != 1;
  EXPECT_EQ(touched, 1 + 8);
  for (std::size_t i = 0; i < 4; ++i)
    for (const std::size_t step : {std::size_t{1}, ~std::size_t{0}}) {
      gemms::tuning_class next = middle;
      next.cell[i] += step;
      EXPECT_GT(factor(all, "a", next), 1) << i;
    }
}

TEST(tuning_fit, the_lag_is_that_of_the_choice_behind_the_best) {
  const gemms::tuning as_predicted{};
  EXPECT_EQ(lag_of({}, as_predicted), 1);
  const std::vector<tuning_sample> samples{{here, {{"a", 10, 40}, {"b", 11, 10}}},
                                           {far_away, {{"a", 3, 5}, {"b", 7, 9}}}};
  EXPECT_DOUBLE_EQ(lag_of(samples, as_predicted), 2) << "four times as long at one of two";
  EXPECT_DOUBLE_EQ(lag_of(samples, {.source = {},
                                    .version = {},
                                    .device = {},
                                    .compute_capability = {},
                                    .made = {},
                                    .policies = fitted(samples)}),
                   1);
}

TEST(tuning_fit, means_are_told_of_every_policy) {
  const auto all = mean_ratios(
      std::vector<tuning_sample>{{here, {{"b", 10, 40}, {"a", 2, 2}}}, {far_away, {{"b", 3, 3}}}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].policy, "a");
  EXPECT_EQ(all[1].policy, "b");
  EXPECT_EQ(all[1].products, 2U);
  EXPECT_DOUBLE_EQ(all[1].ratio, 2);
}

}  // namespace
}  // namespace antiphase::tool
