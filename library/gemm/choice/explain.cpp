// SPDX-License-Identifier: Apache-2.0
// explain(): what was chosen for a product, as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <antiphase/gemm.hpp>
#include <cmath>

#include "library/gemm/choice/choose.hpp"

namespace antiphase {
namespace gemms {
namespace {

void describe_reason(gemm_choice& text, const choice& c) {
  if (c.by_name)
    text.why.push_back(choices::asked_for(c));
  else if (c.chosen->ladder == nullptr)
    text.why.push_back(fmt::format("precision fp32: {}", c.chosen->traits.why));
  else {
    if (!c.request.multiplies())
      text.why.emplace_back("there is nothing to multiply: C is scaled, if anything");
    if (c.accuracy == precision::strict)
      text.why.emplace_back("precision strict: IEEE multiply-adds in the order of k");
    if (!c.only_finishes) text.why.emplace_back(c.chosen->traits.why);
  }
}

}  // namespace

gemm_choice described(const choice& c) {
  const choices::description plan = c.runs.described();
  gemm_choice text;
  text.kernel = plan.name.empty() ? c.chosen->name : plan.name;
  text.tile = {plan.tile_m, plan.tile_n};
  text.tile_k = plan.tile_k;
  text.stages = plan.stages;
  text.blocks = plan.blocks;
  text.cluster = plan.cluster;
  text.parts = plan.parts;
  text.code = plan.code;
  text.workspace = c.runs.workspace;
  text.bound = c.bound;
  text.asked = c.asked;
  text.predicted = c.seconds();
  text.tuning = tuning_text(c.request.device(), c.given);
  describe_reason(text, c);
  for (const choice::prediction& one : c.considered)
    text.considered.push_back({std::string(one.candidate->name), one.seconds, one.factor});
  for (const choice::refusal& one : c.refusals) text.refused.push_back(choices::text_of(one, c.request));
  if (c.by_members())
    text.why.push_back(
        fmt::format("the {} products of the batch are computed one after the other", c.request.batch.count));
  if (c.has_finishing_pass()) text.why.emplace_back("the epilogue is a launch of its own");
  text.why.insert(text.why.end(), plan.launches.begin(), plan.launches.end());
  if (!text.code.empty()) text.why.push_back(fmt::format("kernel {}", fmt::join(text.code, ", ")));
  text.why.insert(text.why.end(), plan.alternatives.begin(), plan.alternatives.end());
  return text;
}

}  // namespace gemms

std::string to_text(const gemm_bound& bound) {
  if (std::isinf(bound.units)) return "no known bound";
  if (bound.units == 0 && bound.absolute == 0) return "0";
  const double times = bound.absolute / gemm_bound::underflow;
  return fmt::format("{:.7g} u |A||B| + {}2^-150", bound.units,
                     times == 1 ? "" : fmt::format("{:.10g} x ", times));
}

gemm_choice explain(const context& where, const gemm_problem& p, const gemm_options& options) {
  return described(choose(where, p, options));
}

}  // namespace antiphase
