// SPDX-License-Identifier: Apache-2.0
// Recording a scan.
#include <antiphase/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/scan.hpp>
#include <antiphase/scan/ladder.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "learn/trace/record_call.hpp"
#include "learn/trace/twins/twin_lists.hpp"
#include "library/scan/wave/wave_plan.hpp"

namespace antiphase {
namespace {

// One-wave kernels share one name for all tile sizes: keeps only the twin with this scan's tile size.
std::vector<twin> twins_for(target where, const scan_problem& p) {
  const int tile_bytes = scans::wave_for(p.length * static_cast<std::int64_t>(sizeof(float))).tile_bytes();
  std::vector<twin> some;
  for (const twin& t : scans::all_twins(where))
    if (std::string_view(t.kernel_name) != "scan.one-wave" || t.step_bytes == tile_bytes) some.push_back(t);
  return some;
}

timeline record(const context& where, std::string_view policy, const scan_problem& p,
                const trace_options& options,
                const std::function<void(const context&, const scan_options&)>& call) {
  scans::find_policy(policy);
  if (p.outer * p.length * p.inner == 0)
    throw bad_request("there is nothing to record: the arrays have no elements");
  const bool sum_of_floats = p.type == element::f32 && p.accumulate.value_or(p.type) == element::f32 &&
                             p.operation == scan_operation::sum;
  if (!sum_of_floats)
    throw bad_request("only sums of f32 are recorded: expected operation sum, elements and results f32");
  const std::vector<twin> twins = twins_for(where.kind(), p);
  const double bytes = static_cast<double>(sizeof(float)) * static_cast<double>(p.outer * p.length * p.inner);
  // A ring needs tiles to get going; the blocks of large arrays wait for each other as on the whole machine.
  constexpr double tile_bytes = 24576, tiles_of_a_block = 32;
  const recorded_work work{
      .bytes = 2 * bytes,
      .multiprocessors = scans::is_one_wave(scans::find_policy(policy))
                             ? 0
                             : static_cast<int>(std::clamp(bytes / tile_bytes / tiles_of_a_block, 2., 32.))};
  return record_call(where, twins, {.policy = std::string(policy), .kernel = "scan", .work_is = "elements"},
                     options, work, p.in == p.out, [&](const context& recording) {
                       call(recording, {.policy = policy, .stream = options.stream});
                     });
}

}  // namespace

std::vector<std::string> recorded_scan_policies() {
  std::vector<std::string> names;
  for (const scans::step& s : scans::steps)
    if (has_twin(scans::all_twins(target::cpu), "scan", s.name)) names.emplace_back(s.name);
  return names;
}

timeline record_scan(const context& where, std::string_view policy, const scan_problem& p,
                     const trace_options& options) {
  return record(where, policy, p, options,
                [&](const context& on, const scan_options& how) { scan(on, p, how); });
}
timeline record_scan(const context& where, std::string_view policy, const scan_problem& p,
                     const scan_keys& keys, const trace_options& options) {
  return record(where, policy, p, options,
                [&](const context& on, const scan_options& how) { scan_by_key(on, p, keys, how); });
}

}  // namespace antiphase
