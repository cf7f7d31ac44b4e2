// SPDX-License-Identifier: Apache-2.0
// The public matrix product: chooses and launches.
#include <antiphase/gemm.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/scratch.hpp>
#include <antiphase/gemm/gain.hpp>
#include <antiphase/gemm_judgement.hpp>
#include <cstdint>
#include <optional>
#include <variant>

#include "src/gemm/call/remembered.hpp"
#include "src/gemm/choice/choose.hpp"
#include "src/gemm/choice/prepared.hpp"
#include "src/gemm/operands/checks.hpp"

namespace antiphase {
namespace {

gemms::judged_view recomputed_of(const gemm_options& options) {
  return gemms::judged("recomputed", options.recomputed, sizeof *options.recomputed);
}

// The caller's workspace, checked; empty if there is none or the call needs none.
std::span<std::byte> workspace_of(const gemms::choice& c, const gemm_options& options, std::size_t needed) {
  if (options.workspace.empty() || needed == 0) return {};
  if (options.workspace.size() < needed)
    throw bad_request(
        fmt::format("the workspace has {} bytes: this product needs {}", options.workspace.size(), needed));
  const gemms::judged_view used =
      gemms::judged("the workspace", options.workspace.data(), static_cast<std::int64_t>(needed));
  gemms::require_own_memory(c.of.what, c.of.of, c.of.after, used);
  if (options.recomputed != nullptr) gemms::require_apart(recomputed_of(options), used);
  for (const prepared_operand* const one : {options.prepared_a, options.prepared_b})
    gemms::require_apart_from(one, used);
  return options.workspace;
}
// The same, after all memory of the call has been checked. Throws bad_request if something overlaps.
std::span<std::byte> judged_memory(const gemms::choice& c, const gemm_problem& p, const gemm_options& how,
                                   std::size_t needed) {
  gemms::require_own_memory(p, how.batch, how.epilogue);
  if (how.recomputed != nullptr) gemms::require_own_memory(p, how.batch, how.epilogue, recomputed_of(how));
  for (const prepared_operand* const one : {how.prepared_a, how.prepared_b})
    gemms::require_own_memory(p, how, one);
  return workspace_of(c, how, needed);
}

struct runner {
  const context& where;
  const gemm_options& options;
  std::span<std::byte> memory;

  launch_counts operator()(const gemms::product_plan& plan) const {
    return gemms::run(where, plan, memory, options.recomputed, options.on);
  }
  launch_counts operator()(const gemms::tf32_plan& plan) const {
    return gemms::run(where, plan, memory, options.recomputed, options.on);
  }
  launch_counts operator()(const gemms::fp64_plan& plan) const {
    return gemms::run(where, plan, memory, options.on);
  }
  launch_counts operator()(const gemms::short_plan& plan) const {
    return where.runs_on().launch(plan.code, plan.grid, &plan.arguments, options.on);
  }
  launch_counts operator()(const gemms::dots_plan& plan) const { return gemms::run(where, plan, options.on); }
  launch_counts operator()(const gemms::finish_plan& plan) const {
    return gemms::run(where, plan, options.on);
  }
  launch_counts operator()(const gemms::plan& plan) const {
    return where.runs_on().launch(plan.what.code, plan.grid, &plan.arguments, options.on);
  }
  // If needed, a launch for each member of the batch, in the same workspace; then the finishing pass.
  launch_counts operator()(const gemms::choice& c) const {
    launch_counts all = std::visit(*this, c.plan);
    if (c.by_members())
      for (std::int64_t n = 1; n < c.of.of.count; ++n) all += std::visit(*this, c.plan_of(n));
    if (c.finishes_behind()) all += gemms::finish_product(where, c.of.what, c.of.of, c.of.after, options.on);
    return all;
  }
};

}  // namespace

gemm_bound bound_of(precision asked, const device_limits& device, std::int64_t k) {
  if (asked == precision::strict) return bound_of(gemm_sums::multiply_adds, k);
  const gemm_sums there = sums_of(tensor_core_sums_of(device));
  return bound_of(there == gemm_sums::unknown ? gemm_sums::hopper : there, k);
}

launch_counts gemm(const context& where, const gemm_problem& p, const gemm_options& options) {
  const std::optional<gemms::call> call = gemms::call_of(where, p, options);
  if (const gemms::in_use known(call ? gemms::recall(*call) : nullptr); known) {
    const std::span<std::byte> given = known->workspace == 0 ? std::span<std::byte>() : options.workspace;
    const borrowed own(where.runs_on(), given.empty() ? known->workspace : 0, options.on);
    return std::visit(runner{where, options, given.empty() ? own.memory() : given}, known->plan);
  }
  const gemms::choice c = gemms::choose(where, p, options);
  const std::size_t needed = c.workspace();
  const std::span<std::byte> given = judged_memory(c, p, options, needed);
  if (options.ran != nullptr) *options.ran = gemms::described(c);
  if (call) gemms::remember(*call, c);
  const borrowed own(where.runs_on(), given.empty() ? needed : 0, options.on);
  return gemms::run(c, options, given.empty() ? own.memory() : given);
}

gemm_judgement judge(const context& where, const gemm_problem& p, const gemm_options& options) {
  const gemms::choice c = gemms::choose(where, p, options);
  const double seconds = c.seconds();
  // What is simulated is what predictions say it is.
  const bool is_known = is_measured(where.limits()) || where.limits().name == simulated_device().name ||
                        gemms::tuning_for(where.limits(), options.tuning) != nullptr;
  const gemm_judgement is{.seconds = seconds,
                          .cublas_seconds = cublas_seconds(where.limits(), p, options.batch),
                          .gain = is_known ? gain_over_cublas(where.limits(), p, options.batch, seconds) : 0,
                          .workspace = c.workspace()};
  const std::optional<gemms::call> call = gemms::call_of(where, p, options);
  if (!call) return is;
  try {
    static_cast<void>(judged_memory(c, p, options, is.workspace));
    gemms::remember_at_once(*call, c);
  } catch (const bad_request&) {  // memory overlaps: gemm() will refuse the call
  }
  return is;
}

launch_counts gemms::run(const choice& c, const gemm_options& options, std::span<std::byte> memory) {
  return runner{c.of.where, options, memory}(c);
}

std::size_t gemm_workspace(const context& where, const gemm_problem& p, const gemm_options& options) {
  return gemms::choose(where, p, options).offers();
}

}  // namespace antiphase
