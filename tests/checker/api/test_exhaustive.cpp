// SPDX-License-Identifier: Apache-2.0
// All schedules of a tiny case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checker/api/support.hpp"

namespace antiphase::test {
namespace {

TEST(exhaustive, is_complete_and_says_so) {
  const check_report report = check(ticket_program(publishing::right), {.exhaustive = 1000});
  EXPECT_TRUE(report.clean()) << to_text(report);
  EXPECT_TRUE(report.complete);
  EXPECT_GE(report.runs, 2);  // either thread may be the first
  EXPECT_LT(report.runs, 1000);
  EXPECT_THAT(to_text(report), testing::HasSubstr("schedules, all there are"));
}

TEST(exhaustive, stops_at_the_limit) {
  const check_report report = check(ticket_program(publishing::right), {.exhaustive = 1});
  EXPECT_EQ(report.runs, 1);
  EXPECT_FALSE(report.complete);
  EXPECT_THAT(to_text(report), testing::Not(testing::HasSubstr("all there are")));
}

TEST(exhaustive, finds_what_one_order_shows) {
  const auto broken = ticket_program(publishing::relaxed_by_thread_1);
  EXPECT_TRUE(check(broken, {.schedules = 3, .orders = {schedule::forward}}).clean());

  const check_report report = check(broken, {.exhaustive = 1000});
  EXPECT_TRUE(report.complete) << "a finding does not end the search";
  ASSERT_EQ(report.findings.size(), 1u) << to_text(report);
  const finding& f = report.findings.front();
  EXPECT_EQ(f.kind, finding_kind::race);
  EXPECT_LT(f.times, static_cast<std::uint64_t>(report.runs));
  EXPECT_EQ(f.first.order, schedule::script);
  EXPECT_EQ(f.first.script, "1:1")
      << "thread 1 first, once thread 0 has come to its ticket; then as it comes";

  const check_report again = check(broken, {.replay = f.first});
  EXPECT_EQ(again.runs, 1);
  ASSERT_EQ(again.findings.size(), 1u);
  EXPECT_EQ(again.findings.front().access.place, f.access.place);
}

TEST(exhaustive, does_not_depend_on_the_seed) {
  const auto broken = ticket_program(publishing::relaxed_by_thread_1);
  const check_report one = check(broken, {.seed = 1, .exhaustive = 1000}),
                     other = check(broken, {.seed = 99, .exhaustive = 1000});
  EXPECT_EQ(one.runs, other.runs);
  EXPECT_EQ(one.accesses, other.accesses);
}

}  // namespace
}  // namespace antiphase::test
