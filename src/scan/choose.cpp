// SPDX-License-Identifier: Apache-2.0
#include "src/scan/choose.hpp"
#include "src/per_process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <array>
#include <iterator>
#include <limits>

#include "src/scan/columns/columns_plan.hpp"
#include "src/scan/passes/passes_plan.hpp"
#include "src/scan/ring/ring_plan.hpp"
#include "src/scan/wave/wave_plan.hpp"

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
  return first_missing(features_of(r.on.limits()), needs) != nullptr;
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

bool ring_pays(const request& r) { return r.keys != nullptr || (on_gpu(r) && bytes_of(r.what) > few_bytes); }
std::optional<int> never(const candidate&, const request&) { return std::nullopt; }
std::optional<int> cost_of_wave(const candidate&, const request& r) {
  if (!on_gpu(r) || r.empty() || r.keys != nullptr) return std::nullopt;
  return of_wave;
}
// CPU executor only, where every thread of a block costs time: the smallest block that holds a line in one
// tile.
std::optional<int> cost_of_short_lines(const candidate& c, const request& r) {
  if (r.where() != target::cpu || r.empty() || r.keys != nullptr || r.lines() < 2) return std::nullopt;
  if (r.what.length > c.how->how.tile(size_of(r.what.type))) return std::nullopt;
  return of_short_lines + static_cast<int>(c.how - short_line_steps);
}
// Pays where a ring does. Otherwise it ranks after several passes, which lack 16-bit floats and wider sums.
std::optional<int> cost_of_columns(const candidate&, const request& r) {
  if (r.empty() || r.keys != nullptr || r.what.inner == 1) return std::nullopt;
  return ring_pays(r) ? of_paying_ring : of_ring;
}
std::optional<int> cost_of_passes(const candidate&, const request& r) {
  return r.keys != nullptr ? std::nullopt : std::optional<int>(of_passes);
}
std::optional<int> cost_of_ring(const candidate& c, const request& r) {
  if (r.empty() && r.keys == nullptr) return std::nullopt;
  // Where TMA can copy tiles, the ring filled by threads is for comparison only.
  if ((c.how->ring.mover == tile_mover::threads) != lacks_feature(r, needs_of_bulk_rings))
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

// Error bound in units, as in docs/accuracy.md. Sums of floats: the same at any length. Integers wrap around,
// minima and maxima are exact. Products of floats have no such bound, only a relative one.
double promise_of(const request& r) {
  if (!is_floating(r.what.type) || is_ordered(r.what.operation)) return 0;
  return r.what.operation == scan_operation::sum ? 80 : std::numeric_limits<double>::infinity();
}

// The table
// -----------------------------------------------------------------------------------------------------------
candidate row_of(const step& s) {
  candidate c{.name = s.name,
              .summary = s.adds,
              .how = &s,
              .needs = {},
              .suits = passes_suit,
              .cost = never,
              .workspace = passes_workspace,
              .lasting = none_lasting,
              .plan_for = plan_passes,
              .promise = promise_of,
              .words = passes_words};
  if (is_one_wave(s)) {
    c.needs = needs_of_wave;
    c.suits = wave_suits, c.workspace = wave_workspace, c.plan_for = plan_wave, c.words = wave_words;
    c.cost = cost_of_wave;
    c.lasting = most_wave_workspace;
  } else if (is_single_pass(s)) {
    c.needs = s.ring.mover == tile_mover::threads ? needs_of_rings_by_threads : needs_of_bulk_rings;
    c.suits = ring_suits, c.workspace = ring_workspace, c.plan_for = plan_ring, c.words = ring_words;
    if (!is_short_ring(s)) c.cost = cost_of_ring, c.lasting = ring_workspace;
  } else if (is_for_columns(s)) {
    c.needs = needs_of_columns;
    c.suits = columns_suit, c.workspace = columns_workspace, c.plan_for = plan_columns,
    c.words = columns_words;
    c.cost = cost_of_columns;
    c.lasting = columns_workspace;
  } else if (is_for_short_lines(s)) {
    c.cost = cost_of_short_lines;
  } else if (has_all_types(s)) {
    c.cost = cost_of_passes;
    c.lasting = lasting_of_passes;
  }
  return c;
}

// Sentences
// -----------------------------------------------------------------------------------------------------------
std::string words_of(const candidate& c, misfit why, const request& r) {
  if (why == misfit::feature) return lacks(r.on.limits(), c.needs).value();
  if (why == misfit::no_segments) return "it has no segments";
  return c.words(why, *c.how, r);
}

// Why a candidate that suits costs more than the chosen one.
std::string dearer(const request& r) {
  if (on_gpu(r))
    return fmt::format("lines of {} bytes in all are too few for one pass to pay", bytes_of(r.what));
  return "on the CPU executor reading twice costs nothing that counts, and the ring's many threads do";
}

// Candidates that `auto` might have been expected to take. If it takes a wave or blocks for short lines, more
// expensive ones are not mentioned.
std::vector<std::string> refusals(const request& r, const candidate* chosen) {
  const int cost = chosen != nullptr ? chosen->cost(*chosen, r).value() : of_ring;
  std::vector<std::string> all;
  for (const candidate& c : candidates()) {
    const std::optional<int> other = c.cost(c, r);
    if (&c == chosen || !other) continue;
    if (cost < of_paying_ring && other.value() > cost) continue;
    if (const misfit not_it = judge(c, r); not_it != misfit::none)
      all.push_back(fmt::format("{}: {}", c.name, words_of(c, not_it, r)));
    else if (is_single_pass(*c.how) || is_for_columns(*c.how))
      all.push_back(fmt::format("{}: {}", c.name, dearer(r)));
  }
  return all;
}

[[noreturn]] void refuse(const candidate& c, misfit why, const request& r) {
  if (why == misfit::no_segments)
    throw not_supported(fmt::format(
        "scan policy {} has no segments: expected auto, single-pass or single-pass-async", c.name));
  throw not_supported(
      fmt::format("scan policy {} does not take this problem: {}", c.name, words_of(c, why, r)));
}

// Choices
// -----------------------------------------------------------------------------------------------------------
choice made(const request& r, const candidate& by, bool asked) {
  choice c{.of = r, .by = &by, .asked = asked};
  if (!r.empty()) c.runs = by.plan_for(*by.how, r);
  return c;
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
const candidate& candidate_of(const step& how) {
  return *std::ranges::find(candidates(), how.name, &candidate::name);
}

misfit judge(const candidate& c, const request& r) {
  const misfit kernels = c.suits(*c.how, r);
  if (kernels == misfit::no_segments || r.empty()) return kernels;
  return lacks_feature(r, c.needs) ? misfit::feature : kernels;
}

const candidate& cheapest(const request& r) {
  const candidate *best = nullptr, *last = nullptr;
  int least = 0;
  for (const candidate& c : candidates()) {
    const std::optional<int> cost = c.cost(c, r);
    if (!cost) continue;
    last = &c;
    if ((best != nullptr && *cost >= least) || judge(c, r) != misfit::none) continue;
    best = &c;
    least = *cost;
  }
  if (best != nullptr) return *best;
  if (r.empty()) return *last;  // an empty problem: any candidate will do
  throw not_supported(
      fmt::format("no scan policy takes this problem: {}", fmt::join(refusals(r, nullptr), "; ")));
}

choice choose(const executor& on, const problem& p, const scan_keys* keys, std::string_view policy) {
  if (policy != "auto") return choose(on, p, keys, find_policy(policy));
  const request r = judged(on, p, keys);
  return made(r, cheapest(r), false);
}
choice choose(const executor& on, const problem& p, const scan_keys* keys, const step& how) {
  const request r = judged(on, p, keys);
  const candidate& by = candidate_of(how);
  if (const misfit why = judge(by, r); why != misfit::none) refuse(by, why, r);
  return made(r, by, true);
}

std::vector<std::string> why(const choice& c) {
  const request& r = c.of;
  const step& how = *c.by->how;
  if (c.asked) return {fmt::format("policy {} was asked for", c.by->name)};
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
                    r.lines(), r.what.length, how.how.threads == 1 ? "one" : "a warp")};
  return {
      "it takes lines of any length and any axis; those of several tiles in several kernels, which read the "
      "array twice"};
}
std::vector<std::string> refused(const choice& c) {
  return c.asked || c.of.empty() ? std::vector<std::string>() : refusals(c.of, c.by);
}

std::size_t lasting_workspace(const problem& p, const scan_keys* keys) {
  std::size_t most = 0;
  for (const candidate& c : candidates()) most = std::max(most, c.lasting(*c.how, p, keys));
  return most;
}

}  // namespace antiphase::scans
