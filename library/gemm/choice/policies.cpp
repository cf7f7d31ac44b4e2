// SPDX-License-Identifier: Apache-2.0
// The names of gemm's policies, and the errors for unknown ones.
#include <antiphase/gemm/policies.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>

#include "core/names.hpp"
#include "core/per_process.hpp"
#include "library/gemm/choice/choose.hpp"

namespace antiphase::gemms {
namespace {

const policy_info* look_for(std::string_view name) {
  const auto found = std::ranges::find(policies(), name, &policy_info::name);
  return found == policies().end() ? nullptr : &*found;
}

// What the name stands for elsewhere in the library; empty: nothing.
std::string_view meaning(std::string_view name) {
  if (name == "auto") return "the choice among them that gemm makes by itself";
  if (name == async_one) return "a kernel that only trace has";
  if (const policy_info* const found = look_for(name))
    return found->ladder != nullptr ? "a step of the GEMM ladder" : "a policy of gemm outside its ladder";
  const bool f16 =
      std::ranges::any_of(tensor_core_steps, [&](const tensor_core_step& s) { return s.name == name; });
  return f16 ? "a step that multiplies f16 operands, for ladder gemm only" : "";
}

}  // namespace

std::span<const policy_info> policies() {
  static constinit made_once<std::vector<policy_info>> all;
  return all.get([] {
    std::vector<policy_info> list;
    for (const candidate& c : candidates())
      list.push_back({.name = c.name,
                      .adds = c.summary,
                      .needs = c.needs,
                      .sums = c.traits.sums,
                      .ladder = c.ladder,
                      .work = c.traits.work});
    return list;
  });
}

void refuse_policy(std::string_view name, std::string_view what, const std::vector<std::string>& known) {
  const std::string_view other = meaning(name);
  if (other.empty()) refuse_name(what, name, known);
  throw bad_request(fmt::format("'{}' is {}, not a {}: expected {}", name, other, what, listed(known)));
}

const policy_info* find_policy(std::string_view name) {
  if (name == "auto") return nullptr;
  if (const policy_info* const found = look_for(name)) return found;
  std::vector<std::string> known{"auto"};
  for (const policy_info& p : policies()) known.emplace_back(p.name);
  refuse_policy(name, "GEMM policy", known);
}

}  // namespace antiphase::gemms
