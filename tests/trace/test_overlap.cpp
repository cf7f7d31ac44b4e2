// SPDX-License-Identifier: Apache-2.0
// The figures of a timeline, from spans with known figures.
#include <gtest/gtest.h>

#include <algorithm>

#include "well_formed.hpp"

namespace antiphase {
namespace {

using testing::faults_of;
using testing::made_up;

TEST(Overlap, OneStageHidesNothing) {
  const overlap o = measure(made_up(1, 5));
  EXPECT_EQ(o.steps, 5);
  EXPECT_EQ(o.steps_hidden, 0);
  EXPECT_EQ(o.hidden, 0);
  EXPECT_EQ(o.mean_wait, 10);
  EXPECT_EQ(o.mean_compute, 20);
  EXPECT_EQ(o.duration, 5 * 30);
}

TEST(Overlap, TwoStagesHideAllButTheFirst) {
  const overlap o = measure(made_up(2, 5));
  EXPECT_EQ(o.steps_hidden, 4);
  EXPECT_DOUBLE_EQ(o.hidden, 80.0 / 90.0);  // in flight: the first load for 10, four others for 20 each
  EXPECT_EQ(o.mean_wait, 2);
  EXPECT_EQ(o.duration, 10 + 5 * 20);
}

TEST(Overlap, ThreeStagesHaveTwoLoadsInFlight) {
  const overlap o = measure(made_up(3, 6));
  EXPECT_EQ(o.steps_hidden, 5);
  // in flight: step 0 for 10; step 1 for 10 + 20; steps 2 to 5 for 40 each
  EXPECT_DOUBLE_EQ(o.hidden, (20.0 + 4 * 40) / (10 + 30 + 4 * 40));
}

// Warps ahead of others: time during which two steps compute counts once.
TEST(Overlap, CountsTimeOnceWhereComputationsOfStepsOverlap) {
  timeline t{.policy = "two warps", .unit = "cycles", .stages = 3, .steps = 3, .recorded = 3, .warps = 2};
  const auto add = [&](int warp, span_kind kind, int step, std::int64_t begin, std::int64_t end) {
    t.spans.push_back(
        {.begin = begin, .end = end, .kind = kind, .step = step, .slot = step % 3, .agent = warp});
  };
  for (const int warp : {0, 1}) {
    const std::int64_t late = 15 * warp;
    add(warp, span_kind::load, 0, 0, 1);
    add(warp, span_kind::load, 1, 1, 2);
    add(warp, span_kind::wait, 0, 2, 10);
    add(warp, span_kind::load, 2, 10, 11);
    add(warp, span_kind::compute, 0, 11 + late, 30 + late);  // both warps: 11 to 45
    add(warp, span_kind::wait, 1, 30 + late, 31 + late);
    add(warp, span_kind::compute, 1, 31 + late, 50 + late);  // both warps: 31 to 65
    add(warp, span_kind::wait, 2, 50 + late, 60 + late);
    add(warp, span_kind::compute, 2, 60 + late, 80 + late);
  }
  const std::vector<step_times> steps = by_step(t);
  EXPECT_EQ(steps[1].issued, 1);
  EXPECT_EQ(steps[1].landed, 31);
  EXPECT_EQ(steps[0].compute_begin, 11);
  EXPECT_EQ(steps[0].compute_end, 45);
  const overlap o = measure(t);
  // in flight: 0 to 10, 1 to 31, 10 to 60; computation during the second from 11 to 31, during the third from
  // 11 to 60
  EXPECT_DOUBLE_EQ(o.hidden, (20.0 + 49) / (10 + 30 + 50));
  EXPECT_EQ(o.steps_hidden, 2);
  EXPECT_DOUBLE_EQ(o.mean_wait, (8 + 1 + 10) / 3.0);
}

// Scales times to a GPU's magnitude, so that waits count as such.
timeline slower(timeline t) {
  for (span_record& s : t.spans) s.begin *= 100, s.end *= 100;
  t.step_bytes = 4096;
  return t;
}

TEST(Overlap, TellsWhatWarpsWaitForAndWhatLimits) {
  const overlap one = measure(slower(made_up(1, 5)));
  EXPECT_DOUBLE_EQ(one.waiting, 1 / 3.);
  ASSERT_EQ(one.causes.size(), 1u);
  EXPECT_EQ(one.causes[0].cause, "data");
  EXPECT_DOUBLE_EQ(one.causes[0].share, 1 / 3.);
  EXPECT_EQ(one.limited_by, "turns");
  const overlap two = measure(slower(made_up(2, 5)));
  EXPECT_DOUBLE_EQ(two.waiting, 1 / 11.);  // for the first load only
  EXPECT_EQ(two.limited_by, "computation");
}

// Two warps that meet after the wait for a step's data: the slower one computes for 190 of 200.
timeline meeting_warps(int waits_of_the_slower) {
  timeline t{.policy = "two warps", .unit = "cycles", .stages = 2, .steps = 8, .recorded = 8, .warps = 2};
  t.step_bytes = 1024;
  for (int warp = 0; warp < 2; ++warp)
    for (int step = 0; step < 8; ++step) {
      const std::int64_t begin = 200 * step, waits = warp == 0 ? 100 : waits_of_the_slower;
      const auto add = [&](span_kind kind, int of, std::int64_t from, std::int64_t to) {
        t.spans.push_back(
            {.begin = from, .end = to, .kind = kind, .step = of, .slot = of % 2, .agent = warp});
      };
      if (step == 0) add(span_kind::load, 0, begin, begin + 1);
      add(span_kind::wait, step, begin + 1, begin + 1 + waits);
      if (step + 1 < 8) add(span_kind::load, step + 1, begin + 101, begin + 102);
      add(span_kind::compute, step, begin + 102, begin + 200);
    }
  return t;
}
TEST(Overlap, OnlyTheLastWarpToComeWaitsForData) {
  const auto share = [](const overlap& o, const char* cause) {
    const auto found = std::ranges::find(o.causes, cause, &waiting_share::cause);
    return found == o.causes.end() ? 0 : found->share;
  };
  const overlap late = measure(meeting_warps(100)), soon = measure(meeting_warps(4));
  EXPECT_NEAR(share(late, "data"), 0.5, 0.01);
  EXPECT_EQ(share(late, "other warps"), 0);
  EXPECT_EQ(late.limited_by, "loads");
  EXPECT_NEAR(share(soon, "data"), 0.02, 0.005);
  EXPECT_NEAR(share(soon, "other warps"), 0.24, 0.01);
  EXPECT_EQ(soon.limited_by, "other warps");
  EXPECT_GT(soon.next_time, 0.97 * soon.step_time) << "a stage does not make the slower warp faster";
  timeline results = meeting_warps(100);
  results.rings = {"results"};
  const overlap computed = measure(results);
  EXPECT_EQ(share(computed, "data"), 0);
  EXPECT_EQ(computed.limited_by, "other warps") << "no load is waited for";
}

TEST(Overlap, CountsBytesUntilTheyHaveArrived) {
  const timeline t = slower(made_up(2, 5));
  const std::vector<step_times> steps = by_step(t);
  EXPECT_TRUE(steps[0].seen_landing);
  EXPECT_FALSE(steps[3].seen_landing);
  EXPECT_EQ(steps[3].arrived, steps[3].issued + 1000) << "as long as the load that was waited for";
  EXPECT_EQ(steps[3].landed, steps[3].issued + 2000) << "when a thread looked";
  const overlap o = measure(t);
  EXPECT_DOUBLE_EQ(o.mean_bytes, 4096 * 5000 / 11000.);
  EXPECT_EQ(o.most_bytes, 4096);
  EXPECT_EQ(measure(slower(made_up(3, 5))).most_bytes, 2 * 4096);

  // Two loads without waits; the second is issued when the first must have landed.
  timeline apart{.policy = "apart",
                 .unit = "cycles",
                 .stages = 3,
                 .steps = 3,
                 .recorded = 3,
                 .warps = 1,
                 .step_bytes = 4096};
  const auto add = [&](span_kind kind, int step, std::int64_t begin, std::int64_t end) {
    apart.spans.push_back({.begin = begin, .end = end, .kind = kind, .step = step, .slot = step, .agent = 0});
  };
  add(span_kind::load, 0, 0, 1), add(span_kind::wait, 0, 1, 1000), add(span_kind::load, 1, 1000, 1001),
      add(span_kind::compute, 0, 1001, 2500);
  add(span_kind::load, 2, 2500, 2501), add(span_kind::wait, 1, 5000, 5001),
      add(span_kind::compute, 1, 5001, 6000);
  add(span_kind::wait, 2, 6000, 6001), add(span_kind::compute, 2, 6001, 7000);
  EXPECT_EQ(measure(apart).most_bytes, 4096);
}

TEST(Overlap, ForetellsOneMoreStage) {
  const overlap one = measure(slower(made_up(1, 50)));
  EXPECT_DOUBLE_EQ(one.step_time, 3000);
  EXPECT_DOUBLE_EQ(one.next_time, 2000) << "what is left is computation";
  EXPECT_NEAR(one.next_time, measure(slower(made_up(2, 50))).step_time, 25);
  const overlap two = measure(slower(made_up(2, 50)));
  EXPECT_NEAR(two.next_time, two.step_time, 25) << "nothing is left to hide";
  EXPECT_EQ(one_more_stage(2, false, 900, 100, 50, 0), 450) << "two loads on their way";
  EXPECT_EQ(one_more_stage(2, true, 900, 300, 50, 0), 400) << "three slots, each busy for 1200";
  EXPECT_EQ(one_more_stage(2, true, 900, 300, 500, 0), 500);
  EXPECT_EQ(one_more_stage(2, true, 900, 300, 50, 600), 600) << "no faster than loads land";
}

TEST(Overlap, OfNoStepIsNothing) {
  const overlap o = measure({.policy = "empty", .steps = 4, .warps = 2});
  EXPECT_EQ(o.steps, 0);
  EXPECT_EQ(o.hidden, 0);
  EXPECT_EQ(o.mean_wait, 0);
}

// Steps with spans but no load count for nothing: their start is unknown.
TEST(Overlap, OfStepsWithoutALoadIsNothing) {
  for (const span_kind gone : {span_kind::load, span_kind::wait}) {
    timeline t = made_up(2, 7);
    std::erase_if(t.spans, [&](const span_record& s) { return s.kind == gone; });
    EXPECT_TRUE(by_step(t).empty());
    const overlap o = measure(t);
    EXPECT_EQ(o.steps, 0);
    EXPECT_EQ(o.duration, 0);
    EXPECT_EQ(o.step_time, 0);
    EXPECT_EQ(o.mean_bytes, 0);
  }
}

// The checker of the other tests accepts a correct timeline, and finds each kind of damage.
TEST(WellFormed, FindsFaults) {
  for (const int stages : {1, 2, 3, 4}) {
    const timeline good = made_up(stages, 7);
    ASSERT_TRUE(faults_of(good).empty()) << faults_of(good).front();
    const auto spoilt = [&](auto change) {
      timeline t = good;
      change(t);
      return !faults_of(t).empty();
    };
    const auto nth = [](timeline& t, span_kind kind, int step) {
      return std::ranges::find_if(t.spans,
                                  [&](const span_record& s) { return s.kind == kind && s.step == step; });
    };
    EXPECT_TRUE(spoilt([&](timeline& t) { t.spans.erase(nth(t, span_kind::wait, 3)); }));
    EXPECT_TRUE(spoilt([&](timeline& t) { t.spans.push_back(t.spans.back()); }));
    EXPECT_TRUE(spoilt([&](timeline& t) { nth(t, span_kind::compute, 2)->end += 15; }));
    EXPECT_TRUE(spoilt([&](timeline& t) { nth(t, span_kind::compute, 2)->begin -= 15; }));
    EXPECT_TRUE(spoilt([&](timeline& t) { nth(t, span_kind::load, 5)->slot = stages; }));
    EXPECT_TRUE(spoilt(
        [&](timeline& t) { std::iter_swap(nth(t, span_kind::wait, 4), nth(t, span_kind::compute, 4)); }));
  }
}

}  // namespace
}  // namespace antiphase
