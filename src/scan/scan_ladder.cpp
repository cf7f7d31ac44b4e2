// From a step and a problem to launches.
#include <antiphase/scan/ladder.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/executor/executor.hpp>
#include <cstring>
#include <string>

#include "src/names.hpp"
#include "src/scan/choice.hpp"
#include "src/scan/registry.hpp"
#include "src/scan/wave/wave_plan.hpp"
#include "src/scan/request.hpp"
#include "src/scan/ring/ring_plan.hpp"

namespace antiphase::scans {

namespace {

// The type that a problem's kernels work on.
element computed_as(element type, scan_operation operation) {
  return operation == scan_operation::min || operation == scan_operation::max ? type : unsigned_of(type);
}
element computed_as(const problem& p) { return computed_as(p.type, p.operation); }

const instance* look_for(target where, const step& how, element type, scan_operation operation) {
  for (const instance& candidate : instances(where))
    if (std::string_view(candidate.step) == how.name && candidate.type == computed_as(type, operation) && candidate.operation == operation)
      return &candidate;
  return nullptr;
}
const instance& find_instance(target where, const step& how, const problem& p) {
  if (const instance* found = look_for(where, how, p.type, p.operation)) return *found;
  throw not_supported(fmt::format("this build has no kernel on {} for scan policy {} with operation {} on {}",
                                  where == target::cuda ? "CUDA" : "the CPU", how.name, name(p.operation), antiphase::name(p.type)));
}

template <class T> T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The problem as its kernels see it; calls f(arguments<T>) with the type they work on.
template <class F> auto with_arguments(const problem& p, F f) {
  return with_element(computed_as(p), [&]<class T>() {
    return f(arguments<T>{.in = static_cast<const T*>(p.in),
                          .out = static_cast<T*>(p.out),
                          .totals = nullptr,
                          .over = {p.outer, p.length, p.inner, p.direction},
                          .kind = p.kind,
                          .initial = from_bits<T>(first_of_exclusive(p))});
  });
}

}  // namespace

std::span<const instance> instances(target where) { return instances_of<instance>(where); }

bool is_compiled(target where, const step& how, element type, scan_operation operation) {
  if (is_one_wave(how)) return operation == scan_operation::sum && !is_half(type);
  if (is_single_pass(how)) return has_single_pass(where, type, operation, how.name);
  return look_for(where, how, type, operation) != nullptr;
}

namespace {

const step* look_for_step(std::string_view name) {
  for (const step& s : steps)
    if (name == s.name) return &s;
  for (const step& s : short_line_steps)
    if (name == s.name) return &s;
  return nullptr;
}

const step& find_among_all(std::string_view name, std::string_view what, const std::vector<std::string>& also) {
  if (const step* const found = look_for_step(name)) return *found;
  std::vector<std::string> known = names_of(steps);
  for (const auto& more : {names_of(short_line_steps), also}) known.insert(known.end(), more.begin(), more.end());
  refuse_name(what, name, known);
}

}  // namespace

const step& find_step(std::string_view name) {
  if (name == "auto")
    throw bad_request("'auto' is the choice among them that scan makes by itself, not a step of the scan ladder: expected " +
                      listed(names_of(steps)));
  return find_among_all(name, "step of the scan ladder", {});
}
const step& find_policy(std::string_view name) { return find_among_all(name, "scan policy", {"auto"}); }

namespace {

constexpr const step& by_name(std::string_view name) {
  for (const step& s : steps)
    if (name == s.name) return s;
  throw bad_request(fmt::format("there is no step {}", name));
}

void require_passes(const step& how, const problem& p) {
  if (const std::string why = passes_refuse(p); !why.empty())
    throw not_supported(fmt::format("scan policy {} does not take this problem: {}", how.name, why));
}

}  // namespace

std::string passes_refuse(const problem& p) {
  if (is_half(p.type) || result_type(p) != p.type)
    return fmt::format("{}: this build has such kernels of policies single-pass and single-pass-async only", description(p, nullptr));
  return {};
}

const step& select_single_pass(const executor& on) {
  constexpr int compiled_for = 9;  // major compute capability
  return by_name(on.limits().major == compiled_for ? "single-pass" : "single-pass-async");
}

std::size_t workspace_bytes(const step& how, const problem& p) {
  require_sensible_sizes(p);
  if (is_one_wave(how)) return one_wave_workspace(p);
  if (is_single_pass(how)) return single_pass_workspace(p, nullptr, how);
  if (is_empty(p) || !passes_refuse(p).empty()) return 0;
  return with_element(p.type, [&]<class T>() {
    return workspace_bytes<T>(how.how.tile(sizeof(T)), {p.outer, p.length, p.inner, p.direction});
  });
}

std::vector<launchable> prepare(const executor& on, const step& how, const problem& p, std::span<std::byte> workspace) {
  require_sensible(p);
  if (const std::size_t bytes = workspace_bytes(how, p); workspace.size() < bytes)
    throw bad_request(fmt::format("the workspace has {} bytes: expected {} or more", workspace.size(), bytes));
  if (is_empty(p)) return {};
  if (is_one_wave(how)) {
    if (const std::string why = one_wave_refuses(on, p); !why.empty())
      throw not_supported("scan policy one-wave does not take this problem: " + why);
    return prepare_one_wave(on.kind(), p, computed_as(p), first_of_exclusive(p), workspace);
  }
  if (is_single_pass(how)) return prepare_single_pass(on, p, nullptr, workspace, how);
  require_passes(how, p);
  const instance& i = find_instance(on.kind(), how, p);
  return with_arguments(p, [&](const auto& whole) { return passes(i.kernels, whole, workspace.data()); });
}

launchable prepare_tiles(target where, const step& how, const problem& p) {
  require_sensible(p);
  if (is_single_pass(how)) throw not_supported("the single-pass scan has no tiles on their own");
  require_passes(how, p);
  const instance& i = find_instance(where, how, p);
  return with_arguments(p, [&](const auto& whole) { return launch_of(i.kernels.scan, i.kernels.tile, whole); });
}

}  // namespace antiphase::scans
