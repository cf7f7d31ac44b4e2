// SPDX-License-Identifier: Apache-2.0
// Recording a GEMM kernel: choosing the recording twin, launching it, collecting what it logged.
#include <antiphase/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/policies.hpp>
#include <cstddef>
#include <span>
#include <utility>
#include "src/trace/traced_problem.hpp"

#include "build_config.hpp"
#include "src/gemm/request.hpp"
#include "traced_kernels.hpp"

namespace antiphase {
namespace {

using gemms::instance;

constexpr int most_steps = 1 << 16;

std::vector<instance> both(std::vector<instance> plain, const std::vector<instance>& async) {
  plain.insert(plain.end(), async.begin(), async.end());
  return plain;
}

const std::vector<instance>& twins(target where) {
  static const std::vector<instance> on_cpu = both(gemms::cpu::traced_plain_kernels(), gemms::cpu::traced_async_kernels());
#if ANTIPHASE_HAS_CUDA
  static const std::vector<instance> on_cuda = both(gemms::cuda::traced_plain_kernels(), gemms::cuda::traced_async_kernels());
#else
  static const std::vector<instance> on_cuda;
#endif
  return where == target::cuda ? on_cuda : on_cpu;
}

struct launch_plan {
  const instance* twin;
  extent3 grid;
  gemms::problem arguments;
};

// The twin of the kernel that gemm() would launch, or, as not every variant has one, that of the step's variant for any strides.
launch_plan choose(target where, std::string_view policy, const gemms::problem& p) {
  if (policy == gemms::steps[0].name)
    throw bad_request(fmt::format("policy {} has no pipeline to record: expected a step with shared tiles", policy));
  const gemms::step& like = gemms::find_step(policy == gemms::async_one ? "async-2" : policy);  // the two share all but the number of slots
  const gemms::plan plan = gemms::prepare(where, like, p);
  const instance* best = nullptr;
  for (const instance& twin : twins(where)) {
    if (twin.step != policy) continue;
    const bool same = twin.how == plan.what.how;
    const bool any_strides = twin.how.a.along == gemms::contiguous::neither && twin.how.b.along == gemms::contiguous::neither;
    if (same || (any_strides && best == nullptr)) best = &twin;
  }
  if (best == nullptr) throw not_supported(fmt::format("this build has no recording kernel for GEMM policy {}", policy));
  const gemms::plan recorded = gemms::prepare(*best, p);
  return {best, recorded.grid, recorded.arguments};
}

void require_recordable(const launch_plan& plan, const trace_options& options) {
  const gemms::problem& p = plan.arguments;
  if (p.m() == 0 || p.n() == 0 || p.k() == 0)
    throw bad_request(fmt::format("there is nothing to record: M = {}, N = {}, K = {} (0 where alpha is 0), expected 1 or more each", p.m(),
                                  p.n(), p.k()));
  if (options.block >= plan.grid.count())
    throw bad_request(fmt::format("block {} does not exist: the grid has {} blocks, numbered from 0", options.block, plan.grid.count()));
  if (options.steps < 1 || options.steps > most_steps)
    throw bad_request(fmt::format("steps = {}: expected 1 to {}", options.steps, most_steps));
  if (options.runs < 1) throw bad_request(fmt::format("runs = {}: expected 1 or more", options.runs));
}

// The spans of a warp in its first steps. A ring of one slot also logs its releases; with more slots, loads and commits run ahead.
int capacity_for(int steps, int stages) { return stages == 1 ? 5 * steps : 4 * steps + 2 * (stages - 1); }

// Fills in what the warps logged, warp by warp, with times from the first span on.
void collect(timeline& t, std::span<const span_record> log, std::span<const std::int32_t> counts, int capacity) {
  for (int warp = 0; warp < t.warps; ++warp) {
    const auto logged = static_cast<std::size_t>(counts[static_cast<std::size_t>(warp)]);
    const auto kept = std::min(logged, static_cast<std::size_t>(capacity));
    const auto spans = log.subspan(static_cast<std::size_t>(warp) * static_cast<std::size_t>(capacity), kept);
    t.spans.insert(t.spans.end(), spans.begin(), spans.end());
    t.dropped += logged - kept;
  }
  const auto first = std::ranges::min_element(t.spans, {}, &span_record::begin);
  const std::int64_t origin = first == t.spans.end() ? 0 : first->begin;
  for (span_record& s : t.spans) {
    s.begin -= origin;
    s.end -= origin;
  }
}

// The steps that every warp has computed within its room.
int complete_steps(const timeline& t) {
  std::vector<int> computed(static_cast<std::size_t>(t.warps), 0);
  for (const span_record& s : t.spans)
    if (s.kind == span_kind::compute) ++computed[static_cast<std::size_t>(s.agent)];
  return *std::ranges::min_element(computed);
}

timeline record_once(const context& where, const launch_plan& plan, timeline t, const trace_options& options) {
  const int capacity = capacity_for(std::min(t.steps, options.steps), t.stages);
  const auto warps = static_cast<std::size_t>(t.warps);
  device_array<span_record> spans(where, warps * static_cast<std::size_t>(capacity));
  device_array<std::int32_t> counts(where, warps);
  const gemms::traced_problem params{plan.arguments, {spans.data(), counts.data(), capacity, options.block}};
  where.runs_on().launch(plan.twin->code, plan.grid, &params, options.on);
  where.runs_on().synchronize(options.on);
  collect(t, spans.to_host(), counts.to_host(), capacity);
  t.recorded = complete_steps(t);
  return t;
}

}  // namespace

timeline record_gemm(const context& where, std::string_view policy, const gemms::problem& p, const trace_options& options) {
  const launch_plan plan = choose(where.kind(), policy, p);
  require_recordable(plan, options);
  gemms::require_own_memory(p);
  const instance& twin = *plan.twin;
  const timeline empty{.policy = std::string(policy),
                       .device = where.limits().name,
                       .runs_on = where.kind(),
                       .unit = where.kind() == target::cuda ? "cycles" : "ticks",
                       .stages = twin.how.stages,
                       .steps = static_cast<int>(ceil_div<std::int64_t>(plan.arguments.k(), twin.how.tile_k)),
                       .warps = ceil_div(twin.code.threads, 32),
                       .block = options.block,
                       .step_bytes = std::int64_t{twin.how.tile.m + twin.how.tile.n} * twin.how.tile_k * static_cast<int>(sizeof(float))};
  timeline best = record_once(where, plan, empty, options);
  const int runs = where.kind() != target::cuda || p.beta != 0 ? 1 : options.runs;  // the simulation's clock tells the same every time
  for (int i = 1; i < runs; ++i) {
    timeline next = record_once(where, plan, empty, options);
    if (measure(next).duration < measure(best).duration) best = std::move(next);
  }
  return best;
}

}  // namespace antiphase
