// SPDX-License-Identifier: Apache-2.0
// The table of candidates, and what its rows share.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/per_process.hpp"
#include "library/gemm/candidate.hpp"
#include "library/gemm/operands/line_operand.hpp"

namespace antiphase::gemms {
namespace {

#define AP_ROW(name) &rows::name,
constexpr const candidate* next_to_ladder[] = {AP_PRODUCT_POLICIES(AP_ROW)};
#undef AP_ROW

}  // namespace

std::span<const candidate> candidates() {
  static constinit made_once<std::vector<candidate>> all;
  return all.get([] {
    std::vector<candidate> list;
    for (const candidate* const row : next_to_ladder) list.push_back(*row);
    for (const step& s : steps) {
      candidate row = rows::ladder;
      row.name = s.name, row.summary = s.adds, row.needs = needs_of(s), row.ladder = &s;
      list.push_back(row);
    }
    return list;
  });
}
std::span<const candidate> policies_next_to_ladder() { return candidates().first(std::size(next_to_ladder)); }

std::vector<way> ways_of(const product_shape& p, const device_limits& device, const costs::models& l) {
  std::vector<way> all;
  for (const candidate& row : policies_next_to_ladder())
    if (row.traits.ways != nullptr) row.traits.ways(p, device, l, all);
  return all;
}

std::string names_with(bool product_traits::*property) {
  std::vector<std::string_view> names;
  for (const candidate& row : candidates())
    if (row.traits.*property) names.push_back(row.name);
  std::ranges::sort(names);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 < names.size() ? ", " : " and ", names[i]);
  return text;
}

std::string no_kernel(const candidate&, const request&, const kernel&) {
  return "this build has no kernel for it";
}
std::string does_not_fit(const candidate&, const request& r, const kernel& code) {
  return refusal(r.device(), code).value();
}
std::string many_tiles(const candidate&, const request& r, const kernel&) {
  return fmt::format("C is {} x {}: more than {} tiles", r.problem.m(), r.problem.n(),
                     std::numeric_limits<std::int32_t>::max());
}

bool is_certain(const candidate&, const request& r) { return r.k() > sparse_nonzeros; }
bool finishes_all(const request&) { return true; }

void describe_shares(choices::description& text) {
  if (text.cluster > 1)
    text.launches.push_back(
        fmt::format("{} blocks share each tile of C, a part of K for each block", text.cluster));
  if (text.parts > 1)
    text.launches.push_back(
        fmt::format("K is taken in {} parts, whose sums meet in the workspace", text.parts));
}

}  // namespace antiphase::gemms
