// SPDX-License-Identifier: Apache-2.0
// Timelines of the ladder's kernels, recorded at runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "well_formed.hpp"

namespace antiphase {
namespace {

using testing::faults_of;
using ::testing::HasSubstr;

constexpr const char* policies[] = {"tiled",     "padded",  "double-buffered", "async-1",
                                    "async-2",   "async-3", "async-4",         "register-tile",
                                    "fragments", "vectors", "warp-tile",       "strict"};
constexpr const char* small_policies[] = {"tiled",   "double-buffered", "async-1",
                                          "async-2", "async-3",         "async-4"};

struct product {
  int m, n, k;
  device_array<float> a, b, c;

  product(const context& where, int m_, int n_, int k_)
      : m(m_),
        n(n_),
        k(k_),
        a(where, std::span<const float>(values(m * k, 7))),
        b(where, std::span<const float>(values(k * n, 11))),
        c(where, std::span<const float>(values(m * n, 13))) {}

  static std::vector<float> values(int count, int by) {
    std::vector<float> v(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < v.size(); ++i)
      v[i] = static_cast<float>((i * static_cast<std::size_t>(by) + i / 17) % 31) - 15;
    return v;
  }
  gemms::problem problem(float beta = 0) {
    return {.a = {a.data(), m, k, k, 1},
            .b = {b.data(), k, n, n, 1},
            .c = {c.data(), m, n, n, 1},
            .alpha = 1,
            .beta = beta};
  }
};

context on_cpu(unsigned seed) { return context(make_cpu_executor({.seed = seed, .workers = 1})); }

void expect_in_order(const timeline& t) {
  const std::vector<std::string> faults = faults_of(t);
  EXPECT_TRUE(faults.empty()) << t.policy << ": " << faults.size()
                              << " faults, the first: " << (faults.empty() ? "" : faults.front());
}

void expect_same_product(const context& where, const char* policy, product& recorded, float beta) {
  product plain(where, recorded.m, recorded.n, recorded.k);
  gemm(where, plain.problem(beta), {.policy = std::string_view(policy) == "async-1" ? "async-2" : policy});
  where.runs_on().synchronize(nullptr);
  EXPECT_EQ(recorded.c.to_host(), plain.c.to_host()) << policy;
}

TEST(RecordGemm, TimelinesAreInOrderAndTheProductIsRight) {
  for (const unsigned seed : {1u, 2u, 3u})
    for (const char* policy : policies) {
      const context where = on_cpu(seed);
      product p(where, 40, 37, 32 * 7 - 5);
      const timeline t = record_gemm(where, policy, p.problem(), {.runs = 1});
      EXPECT_EQ(t.policy, policy);
      EXPECT_EQ(t.unit, "ticks");
      EXPECT_EQ(t.recorded, t.steps);
      EXPECT_EQ(t.dropped, 0u);
      EXPECT_GE(t.steps, 7);
      expect_in_order(t);
      expect_same_product(where, policy, p, 0);
    }
}

// Copies land late, at the wait: the computation in between shows the overlap that the pipeline allows.
TEST(RecordGemm, OneStageHidesNothingMoreHideAllButTheFirstStep) {
  for (const unsigned seed : {1u, 5u, 9u})
    for (const char* policy : small_policies) {
      const context where = on_cpu(seed);
      product p(where, 32, 32, 32 * 12);
      const timeline t = record_gemm(where, policy, p.problem());
      const overlap o = measure(t);
      EXPECT_EQ(o.steps, 12) << policy;
      if (t.stages == 1) {
        EXPECT_EQ(o.steps_hidden, 0) << policy;
        EXPECT_EQ(o.hidden, 0) << policy;
      } else {
        EXPECT_EQ(o.steps_hidden, 11) << policy;
        EXPECT_GT(o.hidden, 0) << policy;
      }
      EXPECT_GT(o.mean_wait, 0) << policy;
      EXPECT_GT(o.mean_compute, 0) << policy;
    }
}

bool same_spans(const timeline& one, const timeline& other) {
  return std::ranges::equal(one.spans, other.spans, [](const span_record& x, const span_record& y) {
    return x.begin == y.begin && x.end == y.end && x.kind == y.kind && x.step == y.step && x.slot == y.slot &&
           x.agent == y.agent;
  });
}

// The simulation's clock is a model: schedule, number of workers and landing of copies do not affect it.
TEST(RecordGemm, TheSameProblemGivesTheSameTimeline) {
  for (const char* policy : policies) {
    const context first = on_cpu(1);
    product p(first, 40, 37, 32 * 4 - 3);
    const timeline once = record_gemm(first, policy, p.problem());
    ASSERT_FALSE(once.spans.empty());
    for (const cpu_options& options :
         {cpu_options{.seed = 1, .workers = 1}, cpu_options{.seed = 99, .workers = 1},
          cpu_options{.workers = 3}, cpu_options{.copies = landing::early, .workers = 1},
          cpu_options{.order = schedule::reversed, .copies = landing::mixed, .workers = 1}}) {
      const context again(make_cpu_executor(options));
      product q(again, 40, 37, 32 * 4 - 3);
      EXPECT_TRUE(same_spans(once, record_gemm(again, policy, q.problem())))
          << policy << ", seed " << options.seed;
    }
  }
}

TEST(RecordGemm, MoreStagesHideMoreOfTheLoads) {
  const context where = on_cpu(1);
  product p(where, 32, 32, 512);
  double first = -1, hidden = 0;
  std::int64_t duration = std::int64_t{1} << 60;
  for (const char* policy : {"async-1", "async-2", "async-3", "async-4"}) {
    const overlap o = measure(record_gemm(where, policy, p.problem()));
    EXPECT_GT(o.hidden, first) << policy;
    if (std::string(policy) == "async-4")  // three hide all that there is to hide
      EXPECT_LE(o.duration, duration);
    else
      EXPECT_LT(o.duration, duration) << policy;
    EXPECT_LE(o.hidden, 1) << policy;
    if (first < 0) first = o.hidden;
    hidden = o.hidden, duration = o.duration;
  }
  EXPECT_GT(hidden, 0.5);
}

TEST(RecordGemm, StagesAreThoseOfThePolicy) {
  const context where = on_cpu(1);
  product p(where, 32, 32, 96);
  const auto stages = [&](const char* policy) {
    return record_gemm(where, policy, p.problem(), {.runs = 1}).stages;
  };
  EXPECT_EQ(stages("tiled"), 1);
  EXPECT_EQ(stages("double-buffered"), 2);
  EXPECT_EQ(stages("async-1"), 1);
  EXPECT_EQ(stages("async-2"), 2);
  EXPECT_EQ(stages("async-3"), 3);
  EXPECT_EQ(stages("async-4"), 4);
}

TEST(RecordGemm, RecordsTheBlockThatWasAskedFor) {
  const context where = on_cpu(4);
  product p(where, 64, 64, 64);
  const timeline t = record_gemm(where, "async-2", p.problem(), {.block = 3});
  EXPECT_EQ(t.block, 3u);
  EXPECT_EQ(t.recorded, 2);
  expect_in_order(t);
}

TEST(RecordGemm, KeepsTheFirstStepsWhenThereIsNoRoomForAll) {
  const context where = on_cpu(2);
  for (const char* policy : small_policies) {
    product p(where, 32, 32, 32 * 10);
    const timeline t = record_gemm(where, policy, p.problem(), {.steps = 3, .runs = 1});
    EXPECT_EQ(t.steps, 10) << policy;
    EXPECT_EQ(t.recorded, 3) << policy;
    const int per_warp = t.stages == 1 ? 5 * 10 - 5 * 3 : 4 * 10 - (4 * 3 + 2 * (t.stages - 1));
    EXPECT_EQ(t.dropped, static_cast<std::uint64_t>(t.warps * per_warp)) << policy;
    EXPECT_EQ(by_step(t).size(), 3u);
    expect_in_order(t);
  }
}

TEST(RecordGemm, RunsOnceWhereBetaAddsToC) {
  const context where = on_cpu(3);
  product p(where, 33, 40, 70);
  expect_in_order(record_gemm(where, "async-3", p.problem(-1.5f), {.runs = 4}));
  expect_same_product(where, "async-3", p, -1.5f);
}

// Layouts without their own twin: transposed operands, and packets that are not aligned.
TEST(RecordGemm, RecordsOperandsOfAnyLayout) {
  const context where = on_cpu(3);
  const auto record = [&](const char* policy, auto change) {
    product p(where, 64, 64, 64), plain(where, 64, 64, 64);
    gemms::problem recorded = p.problem(), expected = plain.problem();
    change(recorded);
    change(expected);
    const timeline t = record_gemm(where, policy, recorded, {.runs = 1});
    EXPECT_EQ(t.recorded, t.steps);
    expect_in_order(t);
    gemm(where, expected, {.policy = policy});
    EXPECT_EQ(p.c.to_host(), plain.c.to_host()) << policy;
  };
  for (const char* policy : {"register-tile", "vectors", "warp-tile", "strict"}) {
    record(policy, [](gemms::problem& p) { p.a = transposed(p.a); });
    record(policy, [](gemms::problem& p) { p.b = transposed(p.b); });
    record(policy, [](gemms::problem& p) {
      ++p.a.data, ++p.b.data;
      p.a.columns = p.b.rows = p.b.columns = p.c.columns = 63;
      --p.a.rows, --p.c.rows, --p.b.rows, --p.a.columns;
    });
  }
}

template <class Action> std::string refusal_of(Action action) {
  try {
    action();
  } catch (const bad_request& e) {
    return e.what();
  }
  return "not refused";
}

TEST(RecordGemm, RefusesWhatHasNoTimeline) {
  const context where = on_cpu(1);
  product p(where, 32, 32, 64);
  EXPECT_THAT(refusal_of([&] { record_gemm(where, "naive", p.problem()); }),
              HasSubstr("naive has no pipeline"));
  EXPECT_THAT(refusal_of([&] { record_gemm(where, "asink-2", p.problem()); }), HasSubstr("'asink-2'"));
  EXPECT_THAT(refusal_of([&] { record_gemm(where, "tiled", p.problem(), {.block = 1}); }),
              HasSubstr("block 1 does not exist"));
  EXPECT_THAT(refusal_of([&] { record_gemm(where, "tiled", p.problem(), {.steps = 0}); }),
              HasSubstr("steps = 0"));
  EXPECT_THAT(refusal_of([&] { record_gemm(where, "tiled", p.problem(), {.runs = 0}); }),
              HasSubstr("runs = 0"));
  gemms::problem empty = p.problem();
  empty.a.columns = empty.b.rows = 0;
  EXPECT_THAT(refusal_of([&] { record_gemm(where, "tiled", empty); }), HasSubstr("K = 0"));
}

class RecordGemmOf : public ::testing::TestWithParam<const char*> {};
TEST_P(RecordGemmOf, CudaTimelineIsInOrder) {
  std::string why;
  if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU: " << why;
  const context where(make_cuda_executor());
  const char* const policy = GetParam();
  product p(where, 300, 260, 32 * 20 - 5);
  const timeline t = record_gemm(where, policy, p.problem());
  EXPECT_EQ(t.unit, "cycles");
  EXPECT_EQ(t.dropped > 0, t.steps > 32);
  EXPECT_EQ(t.recorded, std::min(t.steps, 32));
  expect_in_order(t);
  const overlap o = measure(t);
  EXPECT_EQ(o.steps_hidden, t.stages == 1 ? 0 : o.steps - 1);
  expect_same_product(where, policy, p, 0);
}
std::string identifier(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Policies, RecordGemmOf, ::testing::ValuesIn(policies), identifier);

}  // namespace
}  // namespace antiphase
