// The public scan.
#include <antiphase/scan.hpp>

namespace antiphase {

launch_counts scan(const context& where, const prefix::problem& p, const scan_options& options) {
  const executor& runs = where.runs_on();
  const prefix::step& how = prefix::find_step(options.policy);
  const std::size_t bytes = prefix::workspace_bytes(how, p);
  launch_counts counts;
  if (bytes == 0) {
    for (const auto& l : prefix::prepare(where.kind(), how, p, nullptr))
      counts += runs.launch(l.code, l.grid, l.arguments.data(), options.on);
    return counts;
  }
  device_array<std::byte> workspace(where, bytes);
  for (const auto& l : prefix::prepare(where.kind(), how, p, workspace.data()))
    counts += runs.launch(l.code, l.grid, l.arguments.data(), options.on);
  runs.synchronize(options.on);  // the workspace goes
  return counts;
}

}  // namespace antiphase
