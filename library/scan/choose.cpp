// SPDX-License-Identifier: Apache-2.0
#include "library/scan/choose.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <array>
#include <iterator>
#include <limits>

#include "core/per_process.hpp"
#include "library/scan/columns/columns_plan.hpp"
#include "library/scan/element_bits.hpp"
#include "library/scan/passes/passes_plan.hpp"
#include "library/scan/ring/ring_plan.hpp"
#include "library/scan/wave/wave_plan.hpp"

namespace antiphase::scans {
namespace {

constexpr std::int64_t few_bytes = 1 << 16;  // up to this size the ring does not pay on a GPU

std::int64_t bytes_of(const problem& p) {
  return p.outer * p.length * p.inner * static_cast<std::int64_t>(size_of(p.type));
}
bool on_gpu(const request& r) { return r.where() == target::cuda; }

// Several passes run on every device. Rings with bulk copies are compiled for sm_90a, so newer GPUs cannot
// run them, though they have bulk copies.
constexpr device_features needs_of_bulk_rings{.bulk_copies = true, .sm_90a = true},
    needs_of_rings_by_threads{.cp_async = true}, needs_of_wave{.sm_80 = true},
    needs_of_columns{.sm_80 = true};
bool lacks_feature(const request& r, const device_features& needs) {
  return first_missing(features_of(r.executor.limits()), needs) != nullptr;
}

// Costs
// -----------------------------------------------------------------------------------------------------------
// Cheapest first: a wave, blocks for short lines, a ring that pays, several passes, a ring that does not.
enum rank {
  of_wave,
  of_short_lines,
  of_paying_ring = of_short_lines + static_cast<int>(std::size(short_line_steps)),
  of_passes,
  of_ring
};

bool ring_pays(const request& r) {
  return r.keys != nullptr || (on_gpu(r) && bytes_of(r.problem) > few_bytes);
}
std::optional<int> never(const candidate&, const request&) { return std::nullopt; }
std::optional<int> cost_of_wave(const candidate&, const request& r) {
  if (!on_gpu(r) || r.empty() || r.keys != nullptr) return std::nullopt;
  return of_wave;
}
// CPU executor only, where every thread of a block costs time: the smallest block that holds a line in one
// tile.
std::optional<int> cost_of_short_lines(const candidate& c, const request& r) {
  if (r.where() != target::cpu || r.empty() || r.keys != nullptr || r.lines() < 2) return std::nullopt;
  if (r.problem.length > c.ladder->policy.tile(size_of(value_of(r.problem)))) return std::nullopt;
  return of_short_lines + static_cast<int>(c.ladder - short_line_steps);
}
// Pays where a ring does. Otherwise it ranks after several passes, which lack 16-bit floats and wider sums.
std::optional<int> cost_of_columns(const candidate&, const request& r) {
  if (r.empty() || r.keys != nullptr || r.problem.inner == 1) return std::nullopt;
  return ring_pays(r) ? of_paying_ring : of_ring;
}
std::optional<int> cost_of_passes(const candidate&, const request& r) {
  return r.keys != nullptr ? std::nullopt : std::optional<int>(of_passes);
}
std::optional<int> cost_of_ring(const candidate& c, const request& r) {
  if (r.empty() && r.keys == nullptr) return std::nullopt;
  // Where TMA can copy tiles, the ring filled by threads is for comparison only.
  if ((c.ladder->ring.mover == tile_mover::threads) != lacks_feature(r, needs_of_bulk_rings))
    return std::nullopt;
  return ring_pays(r) ? of_paying_ring : of_ring;
}

// Workspaces that last
// -----------------------------------------------------------------------------------------------------------
// for steps that `auto` takes for one-tile lines only, or never
std::size_t none_lasting(const step&, const problem&, const scan_keys*) { return 0; }
std::size_t lasting_of_passes(const step& how, const problem& p, const scan_keys* keys) {
  return keys != nullptr ? 0 : passes_workspace(how, p, keys);
}

// The table
// -----------------------------------------------------------------------------------------------------------
std::string misfit_text(const candidate& row, const request& r, const kernel&) {
  const misfit why = misfit_of(row, r);
  if (why == misfit::feature) return lacks(r.device(), row.needs).value();
  if (why == misfit::no_segments) return "it has no segments";
  return row.traits.text(why, *row.ladder, r);
}
plan_or_misfit plan_or_why_not(const candidate& row, const request& r) {
  if (misfit_of(row, r) != misfit::none) return choices::misfit<request>{misfit_text};
  return r.empty() ? choices::plan() : row.traits.plan_for(*row.ladder, r);
}

candidate row_of(const step& s) {
  candidate c{
      .name = s.name,
      .summary = s.adds,
      .ladder = &s,
      .considered = [](const candidate& row,
                       const request& r) { return row.traits.rank(row, r).has_value(); },
      .seconds = [](const candidate& row,
                    const request& r) { return static_cast<double>(row.traits.rank(row, r).value()); },
      .plan_for = plan_or_why_not,
      .traits = {.suits = passes_suit,
                 .rank = never,
                 .workspace = passes_workspace,
                 .lasting = none_lasting,
                 .plan_for = plan_passes,
                 .text = passes_words}};
  scan_traits& t = c.traits;
  if (is_one_wave(s)) {
    c.needs = needs_of_wave;
    t = {wave_suits, cost_of_wave, wave_workspace, most_wave_workspace, plan_wave, wave_words};
  } else if (is_single_pass(s)) {
    c.needs = s.ring.mover == tile_mover::threads ? needs_of_rings_by_threads : needs_of_bulk_rings;
    t = {ring_suits, never, ring_workspace, none_lasting, plan_ring, ring_words};
    if (!is_short_ring(s)) t.rank = cost_of_ring, t.lasting = ring_workspace;
  } else if (is_for_columns(s)) {
    c.needs = needs_of_columns;
    t = {columns_suit, cost_of_columns, columns_workspace, columns_workspace, plan_columns, columns_words};
  } else if (is_for_short_lines(s)) {
    t.rank = cost_of_short_lines;
  } else if (has_all_types(s)) {
    t.rank = cost_of_passes, t.lasting = lasting_of_passes;
  }
  return c;
}

// Sentences
// -----------------------------------------------------------------------------------------------------------
// Why a candidate that suits costs more than the chosen one.
std::string why_slower(const request& r) {
  if (on_gpu(r))
    return fmt::format("lines of {} bytes in all are too few for one pass to pay", bytes_of(r.problem));
  return "on the CPU executor reading twice costs nothing that counts, and the ring's many threads do";
}

// Candidates that `auto` might have been expected to take. If it takes a wave or blocks for short lines, more
// expensive ones are not mentioned.
std::vector<std::string> refusals(const request& r, const candidate* chosen) {
  const int rank = chosen != nullptr ? chosen->traits.rank(*chosen, r).value() : of_ring;
  std::vector<std::string> all;
  for (const candidate& row : candidates()) {
    const std::optional<int> other = row.traits.rank(row, r);
    if (&row == chosen || !other) continue;
    if (rank < of_paying_ring && other.value() > rank) continue;
    if (misfit_of(row, r) != misfit::none)
      all.push_back(fmt::format("{}: {}", row.name, misfit_text(row, r, {})));
    else if (is_single_pass(*row.ladder) || is_for_columns(*row.ladder))
      all.push_back(fmt::format("{}: {}", row.name, why_slower(r)));
  }
  return all;
}

}  // namespace

std::span<const candidate> candidates() {
  using all_rows =
      std::array<candidate, std::size(steps) + std::size(short_line_steps) + std::size(column_steps)>;
  static constinit made_once<all_rows> all;
  return all.get([] {
    all_rows rows{};
    auto after = std::transform(std::begin(steps), std::end(steps), rows.begin(), row_of);
    after = std::transform(std::begin(short_line_steps), std::end(short_line_steps), after, row_of);
    std::transform(std::begin(column_steps), std::end(column_steps), after, row_of);
    return rows;
  });
}
const candidate& candidate_of(const step& s) { return *choices::find(candidates(), s.name); }

misfit misfit_of(const candidate& c, const request& r) {
  const misfit kernels = c.traits.suits(*c.ladder, r);
  if (kernels == misfit::no_segments || r.empty()) return kernels;
  return lacks_feature(r, c.needs) ? misfit::feature : kernels;
}

choice choose(const executor& on, const problem& p, const scan_keys* keys, std::string_view policy) {
  if (policy != "auto") return choose(on, p, keys, find_policy(policy));
  choice c{.request = validated(on, p, keys)};
  consider<request>(c, candidates(), [&](const candidate& row) {
    return std::optional(choice::prediction{&row, row.seconds(row, c.request)});
  });
  if (choices::take_fastest<request>(c, plan_or_why_not)) return c;
  if (!c.request.empty())
    throw not_supported(
        fmt::format("no scan policy takes this problem: {}", fmt::join(refusals(c.request, nullptr), "; ")));
  if (!c.considered.empty())
    c.chosen = c.considered.front().candidate;  // nothing to scan: any candidate will do
  return c;
}
choice choose(const executor& on, const problem& p, const scan_keys* keys, const step& s) {
  choice c{.request = validated(on, p, keys), .chosen = &candidate_of(s), .by_name = true};
  plan_or_misfit made = plan_or_why_not(*c.chosen, c.request);
  if (auto* const taken = std::get_if<choices::plan>(&made)) {
    c.runs = std::move(*taken);
    return c;
  }
  if (misfit_of(*c.chosen, c.request) == misfit::no_segments)
    throw not_supported(fmt::format(
        "scan policy {} has no segments: expected auto, single-pass or single-pass-async", s.name));
  throw not_supported(fmt::format("scan policy {} does not take this problem: {}", s.name,
                                  misfit_text(*c.chosen, c.request, {})));
}

// Error bound in units, as in docs/use/accuracy.md. Sums of floats: the same at any length. Integers wrap
// around, minima and maxima are exact. Products of floats have no such bound, only a relative one.
double error_units_of(const request& r) {
  if (!is_floating(r.problem.type) || r.problem.operation == scan_operation::min ||
      r.problem.operation == scan_operation::max)
    return 0;
  return r.problem.operation == scan_operation::sum ? 80 : std::numeric_limits<double>::infinity();
}

std::vector<std::string> why(const choice& c) {
  const request& r = c.request;
  const step& how = *c.chosen->ladder;
  if (c.by_name) return {choices::asked_for(c)};
  if (r.keys != nullptr) return {"segments are scanned in a single pass only"};
  if (r.empty()) return {"there is nothing to scan"};
  if (is_one_wave(how)) return {"the line is short enough for the registers of blocks that run all at once"};
  if (is_single_pass(how) || is_for_columns(how))
    return {passes_suit(find_step("items"), r) == misfit::none ? "it reads the array once"
                                                               : "no other step has kernels for this"};
  if (is_for_short_lines(how))
    return {
        fmt::format("{} lines of {} elements, and on the CPU executor every thread of a block costs time: {} "
                    "is enough for a line",
                    r.lines(), r.problem.length, how.policy.threads == 1 ? "one" : "a warp")};
  return {
      "it takes lines of any length and any axis; those of several tiles in several kernels, which read the "
      "array twice"};
}
std::vector<std::string> refused(const choice& c) {
  return c.by_name || c.request.empty() ? std::vector<std::string>() : refusals(c.request, c.chosen);
}

std::size_t lasting_workspace(const problem& p, const scan_keys* keys) {
  std::size_t most = 0;
  for (const candidate& c : candidates()) most = std::max(most, c.traits.lasting(*c.ladder, p, keys));
  return most;
}

}  // namespace antiphase::scans
