// SPDX-License-Identifier: Apache-2.0
// The public matrix product: the choice is run.
#include <antiphase/gemm.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/scratch.hpp>
#include <cstdint>
#include <variant>

#include "src/gemm/choose.hpp"
#include "src/gemm/request.hpp"

namespace antiphase {
namespace {

gemms::judged_view recomputed_of(const gemm_options& options) {
  return gemms::judged("recomputed", options.recomputed, sizeof *options.recomputed);
}

// Calls use(memory) with as much as the plan needs: the caller's, or some that is borrowed.
launch_counts with_workspace(const context& where, const auto& plan, const gemm_options& options, auto use) {
  const std::size_t needed = plan.workspace();
  if (options.workspace.empty() || needed == 0) {
    const borrowed memory(where.runs_on(), needed, options.on);
    return use(memory.memory());
  }
  if (options.workspace.size() < needed)
    throw bad_request(fmt::format("the workspace has {} bytes: this product needs {}", options.workspace.size(), needed));
  const gemms::judged_view used = gemms::judged("the workspace", options.workspace.data(), static_cast<std::int64_t>(needed));
  gemms::require_own_memory(plan.what, used);
  if (options.recomputed != nullptr) gemms::require_apart(recomputed_of(options), used);
  return use(options.workspace);
}

launch_counts run(const context& where, const gemms::product_plan& plan, const gemm_options& options) {
  return with_workspace(where, plan, options,
                        [&](std::span<std::byte> memory) { return gemms::run(where, plan, memory, options.recomputed, options.on); });
}
launch_counts run(const context& where, const gemms::stream_plan& plan, const gemm_options& options) {
  return with_workspace(where, plan, options, [&](std::span<std::byte> memory) { return gemms::run(where, plan, memory, options.on); });
}
launch_counts run(const context& where, const gemms::narrow_plan& plan, const gemm_options& options) {
  return with_workspace(where, plan, options,
                        [&](std::span<std::byte> memory) { return gemms::run(where, plan, memory, options.recomputed, options.on); });
}
launch_counts run(const context& where, const gemms::short_plan& plan, const gemm_options& options) {
  return where.runs_on().launch(plan.code, plan.grid, &plan.what, options.on);
}
launch_counts run(const context& where, const gemms::plan& plan, const gemm_options& options) {
  return where.runs_on().launch(plan.what.code, plan.grid, &plan.arguments, options.on);
}

}  // namespace

gemm_bound bound_of(precision asked, const device_limits& device, std::int64_t k) {
  if (asked == precision::strict) return bound_of(gemm_sums::multiply_adds, k);
  const gemm_sums there = sums_of(tensor_core_sums_of(device));
  return bound_of(there == gemm_sums::unknown ? gemm_sums::hopper : there, k);
}

launch_counts gemm(const context& where, const gemm_problem& p, const gemm_options& options) {
  const gemms::choice c = gemms::choose(where, p, options);
  gemms::require_own_memory(p);
  if (options.recomputed != nullptr) gemms::require_own_memory(p, recomputed_of(options));
  if (options.ran != nullptr) *options.ran = gemms::described(c);
  return std::visit([&](const auto& plan) { return run(where, plan, options); }, c.plan);
}

std::size_t gemm_workspace(const context& where, const gemm_problem& p, const gemm_options& options) {
  return gemms::choose(where, p, options).offers();
}

}  // namespace antiphase
