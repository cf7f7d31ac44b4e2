// SPDX-License-Identifier: Apache-2.0
// The public scans.
#include <antiphase/scan.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/scratch.hpp>
#include <vector>

#include "build_config.hpp"
#include "src/scan/choose.hpp"
#include "src/scan/log_sum_exp.hpp"

namespace antiphase {
namespace {

using scans::choice, scans::launchable;

launch_counts launch_all(const executor& runs, const std::vector<launchable>& launches, stream on) {
  launch_counts counts;
  for (const auto& l : launches) counts += runs.launch(l.code, l.grid, l.arguments.data(), on);
  return counts;
}

// State kept from call to call lies in the first half of a caller's workspace. The totals of several passes,
// which could be mistaken for tagged words, go to the second half.
constexpr std::size_t unit = 256;
std::size_t half_of(std::size_t bytes) { return bytes / 2 / unit * unit; }
std::size_t both_halves(std::size_t bytes) { return 2 * ceil_div(bytes, unit) * unit; }

launch_counts run_in(std::span<std::byte> workspace, const choice& c, stream on) {
  scans::require_workspace(workspace, both_halves(c.runs.workspace));
  scans::require_own_memory(c.of.what, c.of.keys, workspace);
  if (c.of.empty()) return {};
  const std::size_t half = half_of(workspace.size());
  return launch_all(
      c.of.on, c.runs.launches(c.runs.keeps_state ? workspace.first(half) : workspace.subspan(half)), on);
}

launch_counts run(const choice& c, const scan_options& options) {
  const executor& runs = c.of.on;
  if (!options.workspace.empty()) return run_in(options.workspace, c, options.on);
  if (c.of.empty()) return {};
  if (!c.runs.keeps_state) {
    const borrowed workspace(runs, c.runs.workspace, options.on);
    return launch_all(runs, c.runs.launches(workspace.memory()), options.on);
  }
  const scratch_in_use workspace(runs, c.runs.workspace, options.on);
  const auto launches = c.runs.launches(workspace.memory());
  return workspace.work([&] { return launch_all(runs, launches, options.on); });
}

scan_choice described(const choice& c) {
  scan_choice told{.kernel = std::string(c.by->name),
                   .tile = c.runs.tile,
                   .tiles = c.runs.tiles,
                   .stages = c.runs.stages,
                   .workspace = c.runs.workspace,
                   .units = c.by->promise(c.of),
                   .why = scans::why(c),
                   .refused = scans::refused(c)};
  if (c.of.empty()) return told;
  // A dummy address: nothing runs, and a large problem would need a large allocation.
  const std::span<std::byte> memory(reinterpret_cast<std::byte*>(std::uintptr_t{256}), c.runs.workspace);
  const auto launches = c.runs.launches(memory);
  for (const launchable& l : launches) {
    if (const auto why = refusal(c.of.on.limits(), l.code)) throw not_supported(*why);
    told.threads = l.code.threads;
    told.blocks = std::max(told.blocks, l.grid.count());
  }
  told.launches = static_cast<int>(launches.size());
  return told;
}

}  // namespace

launch_counts scan(const context& where, const scan_problem& p, const scan_options& options) {
  return run(scans::choose(where.runs_on(), p, nullptr, options.policy), options);
}
launch_counts scan_by_key(const context& where, const scan_problem& p, const scan_keys& keys,
                          const scan_options& options) {
  return run(scans::choose(where.runs_on(), p, &keys, options.policy), options);
}

launch_counts scan_log_sum_exp(const context& where, const scan_problem& p, stream on) {
  scans::require_sensible(p);
  if (p.type != element::f32 && p.type != element::f64)
    throw not_supported(
        fmt::format("running log-sum-exp of {}: expected f32 or f64", antiphase::name(p.type)));
  if (p.operation != scan_operation::sum || p.kind != scan_kind::inclusive || scans::result_type(p) != p.type)
    throw bad_request(
        fmt::format("running log-sum-exp of a problem that is {}{}: expected one with the default "
                    "operation, kind and accumulate",
                    scans::description(p, nullptr), p.kind == scan_kind::exclusive ? ", exclusive" : ""));
#if ANTIPHASE_HAS_CUDA
  if (where.kind() == target::cuda) return scans::cuda::log_sum_exps(where, p, on);
#endif
  return scans::cpu::log_sum_exps(where, p, on);
}

scan_choice explain(const context& where, const scan_problem& p, const scan_options& options) {
  return described(scans::choose(where.runs_on(), p, nullptr, options.policy));
}
scan_choice explain(const context& where, const scan_problem& p, const scan_keys& keys,
                    const scan_options& options) {
  return described(scans::choose(where.runs_on(), p, &keys, options.policy));
}

std::size_t scan_workspace(const scan_problem& p) {
  scans::require_sensible_sizes(p);
  return both_halves(scans::lasting_workspace(p, nullptr));
}
std::size_t scan_workspace(const scan_problem& p, const scan_keys& keys) {
  scans::require_sensible_sizes(p);
  return both_halves(scans::lasting_workspace(p, &keys));
}

void initialise_scan_workspace(const context& where, std::span<std::byte> workspace, stream on) {
  scans::require_workspace(workspace, 0);
  const std::vector<std::byte> zeros(workspace.size());
  where.runs_on().copy_in(workspace.data(), zeros.data(), zeros.size(), on);
  where.runs_on().synchronize(on);
}

}  // namespace antiphase
