// The names that gemm's policy may have, and what to say of one that does not exist.
#include <antiphase/gemm/policies.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>
#include <antiphase/gemm/ladder.hpp>

#include "src/names.hpp"

namespace antiphase::gemms {
namespace {

bool has(const auto& list, std::string_view name) {
  return std::ranges::any_of(list, [&](const auto& item) { return item.name == name; });
}

// What a name of matrix products stands for; empty if it is none.
std::string_view meaning(std::string_view name) {
  if (name == "auto") return "the choice among them that gemm makes by itself";
  if (name == async_one) return "a kernel that only trace has";
  if (has(beside_the_ladder, name)) return "a policy of gemm beside its ladder";
  if (has(tensor_core_steps, name)) return "a step that multiplies f16 operands, for ladder gemm only";
  return has(steps, name) ? "a step of the GEMM ladder" : "";
}

}  // namespace

void refuse_policy(std::string_view name, std::string_view what, const std::vector<std::string>& known) {
  const std::string_view other = meaning(name);
  if (other.empty()) refuse_name(what, name, known);
  throw bad_request(fmt::format("'{}' is {}, not a {}: expected {}", name, other, what, listed(known)));
}

void require_policy(std::string_view name) {
  if (name == "auto" || has(beside_the_ladder, name) || has(steps, name)) return;
  std::vector<std::string> known{"auto"};
  for (const std::vector<std::string>& names : {names_of(beside_the_ladder), names_of(steps)})
    known.insert(known.end(), names.begin(), names.end());
  refuse_policy(name, "GEMM policy", known);
}

}  // namespace antiphase::gemms
