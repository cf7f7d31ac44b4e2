// SPDX-License-Identifier: Apache-2.0
// A checked run is reproducible: from its seed, from its script, with any number of workers.
#include <gmock/gmock.h>

#include <antiphase/checker.hpp>
#include <set>
#include <vector>

#include "canaries.hpp"

namespace antiphase::test {
namespace checked {
kernel sometimes_kernel();
kernel tickets_kernel();
}  // namespace checked

namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::vector<std::uint64_t> run(const context& where, const kernel& k) {
  device_array<std::uint64_t> out(where, 32);
  const canary_params params{out.data(), 3};
  where.runs_on().launch(k, {}, &params, nullptr);
  return out.to_host();
}
void sometimes(const context& where) { run(where, checked::sometimes_kernel()); }

TEST(Replay, TheSameCheckGivesTheSameReport) {
  const check_report once = check(sometimes, {.schedules = 30, .workers = 1});
  EXPECT_THAT(once.findings, Not(IsEmpty()));
  EXPECT_EQ(to_json(once), to_json(check(sometimes, {.schedules = 30, .workers = 1})));
  EXPECT_EQ(to_json(once), to_json(check(sometimes, {.schedules = 30, .workers = 2})));
}

TEST(Replay, SeedsGiveOrdersOfTheirOwnAndTheSameSeedTheSame) {
  const auto order_of = [](unsigned seed) {
    std::vector<std::uint64_t> order;
    check([&](const context& where) { order = run(where, checked::tickets_kernel()); },
          {.seed = seed, .schedules = 1, .orders = {schedule::random}, .workers = 1});
    return order;
  };
  std::set<std::vector<std::uint64_t>> all;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    all.insert(order_of(seed));
    EXPECT_EQ(order_of(seed), order_of(seed));
  }
  EXPECT_THAT(all, SizeIs(8));
}

TEST(Replay, ThatRunShowsTheFindingAndTheOrdinaryOrderDoesNot) {
  EXPECT_TRUE(check(sometimes, {.schedules = 1, .orders = {schedule::forward}, .workers = 1}).clean());
  for (const bool shorten : {false, true}) {
    const check_report report =
        check(sometimes, {.schedules = 30, .orders = {schedule::random}, .workers = 1, .shorten = shorten});
    ASSERT_THAT(report.findings, SizeIs(1));
    const finding& f = report.findings[0];
    EXPECT_EQ(f.first.order == schedule::script, shorten) << to_text(report);
    const check_report again = check(sometimes, {.workers = 1, .replay = f.first});
    ASSERT_THAT(again.findings, SizeIs(1));
    EXPECT_EQ(again.runs, 1);
    EXPECT_EQ(again.findings[0].kind, f.kind);
    EXPECT_EQ(again.findings[0].access.place, f.access.place);
    EXPECT_EQ(again.findings[0].earlier->place, f.earlier->place);
  }
}

}  // namespace
}  // namespace antiphase::test
