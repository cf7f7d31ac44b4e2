// SPDX-License-Identifier: Apache-2.0
// Recording a GEMM kernel: choosing the recording twin, launching it, collecting what it logged.
#include <antiphase/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/cost.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/policies.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include "learn/trace/record_call.hpp"
#include "learn/trace/spans.hpp"
#include "learn/trace/twins/launch_twin.hpp"
#include "learn/trace/twins/traced_problem.hpp"
#include "learn/trace/twins/twin_lists.hpp"

#include "library/gemm/operands/checks.hpp"

namespace antiphase {
namespace {

using gemms::instance;

// Recorded through a call of gemm(). Some have no twin; the error says why.
bool is_next_to_ladder(std::string_view policy) {
  return std::ranges::any_of(gemms::policies(), [&](const gemms::policy_info& p) {
    return p.name == policy && p.ladder == nullptr;
  });
}

void require_something(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (m == 0 || n == 0 || k == 0)
    throw bad_request(fmt::format(
        "there is nothing to record: M = {}, N = {}, K = {} (0 where alpha is 0), expected 1 or more each", m,
        n, k));
}

double operand_bytes(std::int64_t m, std::int64_t n, std::int64_t k, std::size_t element) {
  return static_cast<double>(element) * static_cast<double>(m * k + k * n);
}

struct launch_plan {
  const instance* twin;
  extent3 grid;
  gemms::problem arguments;
  std::optional<kernel> plain;  // of the same variant; none: the call would launch another
};

// The twin of the kernel that gemm() would launch or, if that variant has none, of the step's variant for any
// strides.
launch_plan choose(target where, std::string_view policy, const gemms::problem& p) {
  if (policy == gemms::steps[0].name)
    throw bad_request(
        fmt::format("policy {} has no pipeline to record: expected a step with shared tiles", policy));
  // async-1 is async-2 with another number of slots
  const gemms::step& like = gemms::find_step(policy == gemms::async_one ? "async-2" : policy);
  const gemms::plan plan = gemms::prepare(where, like, p);
  const instance* best = nullptr;
  for (const instance& twin : gemms::traced_instances(where)) {
    if (twin.step != policy) continue;
    const bool same = twin.policy == plan.instance.policy;
    const bool any_strides = twin.policy.a.along == gemms::contiguous::neither &&
                             twin.policy.b.along == gemms::contiguous::neither;
    if (same || (any_strides && best == nullptr)) best = &twin;
  }
  if (best == nullptr)
    throw not_supported(fmt::format("this build has no recording kernel for GEMM policy {}", policy));
  const gemms::plan recorded = gemms::prepare(*best, p);
  return {best, recorded.grid, recorded.arguments,
          best->policy == plan.instance.policy ? std::optional(plan.instance.code) : std::nullopt};
}

void require_recordable(const launch_plan& plan, const trace_options& options) {
  const gemms::problem& p = plan.arguments;
  require_something(p.m(), p.n(), p.k());
  if (options.block >= plan.grid.count())
    throw bad_request(fmt::format("block {} does not exist: the grid has {} blocks, numbered from 0",
                                  options.block, plan.grid.count()));
  require_sensible(options);
}

// Spans of a warp in its first `steps` steps. A ring of one slot also logs its releases; with more slots,
// loads and commits run ahead.
int capacity_for(int steps, int stages) { return stages == 1 ? 5 * steps : 4 * steps + 2 * (stages - 1); }

timeline record_once(const context& where, const launch_plan& plan, timeline t,
                     const trace_options& options) {
  const int capacity = capacity_for(std::min(t.steps, options.steps), t.stages);
  const auto warps = static_cast<std::size_t>(t.warps);
  device_array<span_record> spans(where, warps * static_cast<std::size_t>(capacity));
  device_array<std::int32_t> counts(where, warps);
  const gemms::traced_problem params{plan.arguments, {spans.data(), counts.data(), capacity, options.block}};
  const gemms::problem& p = plan.arguments;
  const double bytes = operand_bytes(p.m(), p.n(), p.k(), sizeof(float));
  launch_twin(where.runs_on(), where.limits(),
              {.code = plan.twin->code,
               .grid = plan.grid,
               .params = &params,
               .bytes = bytes,
               .resident = gemms::shape_of(machine_of(options), plan.twin->policy, bytes).resident},
              options);
  where.runs_on().synchronize(options.stream);
  collect(t, spans.to_host(), counts.to_host(), capacity);
  t.recorded = computed_steps(t);
  return t;
}

double time_of(const context& where, const launch_plan& plan, const timeline& t, const trace_options& options,
               bool recorded) {
  const int capacity = capacity_for(std::min(t.steps, options.steps), t.stages);
  const auto warps = static_cast<std::size_t>(t.warps);
  device_array<span_record> spans(where, warps * static_cast<std::size_t>(capacity));
  device_array<std::int32_t> counts(where, warps);
  const gemms::traced_problem params{plan.arguments, {spans.data(), counts.data(), capacity, options.block}};
  const executor& on = where.runs_on();
  return on.milliseconds(
      [&](stream queue) {
        if (recorded)
          on.launch(plan.twin->code, plan.grid, &params, queue);
        else
          on.launch(*plan.plain, plan.grid, &params.problem, queue);
      },
      options.stream);
}

}  // namespace

std::vector<std::string> recorded_gemm_policies() {
  std::vector<std::string> names{gemms::async_one};
  for (const gemms::step& s : gemms::steps)
    if (s.name != std::string_view(gemms::steps[0].name)) names.emplace_back(s.name);
  for (const gemms::tensor_core_step& s : gemms::tensor_core_steps) names.emplace_back(s.name);
  for (const gemms::policy_info& p : gemms::policies())
    if (p.ladder == nullptr && has_twin(gemms::all_twins(target::cpu), "gemm", p.name))
      names.emplace_back(p.name);
  return names;
}

timeline record_gemm(const context& where, std::string_view policy, const gemms::problem& p,
                     const trace_options& options) {
  if (is_next_to_ladder(policy)) {
    require_something(p.m(), p.n(), p.alpha == 0 ? 0 : p.k());
    return record_call(
        where, gemms::all_twins(where.kind()), {.policy = std::string(policy)}, options,
        {.bytes = operand_bytes(p.m(), p.n(), p.k(), sizeof(float))}, p.beta != 0,
        [&](const context& recording) { gemm(recording, p, {.policy = policy, .stream = options.stream}); });
  }
  const launch_plan plan = choose(where.kind(), policy, p);
  require_recordable(plan, options);
  gemms::require_own_memory(p);
  const instance& twin = *plan.twin;
  const timeline empty{
      .policy = std::string(policy),
      .device = device_of(where.runs_on(), options),
      .runs_on = where.kind(),
      .unit = where.kind() == target::cuda ? "cycles" : "ticks",
      .stages = twin.policy.stages,
      .steps = static_cast<int>(ceil_div<std::int64_t>(plan.arguments.k(), twin.policy.tile_k)),
      .warps = ceil_div(twin.code.threads, 32),
      .block = options.block,
      .step_bytes = std::int64_t{twin.policy.tile.m + twin.policy.tile.n} * twin.policy.tile_k *
                    static_cast<int>(sizeof(float)),
      .step_work = std::int64_t{twin.policy.tile.m} * twin.policy.tile.n * twin.policy.tile_k};
  timeline best = record_once(where, plan, empty, options);
  // the clock of the CPU executor is deterministic
  const int runs = where.kind() != target::cuda || p.beta != 0 ? 1 : options.runs;
  for (int i = 1; i < runs; ++i) {
    timeline next = record_once(where, plan, empty, options);
    if (measure(next).duration < measure(best).duration) best = std::move(next);
  }
  if (options.cost_runs > 0 && p.beta != 0)
    throw bad_request("the cost of recording takes many runs: expected beta = 0");
  if (options.cost_runs > 0 && plan.plain.has_value())
    best.cost =
        cost_of(options, [&](bool recorded) { return time_of(where, plan, empty, options, recorded); });
  return best;
}

timeline record_gemm(const context& where, std::string_view policy, const gemms::tensor_core_problem& p,
                     const trace_options& options) {
  const gemms::tensor_core_step& how = gemms::find_tensor_core_step(policy);
  require_something(p.m(), p.n(), p.k());
  const auto steps = static_cast<int>(ceil_div<std::int64_t>(p.k(), how.tile_k));
  return record_call(where, gemms::all_twins(where.kind()), {.policy = std::string(policy), .steps = steps},
                     options, {.bytes = operand_bytes(p.m(), p.n(), p.k(), sizeof(f16))}, false,
                     [&](const context& recording) {
                       const executor& on = recording.runs_on();
                       gemms::run(on, gemms::prepare(on, how, p), options.stream);
                     });
}

}  // namespace antiphase
