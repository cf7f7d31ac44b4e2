// SPDX-License-Identifier: Apache-2.0
// The public scans.
#include <antiphase/scan.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/executor/scratch.hpp>
#include <optional>
#include <type_traits>
#include <vector>

#include "build_config.hpp"
#include "library/choice/remembered.hpp"
#include "library/scan/choose.hpp"
#include "library/scan/log_sum_exp.hpp"

namespace antiphase {
namespace {

using scans::choice;

// State kept from call to call lies in the first half of a caller's workspace. The totals of several passes,
// which could be mistaken for tagged words, go to the second half.
constexpr std::size_t unit = 256;
std::size_t half_of(std::size_t bytes) { return bytes / 2 / unit * unit; }
std::size_t both_halves(std::size_t bytes) { return 2 * ceil_div(bytes, unit) * unit; }

// memory: the caller's workspace, checked before; empty: memory of the executor.
launch_counts run_plan(const choices::plan& p, const choices::work& given) {
  const executor& runs = given.context.runs_on();
  const auto launched_in = [&](std::span<std::byte> memory) {
    return p.launch({.context = given.context, .memory = memory, .queue = given.queue});
  };
  if (!given.memory.empty()) {
    const std::size_t half = half_of(given.memory.size());
    return launched_in(p.keeps_state ? given.memory.first(half) : given.memory.subspan(half));
  }
  if (!p.keeps_state) return choices::run(p, given);
  const scratch_in_use workspace(runs, p.workspace, given.queue);
  return workspace.work([&] { return launched_in(workspace.memory()); });
}

// Nothing for calls by a policy's name, which are not remembered.
std::optional<choices::call_key> key_of(const context& where, const scan_problem& p, const scan_keys* keys,
                                        const scan_options& options) {
  if (options.policy != "auto") return std::nullopt;
  choices::call_key key(where);
  key.add(p.in, p.out, p.outer, p.length, p.inner, p.type, p.operation, p.kind, p.direction,
          keys != nullptr ? keys->data : nullptr, options.workspace.data(), options.workspace.size());
  key.add(keys != nullptr, p.initial.has_value(), p.accumulate.has_value(), p.accumulate.value_or(p.type));
  if (keys != nullptr) key.add(keys->type, keys->segments);
  if (p.initial)
    p.initial->visit(
        [&](auto x) { key.add(std::is_floating_point_v<decltype(x)>, std::is_signed_v<decltype(x)>, x); });
  key.add_device(choices::family::scans);
  return key;
}

launch_counts scanned(const context& where, const scan_problem& p, const scan_keys* keys,
                      const scan_options& options) {
  const choices::work w{.context = where, .memory = options.workspace, .queue = options.stream};
  const std::optional<choices::call_key> key = key_of(where, p, keys, options);
  if (const choices::recalled known(key); known.get() != nullptr) return run_plan(*known.get(), w);
  const choice c = scans::choose(where.runs_on(), p, keys, options.policy);
  if (!options.workspace.empty()) {
    scans::require_workspace(options.workspace, both_halves(c.runs.workspace));
    scans::require_own_memory(p, keys, options.workspace);
  }
  if (c.request.empty()) return {};
  if (key) choices::remember(*key, c.runs);
  return run_plan(c.runs, w);
}

scan_choice described(const choice& c) {
  scan_choice told{.kernel = std::string(c.chosen->name),
                   .tile = 0,
                   .tiles = 0,
                   .stages = 1,
                   .workspace = c.runs.workspace,
                   .units = scans::error_units_of(c.request),
                   .why = scans::why(c),
                   .refused = scans::refused(c)};
  if (c.request.empty()) return told;
  const choices::description text = c.runs.described();
  told.tile = text.tile, told.tiles = text.tiles, told.stages = text.stages;
  for (const choices::listed_launch& l : choices::launches_of(c.runs, c.request.executor)) {
    told.threads = l.code.threads;
    told.blocks = std::max(told.blocks, l.grid.count());
    ++told.launches;
  }
  return told;
}

}  // namespace

launch_counts scan(const context& where, const scan_problem& p, const scan_options& options) {
  return scanned(where, p, nullptr, options);
}
launch_counts scan_by_key(const context& where, const scan_problem& p, const scan_keys& keys,
                          const scan_options& options) {
  return scanned(where, p, &keys, options);
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
