// The public scans.
#include <antiphase/scan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/scratch.hpp>
#include <vector>

#include "src/scan/choice.hpp"
#include "src/scan/wave/wave_plan.hpp"
#include "src/scan/request.hpp"
#include "src/scan/ring/ring_plan.hpp"

namespace antiphase {
namespace {

using scans::launchable, scans::problem, scans::scan_keys, scans::step;

launch_counts launch_all(const executor& runs, const std::vector<launchable>& launches, stream on) {
  launch_counts counts;
  for (const auto& l : launches) counts += runs.launch(l.code, l.grid, l.arguments.data(), on);
  return counts;
}

// Single-pass keeps its words in the first half of a caller's workspace, from call to call; the totals of several passes, which may look
// like such words, go to the second.
constexpr std::size_t unit = 256;
std::size_t half_of(std::size_t bytes) { return bytes / 2 / unit * unit; }

std::size_t both_halves(std::size_t bytes) { return 2 * ceil_div(bytes, unit) * unit; }
std::size_t workspace_for(const problem& p) {
  return both_halves(std::max({scans::most_single_pass_workspace(p, nullptr), scans::most_one_wave_workspace(),
                               scans::workspace_bytes(scans::find_step("items"), p)}));
}

// One that is given; of a problem that was judged.
void require_workspace(std::span<std::byte> given, std::size_t bytes, const problem& p, const scan_keys* keys) {
  if (given.empty()) return;
  scans::require_workspace(given, both_halves(bytes));
  scans::require_own_memory(p, keys, given);
}

launch_counts single_pass(const executor& runs, const problem& p, const scan_keys* keys, const step& how, const scan_options& options) {
  const auto prepare = [&](std::span<std::byte> workspace) {
    return keys != nullptr ? scans::prepare_single_pass(runs, p, keys, workspace, how) : scans::prepare(runs, how, p, workspace);
  };
  if (!options.workspace.empty()) return launch_all(runs, prepare(options.workspace.first(half_of(options.workspace.size()))), options.on);
  const std::size_t bytes = keys != nullptr ? scans::single_pass_workspace(p, keys, how) : scans::workspace_bytes(how, p);
  const scratch_in_use workspace(runs, bytes, options.on);
  const auto launches = prepare(workspace.memory());
  return workspace.work([&] { return launch_all(runs, launches, options.on); });
}

}  // namespace

launch_counts scan(const context& where, const problem& p, const scan_options& options) {
  const executor& runs = where.runs_on();
  const step& how = options.policy == "auto" ? scans::select_step(runs, p) : scans::find_policy(options.policy);
  scans::require_sensible(p);
  require_workspace(options.workspace, scans::workspace_bytes(how, p), p, nullptr);
  if (scans::is_single_pass(how)) return single_pass(runs, p, nullptr, how, options);
  const std::size_t bytes = scans::workspace_bytes(how, p);
  if (bytes == 0) return launch_all(runs, scans::prepare(runs, how, p, {}), options.on);
  if (!options.workspace.empty())
    return launch_all(runs, scans::prepare(runs, how, p, options.workspace.subspan(half_of(options.workspace.size()))), options.on);
  device_array<std::byte> workspace(where, bytes);
  const launch_counts counts = launch_all(runs, scans::prepare(runs, how, p, {workspace.data(), bytes}), options.on);
  runs.synchronize(options.on);  // the workspace goes
  return counts;
}

launch_counts scan_by_key(const context& where, const problem& p, const scan_keys& keys, const scan_options& options) {
  const executor& runs = where.runs_on();
  const step& how = options.policy == "auto" ? scans::select_single_pass(runs) : scans::find_policy(options.policy);
  scans::require_has_segments(how);
  scans::require_sensible(p, keys);
  require_workspace(options.workspace, scans::single_pass_workspace(p, &keys, how), p, &keys);
  return single_pass(runs, p, &keys, how, options);
}

std::size_t scan_workspace(const problem& p) {
  scans::require_sensible_sizes(p);
  return workspace_for(p);
}
std::size_t scan_workspace(const problem& p, const scan_keys& keys) {
  scans::require_sensible_sizes(p);
  return both_halves(scans::most_single_pass_workspace(p, &keys));
}

void initialise_scan_workspace(const context& where, std::span<std::byte> workspace, stream on) {
  scans::require_workspace(workspace, 0);
  const std::vector<std::byte> zeros(workspace.size());
  where.runs_on().copy_in(workspace.data(), zeros.data(), zeros.size(), on);
  where.runs_on().synchronize(on);
}

}  // namespace antiphase
