// The public scan.
#include <antiphase/scan.hpp>

namespace antiphase {
namespace {

launch_counts launch_all(const executor& runs, const std::vector<prefix::launchable>& launches, stream on) {
  launch_counts counts;
  for (const auto& l : launches) counts += runs.launch(l.code, l.grid, l.arguments.data(), on);
  return counts;
}

}  // namespace

launch_counts scan(const context& where, const prefix::problem& p, const scan_options& options) {
  const executor& runs = where.runs_on();
  const prefix::step& how = options.policy == "auto" ? prefix::select_step(runs, p) : prefix::find_step(options.policy);
  const std::size_t bytes = prefix::workspace_bytes(how, p);
  if (bytes == 0) return launch_all(runs, prefix::prepare(runs, how, p, {}), options.on);
  if (prefix::is_single_pass(how)) {
    const auto launches = prefix::prepare(runs, how, p, runs.scratch(bytes, options.on));
    try {
      return launch_all(runs, launches, options.on);
    } catch (...) {
      runs.forget_scratch(options.on);  // who knows how far it came
      throw;
    }
  }
  device_array<std::byte> workspace(where, bytes);
  const launch_counts counts = launch_all(runs, prefix::prepare(runs, how, p, {workspace.data(), bytes}), options.on);
  runs.synchronize(options.on);  // the workspace goes
  return counts;
}

}  // namespace antiphase
