// SPDX-License-Identifier: Apache-2.0
#include "src/attention/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <antiphase/attention/ladder.hpp>
#include <antiphase/core/error.hpp>

#include "src/attention/fp16/fp16_plan.hpp"
#include "src/attention/fp32_plan.hpp"
#include "src/names.hpp"

namespace antiphase::attentions {
namespace {

double never(const request&) { return 0; }

// The table
// -----------------------------------------------------------------------------------------------------------
constexpr device_features of_wgmma{.bulk_copies = true, .wgmma = true, .sm_90a = true};

constexpr candidate rows[] = {
    {.name = "fp16",
     .summary = "Tensor Cores, three products of FP16 parts for each",
     .needs = of_wgmma,
     .unsuited = fp16_unsuited,
     .seconds = fp16_seconds,
     .plan_for = plan_fp16},
    {.name = "fp32",
     .summary = "FP32 multiply-adds",
     .unsuited = fp32_unsuited,
     .seconds = fp32_seconds,
     .plan_for = plan_fp32},
    {.name = steps[0].name,
     .summary = steps[0].adds,
     .unsuited = naive_unsuited,
     .seconds = never,
     .plan_for = plan_naive},
    {.name = steps[1].name,
     .summary = steps[1].adds,
     .unsuited = tiled_unsuited,
     .seconds = never,
     .plan_for = plan_tiled},
    {.name = steps[2].name,
     .summary = steps[2].adds,
     .needs = {.cp_async = true},
     .unsuited = double_buffered_unsuited,
     .seconds = never,
     .plan_for = plan_double_buffered},
    {.name = steps[3].name,
     .summary = steps[3].adds,
     .needs = of_wgmma,
     .unsuited = roles_unsuited,
     .seconds = never,
     .plan_for = plan_roles},
    {.name = steps[4].name,
     .summary = steps[4].adds,
     .needs = of_wgmma,
     .unsuited = roles_unsuited,
     .seconds = never,
     .plan_for = plan_antiphase},
};

// Empty: the candidate takes the call.
std::string refusal_of(const candidate& c, const request& r) {
  if (r.empty()) return {};
  if (const auto missing = lacks(r.on.limits(), c.needs)) return *missing;
  return c.unsuited(r);
}

// The plan of a call whose softmax is there, after a launch that makes it from the logsumexp.
plan plan_from_logsumexp(const candidate& by, const request& r) {
  const auto planned = [&by, r](float* softmax) {
    request with = r;
    with.what.softmax = softmax;
    return by.plan_for(with);
  };
  const std::int64_t numbers = 2 * r.what.heads * r.query_rows();
  cutter counted({});
  counted.take<float>(numbers);
  const std::size_t own = counted.used();
  return {own + planned(nullptr).workspace, [planned, r, own, numbers](std::span<std::byte> workspace) {
            float* const softmax = cutter(workspace).take<float>(numbers);
            std::vector<launchable> all;
            if (numbers > 0) all.push_back(softmax_launch(r, softmax));
            for (launchable& l : planned(softmax).launches(workspace.subspan(own)))
              all.push_back(std::move(l));
            return all;
          }};
}

const candidate& cheapest(const request& r) {
  const candidate* best = nullptr;
  double least = 0;
  std::vector<std::string> refusals;
  for (const candidate& c : candidates()) {
    const double seconds = c.seconds(r);
    if (seconds == 0 && !r.empty()) continue;
    if (std::string not_it = refusal_of(c, r); !not_it.empty())
      refusals.push_back(fmt::format("{}: {}", c.name, not_it));
    else if (best == nullptr || seconds < least)
      best = &c, least = seconds;
  }
  if (best != nullptr) return *best;
  throw not_supported(fmt::format("no attention policy takes {}: {}", r.text(), fmt::join(refusals, "; ")));
}

}  // namespace

std::span<const candidate> candidates() { return rows; }

const step& find_step(std::string_view name) { return find_named(steps, "step of attention's ladder", name); }

choice choose(const executor& on, const problem& p, const gradients* back, std::string_view policy) {
  const request r = judged(on, p, back);
  const candidate* by = nullptr;
  if (policy == "auto") {
    by = &cheapest(r);
  } else {
    for (const candidate& c : candidates())
      if (c.name == policy) by = &c;
    if (by == nullptr) {
      std::vector<std::string> known{"auto"};
      for (const candidate& c : candidates()) known.emplace_back(c.name);
      refuse_name("attention policy", policy, known);
    }
    if (const std::string why = refusal_of(*by, r); !why.empty())
      throw not_supported(fmt::format("attention policy {} does not take {}: {}", by->name, r.text(), why));
  }
  choice c{r, by, policy != "auto", {}};
  if (!r.empty()) c.runs = r.from_logsumexp() ? plan_from_logsumexp(*by, r) : by->plan_for(r);
  return c;
}

std::vector<std::string> why(const choice& c) {
  if (c.asked) return {fmt::format("policy {} was asked for", c.by->name)};
  if (c.of.empty()) return {"there is nothing to compute"};
  return {fmt::format("it is predicted to take {:.3g} ms, no other policy less", 1e3 * c.by->seconds(c.of))};
}

std::vector<std::string> refused(const choice& c) {
  std::vector<std::string> all;
  if (c.asked || c.of.empty()) return all;
  for (const candidate& other : candidates()) {
    const double seconds = other.seconds(c.of);
    if (&other == c.by || seconds == 0) continue;
    const std::string not_it = refusal_of(other, c.of);
    all.push_back(fmt::format(
        "{}: {}", other.name,
        not_it.empty() ? fmt::format("it is predicted to take {:.3g} ms", 1e3 * seconds) : not_it));
  }
  return all;
}

}  // namespace antiphase::attentions
