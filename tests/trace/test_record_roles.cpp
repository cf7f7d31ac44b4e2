// SPDX-License-Identifier: Apache-2.0
// Timelines of kernels with warp roles: their twins compute the same bits, and log consistent spans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <antiphase/attention.hpp>
#include <antiphase/attention/ladder.hpp>
#include <antiphase/channel/recorded.cuh>
#include <antiphase/core/error.hpp>
#include <antiphase/core/half.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <antiphase/scan.hpp>
#include <antiphase/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "examples/bulk_copy.cuh"
#include "learn/trace/recording_executor.hpp"

namespace antiphase::of_roles {
namespace {

using ::testing::HasSubstr;

context on_cpu(unsigned seed = 1) { return context(make_cpu_executor({.seed = seed, .workers = 1})); }

std::vector<float> values(std::int64_t count, int by) {
  std::vector<float> v(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<float>((i * static_cast<std::size_t>(by) + i / 17) % 31) / 4 - 3;
  return v;
}

// One sentence per fault. A warp's waits and work do not overlap; a computing warp has no gaps; steps of each
// kind are consecutive; a slot is loaded after the step before has released it, and used after its data have
// landed.
std::vector<std::string> faults_of(const timeline& t) {
  std::vector<std::string> faults;
  std::map<std::tuple<int, span_kind, int, int>, int> next;
  std::map<int, std::int64_t> until;
  for (const span_record& s : t.spans) {
    const std::string at = "warp " + std::to_string(s.agent) + ", step " + std::to_string(s.step) + ": ";
    if (s.begin < 0 || s.end < s.begin) faults.push_back(at + "ends before it begins");
    if (s.slot != s.step % t.stages) faults.push_back(at + "in the wrong slot");
    const bool moment = s.kind == span_kind::commit || s.kind == span_kind::release;
    if (!moment && until.contains(s.agent) && s.begin < until[s.agent])
      faults.push_back(at + "begins before the span before has ended");
    const bool computes = std::ranges::any_of(t.roles, [&](const timeline_role& r) {
      return r.computes && s.agent >= r.first && s.agent < r.first + r.count;
    });
    if (computes && until.contains(s.agent) && s.begin > until[s.agent])
      faults.push_back(at + "begins after a gap");
    until[s.agent] = std::max(until[s.agent], s.end);
    if (s.kind == span_kind::load || s.kind == span_kind::compute) continue;
    int& expected = next[{s.agent, s.kind, s.ring, s.event}];
    // a repeated wait for the same step
    if (s.kind == span_kind::wait && s.step == expected - 1 && t.stages > 1) continue;
    if (s.step != expected) faults.push_back(at + "expected step " + std::to_string(expected));
    ++expected;
  }
  const std::vector<step_times> steps = by_step(t);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const step_times& s = steps[i];
    const auto at = "step " + std::to_string(i) + " ";
    if (s.issued > s.arrived || s.arrived > s.landed || s.landed > s.compute_begin ||
        s.compute_begin > s.compute_end)
      faults.push_back(at + "is out of order");
    if (i >= static_cast<std::size_t>(t.stages) &&
        s.issued < steps[i - static_cast<std::size_t>(t.stages)].compute_end)
      faults.push_back(at + "is loaded into a slot that is in use");
  }
  return faults;
}

void expect_in_order(const timeline& t) {
  const std::vector<std::string> faults = faults_of(t);
  EXPECT_TRUE(faults.empty()) << t.policy << ": " << faults.size()
                              << " faults, the first: " << faults.front();
}

struct product {
  std::int64_t m, n, k;
  device_array<float> a, b, c;
  product(const context& where, std::int64_t m_, std::int64_t n_, std::int64_t k_)
      : m(m_),
        n(n_),
        k(k_),
        a(where, values(m * k, 7)),
        b(where, values(k * n, 11)),
        c(where, values(m * n, 13)) {}
  gemms::problem problem() {
    return {.a = row_major(a.data(), m, k), .b = row_major(b.data(), k, n), .c = row_major(c.data(), m, n)};
  }
};

struct split_case {
  const char* policy;
  int stages, m, n, k;
  int steps;  // of block 0
};
// The simulated device has two multiprocessors: block 0 gets the first and last of three tiles, and three of
// five.
constexpr split_case split_cases[] = {{"fp16", 7, 300, 120, 200, 2 * 8},
                                      {"fp16-mma", 3, 300, 120, 200, 2 * 8},
                                      {"tf32", 5, 520, 60, 160, 3 * 6},
                                      // Two blocks share the one tile: each has half of k.
                                      {"fp16", 6, 100, 100, 256, 4},
                                      // The short operand along k; operands that are not 16-byte aligned,
                                      // which threads copy.
                                      {"tf32", 6, 60, 520, 160, 3 * 6},
                                      {"tf32", 6, 521, 61, 161, 3 * 6}};

TEST(RecordRoles, SplitProducts) {
  for (const split_case& c : split_cases) {
    const context where = on_cpu();
    product p(where, c.m, c.n, c.k), plain(where, c.m, c.n, c.k);
    const timeline t = record_gemm(where, c.policy, p.problem());
    gemm(where, plain.problem(), {.policy = c.policy});
    EXPECT_EQ(p.c.to_host(), plain.c.to_host()) << c.policy;
    expect_in_order(t);
    EXPECT_EQ(t.stages, c.stages) << c.policy;
    EXPECT_EQ(t.steps, c.steps) << c.policy;
    EXPECT_GE(t.recorded, c.steps - 1) << c.policy;
    EXPECT_EQ(t.dropped, 0u);
    EXPECT_EQ(t.step_bytes, c.policy == std::string("tf32") ? 24 << 10 : 32 << 10) << c.policy;
    const overlap o = measure(t);
    EXPECT_GT(o.hidden, 0) << c.policy;
    EXPECT_GE(o.most_bytes, 2 * t.step_bytes) << c.policy;
  }
}

// Tiles shared by four and eight blocks, as on a device with more multiprocessors.
TEST(RecordRoles, ProductsWhoseTilesManyBlocksShare) {
  for (const int blocks : {4, 8})
    for (const auto& [policy, stages] : {std::pair{"fp16", 5}}) {
      device_limits limits = on_cpu().limits();
      limits.multiprocessors = blocks * blocks / 2;
      const context where(make_cpu_executor({.seed = 1, .workers = 1, .limits = limits}));
      product p(where, 100, 100, 512 * blocks / 4), plain(where, 100, 100, 512 * blocks / 4);
      gemm_choice ran;
      gemm(where, plain.problem(), {.policy = policy, .ran = &ran});
      EXPECT_EQ(ran.cluster, blocks) << policy;
      const timeline t = record_gemm(where, policy, p.problem());
      EXPECT_EQ(p.c.to_host(), plain.c.to_host()) << policy;
      expect_in_order(t);
      EXPECT_EQ(t.stages, stages) << policy;
      EXPECT_GE(t.steps, 4) << policy;
      EXPECT_GE(t.recorded, t.steps - 1) << policy;
    }
}

// Streaming products, in a form per shape: whole tiles of a block, and tiles shared by warps or blocks. One
// thread issues TMA loads; operands that are not 16-byte aligned are copied by the number of warps that the
// form provides.
TEST(RecordRoles, StreamingProducts) {
  struct form {
    int m, n, k, stages, computing, loading, bytes;
  };
  constexpr form stream_shapes[] = {
      {300, 8, 2048, 3, 8, 1, 40 * 256 * 4},   {2000, 64, 128, 4, 4, 1, 128 * 32 * 4},
      {128, 128, 2048, 3, 8, 1, 64 * 256 * 4}, {301, 7, 4095, 3, 8, 8, 40 * 256 * 4},
      {2001, 63, 129, 4, 4, 2, 128 * 32 * 4},  {65, 31, 2047, 3, 8, 8, 64 * 256 * 4}};
  const context where = on_cpu();
  for (const form& f : stream_shapes) {
    SCOPED_TRACE(::testing::Message() << f.m << " x " << f.n << " x " << f.k);
    product p(where, f.m, f.n, f.k), plain(where, f.m, f.n, f.k);
    const timeline t = record_gemm(where, "fp64", p.problem());
    gemm(where, plain.problem(), {.policy = "fp64"});
    EXPECT_EQ(p.c.to_host(), plain.c.to_host());
    expect_in_order(t);
    EXPECT_EQ(t.stages, f.stages);
    EXPECT_EQ(t.step_bytes, f.bytes);
    EXPECT_EQ(t.warps, f.computing + f.loading);
    EXPECT_GE(t.recorded, 1);
  }
}

struct attention_case {
  attention_problem problem;
  device_array<float> q, k, v, out;
  attention_case(const context& where, std::int64_t queries, std::int64_t keys, std::int64_t depth)
      : q(where, values(queries * depth, 7)),
        k(where, values(keys * depth, 11)),
        v(where, values(keys * depth, 13)),
        out(where, values(queries * depth, 17)) {
    problem = {.q = {q.data(), 0, 0, depth},
               .k = {k.data(), 0, 0, depth},
               .v = {v.data(), 0, 0, depth},
               .out = {out.data(), 0, 0, depth},
               .queries = queries,
               .keys = keys,
               .depth = depth};
  }
};

TEST(RecordRoles, AttentionComputesTheSameBits) {
  const context where = on_cpu();
  for (const std::int64_t depth : {64, 100})
    for (const attentions::step& s : attentions::steps) {
      if (s.method == attentions::method::naive) continue;
      SCOPED_TRACE(::testing::Message() << s.name << ", depth " << depth);
      attention_case of(where, 70, 150, depth), plain(where, 70, 150, depth);
      const timeline t = record_attention(where, s.name, of.problem);
      attention(where, plain.problem, {.policy = s.name});
      EXPECT_EQ(of.out.to_host(), plain.out.to_host());
      if (s.method == attentions::method::roles) expect_in_order(t);
      EXPECT_EQ(t.stages, s.buffers);
      EXPECT_EQ(t.kernel, "attention");
      // block 0 has 64 or all of the queries, and K and V by tiles of 32 or 128 keys, in slots of 64 columns
      const int tiles = s.method == attentions::method::tiled ? 5 : depth == 64 ? 2 : 4;
      EXPECT_EQ(t.steps, (s.warpgroups == 1 ? 2 : 1) * 2 * tiles);
      EXPECT_GT(measure(t).work_rate, 0);
    }
}

// Each step of the ladder does more work in a tick than the one before, and in the last the warpgroups take
// their exponentials alternately.
TEST(RecordRoles, AttentionRunsInAntiphase) {
  const context where = on_cpu();
  double before = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> of_group[2];
  for (const attentions::step& s : attentions::steps) {
    if (s.method == attentions::method::naive) continue;
    attention_case of(where, 128, 512, 64);
    const timeline t = record_attention(where, s.name, of.problem);
    const overlap o = measure(t);
    EXPECT_GT(o.work_rate, 1.2 * before) << s.name;
    before = o.work_rate;
    EXPECT_EQ(o.limited_by, s.method == attentions::method::roles ? timeline::tensor_cores
                            : s.buffers == 1                      ? "turns"
                                                                  : "computation");
    if (s.warpgroups < 2) continue;
    for (const span_record& span : t.spans)
      if (span.kind == span_kind::compute && (span.agent == 4 || span.agent == 8))
        of_group[span.agent / 4 - 1].emplace_back(span.begin, span.end);
  }
  std::int64_t together = 0, all = 0;
  for (const auto& [begin, end] : of_group[0]) {
    all += end - begin;
    for (const auto& [from, to] : of_group[1])
      together += std::max<std::int64_t>(0, std::min(end, to) - std::max(begin, from));
  }
  EXPECT_GT(all, 1000);
  EXPECT_LT(together, all / 10);
}

TEST(RecordRoles, AttentionThatIsNotRecorded) {
  const context where = on_cpu();
  attention_case of(where, 4, 4, 64);
  const auto refused = [&](std::string_view policy, attention_problem p) {
    try {
      record_attention(where, policy, p);
    } catch (const error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  attention_problem p = of.problem;
  EXPECT_THAT(refused("naive", p), HasSubstr("no pipeline"));
  EXPECT_THAT(refused("fast", p), HasSubstr("fast"));
  p.depth = 32;
  EXPECT_THAT(refused("tiled", p), HasSubstr("33 to 128"));
  p = of.problem, p.mask = causal::bottom_right;
  EXPECT_THAT(refused("tiled", p), HasSubstr("without mask"));
  p = of.problem, p.keys = 0;
  EXPECT_THAT(refused("tiled", p), HasSubstr("nothing to record"));
}

// The first of several launches of a kernel with a twin is recorded; the others run as usual.
TEST(RecordRoles, TheFirstLaunchIsRecorded) {
  constexpr examples::bulk_copy_policy how{.stages = 2, .warps = 2, .tile = 64};
  using ring = recorded<examples::bulk_copy_ring<how>, 1 + how.warps>;
  using own = recording<examples::bulk_copy<how, ring>>;
  const std::vector<twin> twins{{.kernel_name = "copy",
                                 .code = kernel_of<own>("copy, recorded"),
                                 .stages = how.stages,
                                 .step_bytes = 4 * how.tile,
                                 .roles = {{.name = "load", .loads = true},
                                           {.name = "compute", .first = 1, .count = 2, .computes = true}}}};
  const context where = on_cpu();
  const recording_executor recording(where.runs_on(), twins, {});
  const kernel plain = kernel_of<examples::bulk_copy<how>>("copy");
  for (const int tiles : {9, 5, 14}) {
    const std::vector<float> from = values(tiles * how.tile, tiles);
    std::vector<float> to(from.size());
    const examples::bulk_copy_params params{from.data(), to.data(), static_cast<std::int64_t>(from.size())};
    recording.launch(plain, {2, 1, 1}, &params, nullptr);
    for (std::size_t i = 0; i < to.size(); ++i)
      ASSERT_EQ(to[i], examples::transformed(from[i], static_cast<std::int64_t>(i)));
  }
  const std::optional<timeline> t = recording.take({});
  ASSERT_TRUE(t.has_value());
  EXPECT_EQ(t->recorded, 5) << "of nine tiles block 0 has five";
  EXPECT_EQ(t->dropped, 0u);
  EXPECT_THAT(recording.launched(), ::testing::ElementsAre(::testing::StrEq("copy"), ::testing::StrEq("copy"),
                                                           ::testing::StrEq("copy")));
}

// The cost of recording is measured by alternating kernel and twin; C is the same as without.
TEST(RecordRoles, CostIsMeasured) {
  const context where = on_cpu();
  product p(where, 128, 128, 64), plain(where, 128, 128, 64);
  gemm(where, plain.problem(), {.policy = "async-2"});
  for (const char* policy : {"async-2", "fp16-mma"}) {
    const timeline t = record_gemm(where, policy, p.problem(), {.cost_runs = 3});
    EXPECT_EQ(t.cost.runs, 3) << policy;
    EXPECT_GT(t.cost.plain_ms, 0) << policy;
    EXPECT_GT(t.cost.recorded_ms, 0) << policy;
    EXPECT_EQ(record_gemm(where, policy, p.problem()).cost.runs, 0);
    if (policy == std::string("async-2")) {
      EXPECT_EQ(p.c.to_host(), plain.c.to_host());
    }
    gemms::problem other = p.problem();
    other.beta = 1;
    EXPECT_THROW(record_gemm(where, policy, other, {.cost_runs = 3}), bad_request) << policy;
  }
  EXPECT_EQ(record_gemm(where, "async-1", p.problem(), {.cost_runs = 3}).cost.runs, 0)
      << "no call launches that";
  EXPECT_THROW(record_gemm(where, "async-2", p.problem(), {.cost_runs = -1}), bad_request);
}

TEST(RecordRoles, SplitHasALoaderAndEightComputingWarps) {
  const context where = on_cpu();
  product p(where, 256, 256, 256);
  const timeline t = record_gemm(where, "fp16", p.problem());
  ASSERT_EQ(t.roles.size(), 2u);
  std::map<int, std::map<span_kind, int>> kinds;
  for (const span_record& s : t.spans) ++kinds[s.agent][s.kind];
  EXPECT_EQ(kinds.size(), 9u) << "warps 1 to 3 have nothing to do";
  const int steps = t.steps;
  EXPECT_EQ(steps, 2 * 8);
  EXPECT_EQ(kinds[0][span_kind::acquire], steps);
  EXPECT_EQ(kinds[0][span_kind::load], steps);
  EXPECT_EQ(kinds[0][span_kind::commit], steps);
  EXPECT_EQ(kinds[0][span_kind::wait], 0);
  for (int warp = 4; warp < 12; ++warp) {
    EXPECT_EQ(kinds[warp][span_kind::wait], steps);
    EXPECT_EQ(kinds[warp][span_kind::release], steps);
    EXPECT_EQ(kinds[warp][span_kind::compute], steps);
  }
}

TEST(RecordRoles, KeepsTheFirstStepsWhenThereIsNoRoomForAll) {
  const context where = on_cpu();
  for (const char* policy : {"fp16", "fp16-mma"}) {
    product p(where, 256, 256, 640);
    const timeline t = record_gemm(where, policy, p.problem(), {.steps = 4});
    EXPECT_EQ(t.recorded, 4) << policy;
    EXPECT_GT(t.dropped, 0u) << policy;
    // Records without room count too. split-mma waits once more at the end of a tile.
    EXPECT_NEAR(t.steps, 2 * 20, std::string_view(policy) == "fp16" ? 0 : 1) << policy;
    expect_in_order(t);
  }
}

TEST(RecordRoles, TensorCoreSteps) {
  const context where = on_cpu();
  const std::int64_t m = 150, n = 136, k = 200;
  const auto halves = [&](std::int64_t rows, std::int64_t columns, int by) {
    std::vector<f16> all;
    for (const float v : values(rows * columns, by)) all.push_back(to_f16(v));
    return device_array<f16>(where, all);
  };
  const device_array<f16> a = halves(m, k, 7), b = halves(k, n, 11);
  for (const gemms::tensor_core_step& step : gemms::tensor_core_steps) {
    device_array<float> c(where, values(m * n, 13)), plain(where, values(m * n, 13));
    const auto problem = [&](device_array<float>& to) {
      return gemms::tensor_core_problem{row_major(a.data(), m, k), row_major(b.data(), k, n),
                                        row_major(to.data(), m, n)};
    };
    const timeline t = record_gemm(where, step.name, problem(c));
    gemms::run(where.runs_on(), gemms::prepare(where.runs_on(), step, problem(plain)), nullptr);
    EXPECT_EQ(c.to_host(), plain.to_host()) << step.name;
    EXPECT_EQ(t.stages, step.stages);
    // The block of tensor-core-tma has one of the two tiles.
    EXPECT_EQ(t.recorded, t.steps) << step.name;
    EXPECT_EQ(t.steps, (k + step.tile_k - 1) / step.tile_k) << step.name;
    EXPECT_EQ(t.step_bytes, 2 * step.tile_k * (step.tile.m + step.tile.n));
    if (!t.roles.empty()) expect_in_order(t);
  }
}

TEST(RecordRoles, SinglePassScans) {
  for (const char* policy : {"single-pass-1", "single-pass-2", "single-pass-3", "single-pass"}) {
    const context where = on_cpu(3);
    const std::int64_t length = 6144 * 9 + 77;
    const device_array<float> in(where, values(length, 7));
    device_array<float> out(where, values(length, 3)), plain(where, values(length, 5));
    const timeline t = record_scan(where, policy, {.in = in.data(), .out = out.data(), .length = length});
    scan(where, {.in = in.data(), .out = plain.data(), .length = length}, {.policy = policy});
    EXPECT_EQ(out.to_host(), plain.to_host()) << policy;
    expect_in_order(t);
    EXPECT_GT(t.recorded, 0) << policy;
    EXPECT_LE(t.recorded, 10) << policy;
    ASSERT_EQ(t.phases.size(), 5u);
    for (const step_times& s : by_step(t)) {
      ASSERT_EQ(s.events.size(), 5u);
      // the first tile's prefix, of nothing, is there before its own total
      EXPECT_TRUE(s.step == 0 || std::ranges::is_sorted(s.events)) << policy << ", step " << s.step;
    }
  }
}

// The block that draws a tile depends on the order of threads: a recording has its own order, independent of
// the context's.
TEST(RecordRoles, AScanGivesTheSameTimelineInEveryRun) {
  const std::int64_t length = 6144 * 9 + 77;
  std::string first;
  for (const cpu_options& options : {cpu_options{.seed = 1, .workers = 1},
                                     cpu_options{.seed = 99, .workers = 4}, cpu_options{.seed = 7}}) {
    const context where(make_cpu_executor(options));
    const device_array<float> in(where, values(length, 7));
    device_array<float> out(where, in.size());
    const std::string text =
        to_json(record_scan(where, "single-pass-2", {.in = in.data(), .out = out.data(), .length = length}));
    if (first.empty()) first = text;
    EXPECT_EQ(text, first) << options.seed;
  }
}

// Several lines, segments by key, and tiles that threads move.
TEST(RecordRoles, ScansOfSegments) {
  const context where = on_cpu(3);
  const std::int64_t length = 6144 * 9;
  const device_array<float> in(where, values(length, 7));
  std::vector<std::int32_t> by_element(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < by_element.size(); ++i) by_element[i] = static_cast<std::int32_t>(i / 1000);
  const device_array<std::int32_t> keys(where, by_element);
  for (const char* policy : {"single-pass", "single-pass-async"})
    for (const bool by_key : {false, true}) {
      device_array<float> out(where, values(length, 3)), plain(where, values(length, 5));
      const std::int64_t rows = by_key ? 1 : 18;
      const auto problem = [&](device_array<float>& to) {
        return scan_problem{.in = in.data(), .out = to.data(), .outer = rows, .length = length / rows};
      };
      const timeline t = by_key ? record_scan(where, policy, problem(out), {.data = keys.data()})
                                : record_scan(where, policy, problem(out));
      if (by_key)
        scan_by_key(where, problem(plain), {.data = keys.data()}, {.policy = policy});
      else
        scan(where, problem(plain), {.policy = policy});
      EXPECT_EQ(out.to_host(), plain.to_host()) << policy;
      expect_in_order(t);
      EXPECT_GT(t.recorded, 0) << policy;
      EXPECT_EQ(t.phases.size(), 5u);
    }
}

// A block of a one-wave scan has one tile and no ring: its phases follow each other. Sizes for all of its
// tiles.
TEST(RecordRoles, OneWaveScans) {
  const context where = on_cpu(3);
  for (const std::int64_t bytes : {std::int64_t{100} << 10, std::int64_t{1} << 20, std::int64_t{3} << 20}) {
    const std::int64_t length = bytes / 4 - 3;
    const device_array<float> in(where, values(length, 7));
    device_array<float> out(where, values(length, 3)), plain(where, values(length, 5));
    const timeline t =
        record_scan(where, "one-wave", {.in = in.data(), .out = out.data(), .length = length}, {.block = 5});
    scan(where, {.in = in.data(), .out = plain.data(), .length = length}, {.policy = "one-wave"});
    EXPECT_EQ(out.to_host(), plain.to_host()) << bytes;
    expect_in_order(t);
    EXPECT_EQ(t.recorded, 1);
    EXPECT_EQ(t.steps, 1);
    const std::vector<step_times> steps = by_step(t);
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_TRUE(std::ranges::is_sorted(steps[0].events)) << bytes;
    EXPECT_GT(steps[0].landed, steps[0].issued);
    EXPECT_EQ(measure(t).next_time, measure(t).step_time)
        << "a ring of more slots would have nothing to hold";
    std::map<int, std::map<span_kind, int>> kinds;
    for (const span_record& s : t.spans) ++kinds[s.agent][s.kind];
    EXPECT_EQ(kinds.size(), static_cast<std::size_t>(t.warps));
    for (const auto& [warp, of] : kinds)
      EXPECT_EQ(of.at(span_kind::wait), 3) << "for data, the block's totals, the blocks before";
  }
}

// Refusals to record give the reason.
TEST(RecordRoles, RefusalsSayWhy) {
  const context where = on_cpu();
  const auto refusal = [](auto call) -> std::string {
    try {
      call();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "none";
  };
  product thin(where, 4, 64, 128), tiny(where, 64, 64, 3), odd(where, 8, 8, 200), few(where, 8, 8, 8);
  EXPECT_THAT(refusal([&] { record_gemm(where, "fp64-dots", thin.problem()); }),
              HasSubstr("straight into registers"));
  EXPECT_THAT(refusal([&] { record_gemm(where, "fp64-short", tiny.problem()); }),
              HasSubstr("gemm.fp64-short"));
  EXPECT_THAT(refusal([&] { record_gemm(where, "fp64", odd.problem()); }), HasSubstr("gemm.fp64-block-16x8"));
  EXPECT_THAT(refusal([&] { record_gemm(where, "fp64", few.problem()); }), HasSubstr("gemm.fp64-warp-32x32"));
  EXPECT_THAT(refusal([&] {
                record_scan(where, "columns",
                            {.in = thin.b.data(), .out = thin.c.data(), .length = 16, .inner = 4});
              }),
              HasSubstr("scan.columns"));
  EXPECT_THAT(
      refusal([&] {
        record_scan(
            where, "single-pass",
            {.operation = scan_operation::max, .in = thin.b.data(), .out = thin.c.data(), .length = 16});
      }),
      HasSubstr("only sums of f32"));
}

TEST(RecordRoles, TimelinesSurviveAsText) {
  const context where = on_cpu();
  product p(where, 256, 128, 128);
  for (const char* policy : {"fp16", "async-2"}) {
    const timeline t = record_gemm(where, policy, p.problem());
    const std::string text = to_json(t);
    const timeline again = timeline_of(text);
    EXPECT_EQ(to_json(again), text) << policy;
    EXPECT_EQ(measure(again).waiting, measure(t).waiting) << policy;
    EXPECT_EQ(again.spans.size(), t.spans.size());
    EXPECT_EQ(again.roles.size(), t.roles.size());
  }
}

// A user's kernel with too little room: records without room are counted, and nothing is written past the
// end, nor by other blocks.
TEST(RecordRoles, OwnKernelStaysWithinItsRoom) {
  constexpr examples::bulk_copy_policy how{.stages = 2, .warps = 2, .tile = 64};
  constexpr int warps = 1 + how.warps, tiles = 9, guard = 8;
  using ring = recorded<examples::bulk_copy_ring<how>, warps>;
  using own = recording<examples::bulk_copy<how, ring>>;
  const context where = on_cpu();
  const std::vector<float> from = values(tiles * how.tile, 7);
  for (const int room : {0, 3, 100})
    for (const unsigned block : {0u, 1u}) {
      std::vector<float> to(from.size());
      std::vector<span_record> log(static_cast<std::size_t>(warps * room + guard),
                                   {.begin = -1, .end = -1, .kind = {}, .step = 0, .slot = 0, .agent = -1});
      std::vector<std::int32_t> counts(warps, -1);
      const own::params params{{from.data(), to.data(), static_cast<std::int64_t>(from.size())},
                               {log.data(), counts.data(), room, block}};
      where.runs_on().launch(kernel_of<own>("own"), {2, 1, 1}, &params, nullptr);
      for (std::size_t i = 0; i < to.size(); ++i)
        ASSERT_EQ(to[i], examples::transformed(from[i], static_cast<std::int64_t>(i)));
      const int mine = block == 0 ? 5 : 4;  // of nine tiles, by two blocks
      EXPECT_EQ(counts, (std::vector<std::int32_t>(warps, 2 * mine)))
          << "acquire and commit, or wait and release, of a tile";
      for (int warp = 0; warp < warps; ++warp)
        for (int i = 0; i < room; ++i) {
          const span_record& s = log[static_cast<std::size_t>(warp * room + i)];
          EXPECT_EQ(s.agent, i < 2 * mine ? warp : -1);
          EXPECT_EQ(s.slot, i < 2 * mine ? i / 2 % how.stages : 0);
        }
      for (std::size_t i = log.size() - guard; i < log.size(); ++i)
        EXPECT_EQ(log[i].agent, -1) << "written past the end";
    }
}

TEST(RecordRoles, ReadsOnlyLogsThatFit) {
  const std::vector<span_record> log(12);
  const std::vector<std::int32_t> counts(2, 0);
  const auto refused = [&](timeline like) {
    try {
      read_spans(std::move(like), log, counts);
    } catch (const bad_request&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused({.warps = 2}));
  EXPECT_TRUE(refused({.warps = 3})) << "a count for each warp";
  EXPECT_TRUE(refused({.warps = 0}));
  EXPECT_TRUE(refused({.stages = 0, .warps = 2}));
  EXPECT_TRUE(refused({.warps = 2, .phases = {"load"}}));
}

// At other defaults of timeline's members, g++ 12 fails with an internal error.
template <int Stages> timeline described_in_a_template() {
  return read_spans({.stages = Stages, .warps = 1, .roles = {{.name = "load", .loads = true}}}, {},
                    std::vector<std::int32_t>(1));
}
TEST(RecordRoles, ATemplateMayDescribeItsTimeline) {
  const timeline t = described_in_a_template<3>();
  EXPECT_EQ(t.stages, 3);
  EXPECT_EQ(t.phases, (std::vector<std::string>{"load", "compute"}));
  EXPECT_EQ(t.rings, std::vector<std::string>{"tiles"});
}

template <class Action> std::string refusal_of(Action action) {
  try {
    action();
  } catch (const bad_request& e) {
    return e.what();
  } catch (const not_supported& e) {
    return e.what();
  }
  return "not refused";
}

TEST(RecordRoles, RefusesWhatHasNoTwin) {
  const context where = on_cpu();
  product p(where, 4, 4, 16);
  EXPECT_THAT(refusal_of([&] { record_gemm(where, "fp64", p.problem()); }), HasSubstr("gemm.fp64-warp"))
      << "which has no ring";
  product larger(where, 300, 300, 64);
  EXPECT_THAT(refusal_of([&] { record_gemm(where, "fp16", larger.problem(), {.block = 2}); }),
              HasSubstr("block 2 does not exist"));
  EXPECT_THAT(refusal_of([&] { record_gemm(where, "fp16", larger.problem(), {.runs = 0}); }),
              HasSubstr("runs = 0"));
  device_array<float> out(where, 100);
  const scan_problem scanned{.in = larger.a.data(), .out = out.data(), .length = 100};
  EXPECT_THAT(refusal_of([&] { record_scan(where, "items", scanned); }), HasSubstr("without a ring"));
  scan_problem other = scanned;
  other.operation = scan_operation::max;
  EXPECT_THAT(refusal_of([&] { record_scan(where, "single-pass", other); }), HasSubstr("only sums of f32"));
  other = scanned;
  other.length = 0;
  EXPECT_THAT(refusal_of([&] { record_scan(where, "single-pass", other); }), HasSubstr("nothing to record"));
}

TEST(RecordRoles, CudaTwinsComputeTheSameBits) {
  std::string why;
  if (cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU: " << why;
  const context where(make_cuda_executor());
  for (const char* policy : {"fp16", "fp16-mma"}) {
    product p(where, 2100, 2048, 500), plain(where, 2100, 2048, 500);
    const timeline t = record_gemm(where, policy, p.problem());
    gemm(where, plain.problem(), {.policy = policy});
    EXPECT_EQ(p.c.to_host(), plain.c.to_host()) << policy;
    expect_in_order(t);
    EXPECT_EQ(t.unit, "cycles");
  }
  struct few_tiles {
    const char* policy;
    int m, n, k;
  };
  for (const few_tiles& f : {few_tiles{"fp16", 100, 100, 1024},
                             {"fp16", 1000, 1000, 2048},
                             {"fp64", 300, 8, 8192},
                             {"fp64", 9000, 64, 256},
                             {"fp64", 128, 128, 4096},
                             // Tiles shared by four and eight blocks, unaligned operands, rings filled by
                             // threads.
                             {"fp16", 250, 250, 4096},
                             {"fp16", 100, 100, 8192},
                             {"tf32", 4096, 256, 512},
                             {"tf32", 256, 4096, 512},
                             {"tf32", 4097, 255, 513},
                             {"fp64", 301, 7, 8191},
                             {"fp64", 9001, 65, 257},
                             {"fp64", 129, 129, 4095},
                             {"fp64", 2000, 131, 67}}) {
    product p(where, f.m, f.n, f.k), plain(where, f.m, f.n, f.k);
    SCOPED_TRACE(::testing::Message() << f.policy << ", " << f.m << " x " << f.n << " x " << f.k);
    timeline t;
    try {
      t = record_gemm(where, f.policy, p.problem());
    } catch (const not_supported& e) {
      // Twins that this build lacks; or, by its cost model, a kernel without a ring.
      EXPECT_THAT(e.what(), ::testing::AnyOf(::testing::HasSubstr("ANTIPHASE_TWINS=all"),
                                             ::testing::HasSubstr("straight into registers")));
      continue;
    }
    if (!t.roles.empty()) expect_in_order(t);
    EXPECT_GT(t.recorded, 0);
    gemm(where, plain.problem(), {.policy = f.policy});
    EXPECT_EQ(p.c.to_host(), plain.c.to_host()) << f.policy << " " << f.m;
  }
  for (const char* policy : {"single-pass-1", "single-pass-2", "single-pass-3", "single-pass", "one-wave"}) {
    const std::int64_t length = std::string_view(policy) == "one-wave" ? (1 << 20) + 5 : (1 << 24) + 5;
    const device_array<float> in(where, values(length, 7));
    device_array<float> out(where, static_cast<std::size_t>(length)),
        plain(where, static_cast<std::size_t>(length));
    const timeline t = record_scan(where, policy, {.in = in.data(), .out = out.data(), .length = length});
    scan(where, {.in = in.data(), .out = plain.data(), .length = length}, {.policy = policy});
    EXPECT_EQ(out.to_host(), plain.to_host()) << policy;
    expect_in_order(t);
  }
  for (const attentions::step& s : attentions::steps) {
    if (s.method == attentions::method::naive) continue;
    attention_case recorded(where, 700, 1000, 64), plain(where, 700, 1000, 64);
    const timeline t = record_attention(where, s.name, recorded.problem);
    attention(where, plain.problem, {.policy = s.name});
    EXPECT_EQ(recorded.out.to_host(), plain.out.to_host()) << s.name;
    if (s.method == attentions::method::roles) expect_in_order(t);
    EXPECT_GT(t.recorded, 0) << s.name;
  }
  const std::int64_t length = 1 << 24;
  const device_array<float> in(where, values(length, 7));
  device_array<float> out(where, static_cast<std::size_t>(length)),
      plain(where, static_cast<std::size_t>(length));
  const auto rows = [&](device_array<float>& to) {
    return scan_problem{.in = in.data(), .out = to.data(), .outer = 1 << 10, .length = length >> 10};
  };
  expect_in_order(record_scan(where, "single-pass", rows(out)));
  scan(where, rows(plain), {.policy = "single-pass"});
  EXPECT_EQ(out.to_host(), plain.to_host());
}

}  // namespace
}  // namespace antiphase::of_roles
