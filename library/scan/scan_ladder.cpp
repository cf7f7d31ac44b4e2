// SPDX-License-Identifier: Apache-2.0
// Steps by name, and single steps, as a ladder measures them.
#include <antiphase/scan/ladder.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/executor.hpp>
#include <string>

#include "core/names.hpp"
#include "library/scan/choose.hpp"
#include "library/scan/passes/passes_plan.hpp"
#include "library/scan/ring/ring_plan.hpp"

namespace antiphase::scans {

namespace {

const step* look_for_step(std::string_view name) {
  for (const step& s : steps)
    if (name == s.name) return &s;
  for (const step& s : short_line_steps)
    if (name == s.name) return &s;
  for (const step& s : column_steps)
    if (name == s.name) return &s;
  return nullptr;
}

const step& find_among_all(std::string_view name, std::string_view what,
                           const std::vector<std::string>& also) {
  if (const step* const found = look_for_step(name)) return *found;
  std::vector<std::string> known = names_of(steps);
  for (const auto& more : {names_of(short_line_steps), names_of(column_steps), also})
    known.insert(known.end(), more.begin(), more.end());
  refuse_name(what, name, known);
}

}  // namespace

const step& find_step(std::string_view name) {
  if (name == "auto")
    throw bad_request(
        "'auto' is the choice among them that scan makes by itself, not a step of the scan ladder: "
        "expected " +
        listed(names_of(steps)));
  return find_among_all(name, "step of the scan ladder", {});
}
const step& find_policy(std::string_view name) { return find_among_all(name, "scan policy", {"auto"}); }

// Answers for one line, not for segments.
bool is_compiled(target where, const step& how, element type, scan_operation operation) {
  if (is_for_columns(how)) return true;
  if (is_one_wave(how)) return operation == scan_operation::sum && !is_half(type);
  if (!is_single_pass(how)) return has_passes(where, how, type, operation);
  if (is_short_ring(how)) return operation == scan_operation::sum && type == element::f32;
  return is_listed(how.ring.mover, where == target::cuda, unsigned_of(type));
}

std::size_t workspace_bytes(const step& how, const problem& p) {
  require_sensible_sizes(p);
  return candidate_of(how).traits.workspace(how, p, nullptr);
}

std::vector<launchable> prepare(const executor& on, const step& how, const problem& p,
                                std::span<std::byte> workspace) {
  const choice c = choose(on, p, nullptr, how);
  if (workspace.size() < c.runs.workspace)
    throw bad_request(
        fmt::format("the workspace has {} bytes: expected {} or more", workspace.size(), c.runs.workspace));
  std::vector<launchable> all;
  if (c.request.empty()) return all;
  for (choices::listed_launch& l : choices::launches_of(c.runs, on, workspace))
    all.push_back({l.code, l.grid, std::move(l.arguments)});
  return all;
}

}  // namespace antiphase::scans
