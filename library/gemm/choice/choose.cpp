// SPDX-License-Identifier: Apache-2.0
// The choice among the policies of matrix products.
#include "library/gemm/choice/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "library/gemm/operands/checks.hpp"
#include "library/gemm/operands/finish/finish_plan.hpp"

namespace antiphase::gemms {
namespace {

using choices::text_of;

double bytes_of_c(const request& r) {
  return 4. * extent(r.problem.m()) * extent(r.problem.n()) * (r.problem.beta == 0 ? 1 : 2);
}

// Throws bad_request for invalid options. Returns the candidate that they name; null: auto.
const candidate* require_sensible(const gemm_options& options) {
  if (options.accuracy != precision::fp32 && options.accuracy != precision::strict)
    throw bad_request(fmt::format("accuracy is {}: expected precision::fp32 or precision::strict",
                                  static_cast<int>(options.accuracy)));
  if (options.if_weaker != weaker_bound::take && options.if_weaker != weaker_bound::refuse)
    throw bad_request(fmt::format("if_weaker is {}: expected weaker_bound::take or weaker_bound::refuse",
                                  static_cast<int>(options.if_weaker)));
  if (options.reproducible != reproducibility::by_shape &&
      options.reproducible != reproducibility::batch_invariant)
    throw bad_request(fmt::format(
        "reproducible is {}: expected reproducibility::by_shape or reproducibility::batch_invariant",
        static_cast<int>(options.reproducible)));
  const candidate* const asked = find_candidate(options.policy);
  const std::span<std::byte> w = options.workspace;
  if (!w.empty() && w.data() == nullptr)
    throw bad_request(fmt::format("the workspace is a null pointer: expected {} bytes", w.size()));
  if (const auto address = reinterpret_cast<std::uintptr_t>(w.data()); !w.empty() && address % 256 != 0)
    throw bad_request(fmt::format("the workspace is at address {:#x}: expected a multiple of 256", address));
  if (const auto address = reinterpret_cast<std::uintptr_t>(options.recomputed);
      address % alignof(std::uint64_t) != 0)
    throw bad_request(fmt::format("recomputed is at address {:#x}: expected a multiple of {}", address,
                                  alignof(std::uint64_t)));
  return asked;
}

// The request as the candidate sees it, reduced to what its kernel does: without the epilogue or the batch if
// those take further launches.
request reduced(const candidate& row, const request& r, std::int64_t member) {
  const bool finishes = r.epilogue.is_plain() || row.traits.finishes(r);
  if (!row.traits.batches && r.batch.count != 1) return r.member(member, finishes);
  return finishes ? r : r.unfinished();
}

std::string takes_no_pointers(const candidate&, const request&, const kernel&) {
  return fmt::format("it takes no arrays of pointers: policies {} do", names_with(&product_traits::pointers));
}
// Policies that take pointers apply all epilogues.
std::string stores_before_epilogue(const candidate&, const request&, const kernel&) {
  return fmt::format(
      "it stores sums in C before the epilogue, whose gradient reads C: policies {} do both at once",
      names_with(&product_traits::pointers));
}
std::string unknown_sums(const candidate&, const request& r, const kernel&) {
  return fmt::format(
      "nothing is guaranteed about how the Tensor Cores of {} round, which has compute capability {}; it "
      "runs if "
      "asked for",
      r.device().name, compute_capability(r.device()));
}
plan_or_misfit planned(const candidate& row, const request& r) {
  if (r.is_alone() || first_missing(r.features, row.needs) != nullptr) return choices::planned(row, r);
  if (r.batch.by_pointers() && !row.traits.pointers) return misfit{takes_no_pointers};
  if (!r.epilogue.is_plain() && !row.traits.finishes(r)) {
    if (r.input_is_c) return misfit{stores_before_epilogue};
    if (!finish_tiles_fit(r.problem, r.batch)) return misfit{many_tiles};
  }
  return row.plan_for(row, reduced(row, r, 0));
}

// The tuning's factor for the products that the candidate would launch.
double factor_of(const candidate& row, const request& r) {
  const std::int64_t count = row.traits.batches ? r.batch.count : 1;
  return r.tuning == nullptr ? 1
                             : r.tuning->factor(row.name, tuning_class_of(r.problem.m(), r.problem.n(),
                                                                          r.problem.k(), count));
}
// A cost model is fitted to one card and scaled by multiprocessors; another device may have less bandwidth
// or slower units per multiprocessor. So the roofline is a lower bound.
double seconds_of_launch(const candidate& row, const request& r, double factor) {
  const double by_model = factor * row.seconds(row, r);
  return row.ladder != nullptr
             ? by_model
             : std::max(by_model, roofline_of(r.machine(), row.traits.work, r.size()).seconds);
}
// Seconds of all launches, with the finishing pass. factor: the tuning's.
double seconds_of(const candidate& row, const request& r, double factor) {
  if (r.is_alone()) return seconds_of_launch(row, r, factor);
  const double members = extent(r.batch.count),
               again = predicted({.bytes = members * 2 * bytes_of_c(r)}, r.device());
  return (row.traits.batches ? 1 : members) * seconds_of_launch(row, reduced(row, r, 0), factor) +
         (r.epilogue.is_plain() || row.traits.finishes(r) ? 0 : again);
}

gemm_bound bound_of(const candidate& row, const device_limits& device, std::int64_t k) {
  return bound_of(row.traits.sums.value_or(sums_of(tensor_core_sums_of(device))), k);
}

[[noreturn]] void refuse_invariance(const choice& c) {
  std::string why = c.accuracy == precision::strict ? "precision strict adds up small C in slices of K" : "";
  for (const auto& refused : c.refusals)
    why += fmt::format("{}{}", &refused == c.refusals.data() ? "" : "; ", text_of(refused, c.request));
  throw not_supported(fmt::format("reproducible batch_invariant: nothing that keeps it can run: {}", why));
}

void take_asked(choice& c, const candidate& asked) {
  if (c.request.invariant && asked.traits.rows == row_bits::vary) {
    std::vector<std::string> keeping{"auto"};
    for (const row_bits bits : {row_bits::keep, row_bits::keep_if_asked})
      for (const candidate& row : candidates())
        if (row.traits.rows == bits) keeping.emplace_back(row.name);
    throw not_supported(fmt::format("policy {} does not keep reproducible batch_invariant: expected {}",
                                    asked.name, listed(keeping)));
  }
  plan_or_misfit found = planned(asked, c.request);
  if (const auto* why = std::get_if<misfit>(&found))
    throw not_supported(fmt::format("policy {}: {}", asked.name, text_of(asked, *why, c.request)));
  c.chosen = &asked;
  c.runs = std::get<choices::plan>(std::move(found));
  c.by_name = true;
}

// Takes the candidate next to the ladder with the least predicted time that can run; none for strict, whose
// order of additions they do not keep. One without an error bound runs only if asked for.
void take_next_to_ladder(choice& c) {
  const request& r = c.request;
  if (c.accuracy == precision::strict || !r.multiplies()) return;
  consider<request>(c, policies_next_to_ladder(),
                    [&](const candidate& row) -> std::optional<choice::prediction> {
                      if (r.invariant && (row.traits.rows != row_bits::keep || !row.traits.keeps(r)))
                        return std::nullopt;
                      const double factor = factor_of(row, r);
                      return choice::prediction{&row, seconds_of(row, r, factor), factor};
                    });
  take_fastest<request>(c, [&](const candidate& row, const request& of_call) -> plan_or_misfit {
    plan_or_misfit found = planned(row, of_call);
    if (std::holds_alternative<choices::plan>(found) && std::isinf(bound_of(row, r.device(), 1).units))
      return misfit{unknown_sums};
    return found;
  });
}

// The ladder's last step that the device has room for.
void take_from_ladder(choice& c) {
  const std::span<const candidate> all = candidates();
  const std::size_t first = policies_next_to_ladder().size();
  for (std::size_t i = all.size(); i-- > first;) {
    plan_or_misfit found = planned(all[i], c.request);
    if (choices::plan* const made = std::get_if<choices::plan>(&found)) {
      c.chosen = &all[i], c.runs = std::move(*made);
      return;
    }
  }
  take_asked(c, all[first]);  // says why even the first is refused
}

// Nothing to multiply: the finishing pass computes the whole result, which keeps any bound.
launch_counts run_finish(const finish_plan& p, const choices::work& w) { return run(w.context, p, w.queue); }
void describe_finish(const finish_plan& p, choices::description& text) {
  text.name = "finish";
  text.tile_m = finish_tile.m, text.tile_n = finish_tile.n;
  text.blocks = finish_blocks(p.problem, p.batch);
}
void take_finish(choice& c) {
  const request& r = c.request;
  c.chosen = &candidates()[policies_next_to_ladder().size()];
  if (!finish_tiles_fit(r.problem, r.batch)) throw not_supported(many_tiles(*c.chosen, r, {}));
  c.runs =
      choices::plan::of_type<run_finish, describe_finish>(finish_plan{r.problem, r.batch, r.epilogue}, 0);
  c.only_finishes = true;
}

std::string_view name(precision p) { return p == precision::fp32 ? "fp32" : "strict"; }

}  // namespace

const candidate* find_candidate(std::string_view name) {
  const policy_info* const found = find_policy(name);
  return found == nullptr ? nullptr : &candidates()[static_cast<std::size_t>(found - policies().data())];
}

request request_for(const context& where, const problem& p, const gemm_options& options) {
  request r{.context = where,
            .features = features_of(where.limits()),
            .problem = without_idle_strides(p),
            .batch = options.batch,
            .epilogue = options.epilogue,
            .invariant = options.reproducible == reproducibility::batch_invariant,
            .tuning = tuning_for(where.limits(), options.tuning)};
  epilogue& e = r.epilogue;
  if (is_c(e.residual, e.residual_stride, p, r.batch)) e.residual = {};  // the same as beta * C
  r.input_is_c = is_gradient(e.function) && is_c(e.input, e.input_stride, p, r.batch);
  return r;
}

choice choose(const context& where, const problem& p, const gemm_options& options) {
  const candidate* const asked = require_sensible(options);
  require_sensible(p, options.batch, options.epilogue);
  choice c{{.request = request_for(where, p, options)}, {}, {}, options.accuracy, options.tuning};
  const request& r = c.request;
  if (!r.multiplies() && !r.is_alone())
    take_finish(c);
  else if (asked != nullptr && (asked->ladder != nullptr || r.multiplies()))
    take_asked(c, *asked);
  else if (asked == nullptr)
    take_next_to_ladder(c);
  if (c.chosen == nullptr) {
    if (r.invariant && r.multiplies()) refuse_invariance(c);
    take_from_ladder(c);
  }
  c.bound = bound_of(*c.chosen, where.limits(), r.k());
  c.asked = bound_of(options.accuracy, where.limits(), r.k());
  if (options.if_weaker == weaker_bound::refuse && !keeps(c.bound, c.asked))
    throw not_supported(fmt::format(
        "precision {} stands for |C - AB| <= {}, what would run on {} keeps {}: refused, as if_weaker says",
        name(options.accuracy), to_text(c.asked), where.limits().name, to_text(c.bound)));
  return c;
}

double choice::seconds() const {
  const gemms::request& r = request;
  if (!only_finishes) return seconds_of(*chosen, r, factor_of(*chosen, r));
  return predicted({.bytes = extent(r.batch.count) * 2 * bytes_of_c(r)}, r.device());
}
bool choice::by_members() const {
  return !chosen->traits.batches && request.batch.count != 1 && !only_finishes;
}
bool choice::has_finishing_pass() const {
  return !request.epilogue.is_plain() && !chosen->traits.finishes(request) && !only_finishes;
}
choices::plan choice::plan_of(std::int64_t member) const {
  return std::get<choices::plan>(chosen->plan_for(*chosen, reduced(*chosen, request, member)));
}

// The most that any candidate takes which auto may choose for this shape: so the offer is monotonic in the
// problem's size, whichever candidate a larger problem takes.
std::size_t choice::offers() const {
  const auto offer = [&](const candidate& row, const choices::plan& made) {
    return row.traits.offer != nullptr ? row.traits.offer(request) : made.workspace;
  };
  if (by_name) return offer(*chosen, runs);
  std::size_t most = runs.workspace;
  for (const candidate& row : policies_next_to_ladder())
    if (row.traits.offers_always && !considered.empty() &&
        first_missing(request.features, row.needs) == nullptr)
      most = std::max(most, row.traits.offer(request));
  for (const prediction& one : considered) {
    const plan_or_misfit found = planned(*one.candidate, request);
    if (const auto* const possible = std::get_if<choices::plan>(&found))
      most = std::max(most, offer(*one.candidate, *possible));
  }
  return most;
}

}  // namespace antiphase::gemms
