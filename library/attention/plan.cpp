// SPDX-License-Identifier: Apache-2.0
#include "library/attention/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <antiphase/core/error.hpp>

#include "core/names.hpp"
#include "library/attention/fp16/fp16_plan.hpp"
#include "library/attention/fp32/fp32_plan.hpp"

namespace antiphase::attentions {
namespace {

using choices::plan;
using unsuited = std::string (*)(const request&);
using planner = plan (*)(const request&);

// A call whose softmax is missing: a launch makes it from the logsumexp, before those of Plan.
struct call_from_logsumexp {
  attentions::problem problem;
  std::optional<gradients> back;
};
std::int64_t softmax_numbers(const request& r) { return 2 * r.problem.heads * r.query_rows(); }
std::size_t softmax_bytes(const request& r) {
  cutter counted({});
  counted.take<float>(softmax_numbers(r));
  return counted.used();
}
template <planner Plan>
launch_counts run_from_logsumexp(const call_from_logsumexp& p, const choices::work& w) {
  request r{w.context.runs_on(), p.problem, p.back};
  const std::size_t own = softmax_bytes(r);
  launch_counts all;
  float* const softmax = cutter(w.memory).take<float>(softmax_numbers(r));
  if (softmax_numbers(r) > 0) all += launch_all({softmax_launch(r, softmax)}, w);
  r.problem.softmax = softmax;
  return all += Plan(r).launch({w.context, w.memory.subspan(own), w.recomputed, w.queue});
}

// The plan of a policy whose kernels read a logsumexp as well.
template <unsuited Unsuited, planner Plan>
plan_or_misfit planned_alone_by(const candidate&, const request& r) {
  if (!Unsuited(r).empty())
    return misfit{[](const candidate&, const request& of_call, const kernel&) { return Unsuited(of_call); }};
  return Plan(r);
}

template <unsuited Unsuited, planner Plan> plan_or_misfit planned_by(const candidate& c, const request& r) {
  plan_or_misfit alone = planned_alone_by<Unsuited, Plan>(c, r);
  if (!r.from_logsumexp() || std::holds_alternative<misfit>(alone)) return alone;
  return plan::of_type<run_from_logsumexp<Plan>, describe_nothing<call_from_logsumexp>>(
      call_from_logsumexp{r.problem, r.back}, softmax_bytes(r) + std::get<plan>(alone).workspace);
}

template <double (*Seconds)(const request&)> double seconds_by(const candidate&, const request& r) {
  return Seconds(r);
}
double unknown(const candidate&, const request&) { return 0; }  // auto does not consider it
bool is_considered(const candidate& row, const request& r) { return r.empty() || row.seconds(row, r) != 0; }

// The table
// -----------------------------------------------------------------------------------------------------------
// Unlike products, without clusters.
constexpr device_features needs_of_wgmma{.bulk_copies = true, .wgmma = true, .sm_90a = true};

constexpr candidate step_row(const step& s, device_features needs, decltype(candidate::plan_for) plan_for) {
  return {.name = s.name,
          .summary = s.adds,
          .needs = needs,
          .ladder = &s,
          .considered = is_considered,
          .seconds = unknown,
          .plan_for = plan_for};
}

constexpr candidate rows[] = {
    {.name = "fp16",
     .summary = "Tensor Cores, three products of FP16 parts for each",
     .needs = needs_of_wgmma,
     .considered = is_considered,
     .seconds = seconds_by<fp16_seconds>,
     .plan_for = planned_by<fp16_unsuited, plan_fp16>},
    {.name = "fp16-short",
     .summary = "the same in one kernel, which splits what it multiplies: for short sequences",
     .needs = needs_of_wgmma,
     .considered = is_considered,
     .seconds = seconds_by<short_seconds>,
     .plan_for = planned_alone_by<short_unsuited, plan_short>},
    {.name = "fp32",
     .summary = "FP32 multiply-adds",
     .considered = is_considered,
     .seconds = seconds_by<fp32_seconds>,
     .plan_for = planned_by<fp32_unsuited, plan_fp32>},
    step_row(steps[0], {}, planned_by<naive_unsuited, plan_naive>),
    step_row(steps[1], {}, planned_by<tiled_unsuited, plan_tiled>),
    step_row(steps[2], {.cp_async = true}, planned_by<double_buffered_unsuited, plan_double_buffered>),
    step_row(steps[3], needs_of_wgmma, planned_by<roles_unsuited, plan_roles>),
    step_row(steps[4], needs_of_wgmma, planned_by<roles_unsuited, plan_antiphase>),
};

plan_or_misfit planned(const candidate& row, const request& r) {
  return r.empty() ? plan_or_misfit(plan()) : choices::planned(row, r);
}

void take_fastest(choice& c) {
  consider<request>(c, candidates(), [&](const candidate& row) {
    return std::optional(choice::prediction{&row, row.seconds(row, c.request)});
  });
  if (choices::take_fastest<request>(c, planned)) return;
  std::vector<std::string> refusals;
  for (const candidate& row : candidates())
    for (const choice::refusal& one : c.refusals)
      if (one.candidate == &row) refusals.push_back(choices::text_of(one, c.request));
  throw not_supported(
      fmt::format("no attention policy takes {}: {}", c.request.text(), fmt::join(refusals, "; ")));
}

void take_asked(choice& c, std::string_view policy) {
  c.by_name = true;
  c.chosen = choices::find(candidates(), policy);
  if (c.chosen == nullptr) {
    std::vector<std::string> known = names_of(candidates());
    known.emplace(known.begin(), "auto");
    refuse_name("attention policy", policy, known);
  }
  plan_or_misfit found = planned(*c.chosen, c.request);
  if (const misfit* const why = std::get_if<misfit>(&found))
    throw not_supported(fmt::format("attention policy {} does not take {}: {}", policy, c.request.text(),
                                    choices::text_of(*c.chosen, *why, c.request)));
  c.runs = std::get<plan>(std::move(found));
}

}  // namespace

std::span<const candidate> candidates() { return rows; }

const step& find_step(std::string_view name) { return find_named(steps, "step of attention's ladder", name); }

launch_counts launch_all(const std::vector<launchable>& launches, const choices::work& w) {
  const device_limits& limits = w.context.limits();
  for (const launchable& l : launches)
    if (const auto why = refusal(limits, l.code)) throw not_supported(*why);
  launch_counts all;
  for (const launchable& l : launches) all += w.launch(l.code, l.grid, l.arguments.get());
  return all;
}

choice choose(const executor& on, const problem& p, const gradients* back, std::string_view policy) {
  choice c{.request = validated(on, p, back)};
  if (policy == "auto")
    take_fastest(c);
  else
    take_asked(c, policy);
  return c;
}

std::vector<std::string> why(const choice& c) {
  if (c.by_name) return {choices::asked_for(c)};
  if (c.request.empty()) return {"there is nothing to compute"};
  return {fmt::format("it is predicted to take {:.3g} ms, no other policy less",
                      1e3 * c.chosen->seconds(*c.chosen, c.request))};
}

std::vector<std::string> refused(const choice& c) {
  std::vector<std::string> all;
  if (c.by_name || c.request.empty()) return all;
  for (const candidate& other : candidates()) {
    const double seconds = other.seconds(other, c.request);
    if (&other == c.chosen || seconds == 0) continue;
    const plan_or_misfit found = planned(other, c.request);
    const misfit* const why_not = std::get_if<misfit>(&found);
    all.push_back(fmt::format("{}: {}", other.name,
                              why_not != nullptr
                                  ? choices::text_of(other, *why_not, c.request)
                                  : fmt::format("it is predicted to take {:.3g} ms", 1e3 * seconds)));
  }
  return all;
}

}  // namespace antiphase::attentions
