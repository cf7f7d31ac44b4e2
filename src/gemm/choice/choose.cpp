// SPDX-License-Identifier: Apache-2.0
// The table of candidates, and the choice among them.
#include "src/gemm/choice/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/gemm/cost.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "src/gemm/choice/prepared.hpp"
#include "src/gemm/fp16/split_pass.hpp"
#include "src/gemm/fp32/ladder_plan.hpp"
#include "src/gemm/operands/checks.hpp"
#include "src/gemm/operands/cost_terms.hpp"
#include "src/memo.hpp"
#include "src/per_process.hpp"

namespace antiphase::gemms {
namespace {

using reason = objection::reason;

constexpr device_features of_wgmma{.bulk_copies = true, .clusters = true, .wgmma = true, .sm_90a = true};

// The certificate never holds for lines with up to four products, so every output would be recomputed.
bool is_certain(const candidate&, const request& r) { return r.k() > sparse_nonzeros; }
bool finishes_all(const request&) { return true; }

double extent(std::int64_t e) { return static_cast<double>(e); }
int multiprocessors_of(const request& r) { return gemms::multiprocessors_of(r.device()); }
double bytes_stored(const request& r) {
  return 4. * static_cast<double>(r.what.m()) * static_cast<double>(r.what.n());
}
double bytes_of_c(const request& r) { return bytes_stored(r) * (r.what.beta == 0 ? 1 : 2); }

// The division of K depends on these alone. Searching for it is the longest part of judging a call, so each
// thread caches 64 results.
constexpr std::size_t request_words = 9,
                      device_words = std::tuple_size_v<decltype(numbers_of(device_limits{}))>;
template <class Choice> using division_memo = memo<request_words + device_words, Choice, 64>;
division_memo<int>::key division_key(const request& r) {
  const auto word = [](auto x) { return static_cast<std::uint64_t>(x); };
  division_memo<int>::key all{word(r.what.m()), word(r.what.n()), word(r.what.k()), word(r.of.count),
                              word(r.what.beta != 0), word(r.invariant), word(r.where.kind()),
                              word(r.after.is_plain()),
                              // stands for the device's name, on which the cost models depend
                              reinterpret_cast<std::uintptr_t>(&costs::models_of(r.device()))};
  std::ranges::copy(numbers_of(r.device()), all.begin() + request_words);
  return all;
}

// Sums in FP64
// -----------------------------------------------------------------------------------------------------------
// Slow FP64 is considered only where Tensor Cores have known sums, so that predictions decide between them;
// elsewhere the FP32 ladder runs.
bool may_be_doubles(const request& r) {
  return r.has.fast_fp64 || (!r.invariant && tensor_core_sums_of(r.device()) != tensor_core_sums::unknown);
}
// Seconds of the FP64 units of devices with few of them; operations_of_product: multiply-adds and conversions
// of operands. One more per output: the conversion of the result.
double slow_fp64(const request& r, double operations_of_product) {
  if (r.has.fast_fp64) return 0;
  const double outputs = extent(r.of.count) * extent(r.what.m()) * extent(r.what.n());
  const double rate = rates_of(r.device()).fp64 * multiprocessors_of(r) * r.machine().clock.value;
  return outputs * (operations_of_product * extent(r.k()) + 1) / rate;
}
bool few_values_of_k(const candidate&, const request& r) {
  return r.what.k() <= short_k && may_be_doubles(r);
}
judged_plan plan_short_product(const candidate&, const request& r) {
  if (r.what.k() > short_k) return objection{reason::long_k};
  const kernel* const with = short_kernel(r.where.kind(), r.after);
  if (with == nullptr) return objection{reason::no_kernel};
  if (shortage_of(r.device(), *with) != shortage::none) return objection{reason::does_not_fit, *with};
  if (!short_tiles_fit(r.what, r.of)) return objection{reason::many_tiles};
  return plan_short(r.where.kind(), r.what, r.of, r.after);
}
double cost_of_short(const candidate&, const request& r) {
  return slow_fp64(r, 2) + short_seconds(costs::models_of(r.device()), shape_of(r.what, r.of), r.device());
}

// Sums in FP64 on Tensor Cores
// -----------------------------------------------------------------------------------------------------------
const fp64_choice& division_of(const request& r) {
  static thread_local division_memo<fp64_choice> known;
  if (!r.division)
    r.division = known.get(division_key(r), [&] { return divide(r.where, r.what, r.of, r.invariant); });
  return *r.division;
}
// Large products are left to FP16 Tensor Cores without a prediction, unless only sums in FP64 will do: FP64
// ones have an eighth of their rate.
// A matrix times a vector is left to fp64-dots, which has kernels for it: of 1,275 such products tuned on an
// H200 they were faster for 97 %, and never took 1.3 times as long.
bool is_for_vectors(const request& r) {
  return is_vector(r.what) && r.of.count == 1 && !r.invariant && dots_tiles_fit(r.what, r.of);
}
bool fp64_suits(const candidate&, const request& r) {
  constexpr std::int64_t far = 512;
  const bool large = r.what.m() > far && r.what.n() > far && r.what.k() > far;
  const bool only_these = r.input_is_c || r.invariant || first_missing(r.has, of_wgmma) != nullptr;
  return (!large || only_these) && !is_for_vectors(r);
}
judged_plan plan_fp64_product(const candidate&, const request& r) {
  if (!fp64_tiles_fit(r.what, r.of)) return objection{reason::many_tiles};
  if (const auto found = plan_fp64(r.where, r.what, r.of, r.after, division_of(r))) return *found;
  return objection{reason::no_kernel};
}
double cost_of_fp64(const candidate&, const request& r) { return division_of(r).seconds; }

// Inner products
// -----------------------------------------------------------------------------------------------------------
const dots_choice& inner_division_of(const request& r) {
  static thread_local division_memo<dots_choice> known;
  if (!r.inner)
    r.inner =
        known.get(division_key(r), [&] { return divide_dots(r.where, r.what, r.of, !r.after.is_plain()); });
  return *r.inner;
}
bool few_lines_or_small(const request& r) {
  return is_vector(r.what) || has_few_lines(r.what) || lanes_may(r.what, r.of);
}
// A few lines that are long are left to fp64 where it runs.
bool adds_up_well(const candidate&, const request& r) {
  return may_be_doubles(r) &&
         (is_vector(r.what) || lanes_may(r.what, r.of) || (has_few_lines(r.what) && !r.has.fast_fp64));
}
judged_plan plan_inner_products(const candidate&, const request& r) {
  if (!few_lines_or_small(r)) return objection{reason::many_lines};
  if (!dots_tiles_fit(r.what, r.of)) return objection{reason::many_tiles};
  if (const auto found = plan_dots(r.where, r.what, r.of, r.after, inner_division_of(r).how)) return *found;
  return objection{reason::no_kernel};
}
double cost_of_dots(const candidate&, const request& r) {
  return slow_fp64(r, 3) + inner_division_of(r).seconds;
}

// TF32 parts
// -----------------------------------------------------------------------------------------------------------
const tf32_choice& tf32_division_of(const request& r) {
  static thread_local division_memo<tf32_choice> known;
  if (!r.tf32)
    r.tf32 = known.get(division_key(r), [&] { return divide_tf32(shape_of(r.what, r.of), r.device()); });
  return *r.tf32;
}
judged_plan plan_tf32_product(const candidate&, const request& r) {
  if (!tf32_tiles_fit(r.what, r.of))
    return objection{r.what.k() > k_of_tf32_share ? reason::many_parts : reason::many_tiles};
  if (const auto found = plan_tf32(r.where, r.what, r.of, tf32_division_of(r).how)) return *found;
  return objection{reason::no_kernel};
}
double cost_of_tf32(const candidate&, const request& r) { return tf32_division_of(r).seconds; }

// Products of split operands
// -----------------------------------------------------------------------------------------------------------
template <multiplier By> judged_plan plan_split_product(const candidate&, const request& r) {
  const kernel* const with = product_kernel(r.where.kind(), By);
  if (with == nullptr) return objection{reason::no_kernel};
  if (shortage_of(r.device(), *with) != shortage::none) return objection{reason::does_not_fit, *with};
  if (!product_tiles_fit(r.what)) return objection{reason::many_tiles};
  const problem what = with_rows_together(r.what);
  const bool turned = what.c.rows != r.what.c.rows || what.c.row_stride != r.what.c.row_stride;
  const ending after = ending_of(r.what, r.after);
  return plan_product_of(r.where, what, By, r.ready, turned ? transposed(after) : after);
}
bool split_finishes(const request& r) { return ends_in_product(r.what, r.after); }
double cost_of_split_product(const request& r, multiplier by) {
  const product_shape p{r.what.m(), r.what.n(), r.k(), 1, r.what.beta != 0};
  return split_seconds(costs::models_of(r.device()), p, r.device(), by,
                       {r.ready.a.parts != nullptr, r.ready.b.parts != nullptr});
}
template <multiplier By> double cost_of_split(const candidate&, const request& r) {
  return cost_of_split_product(r, By);
}

// The ladder
// -----------------------------------------------------------------------------------------------------------
judged_plan plan_ladder(const candidate& c, const request& r) {
  plan made = plan_step(r.where.kind(), *c.is.ladder, r.what);
  if (shortage_of(r.device(), made.what.code) != shortage::none)
    return objection{reason::does_not_fit, made.what.code};
  return made;
}
product_size size_of(const request& r) {
  const bool shares = r.of.by_pointers() || r.of.a_stride == 0 || r.of.b_stride == 0;
  return {r.what.m(), r.what.n(), r.k(), r.of.count, r.what.beta != 0, shares && r.of.count != 1};
}
double cost_of_ladder(const candidate& c, const request& r) {
  return predict(r.machine(), plan_step(r.where.kind(), *c.is.ladder, r.what).what.how, size_of(r)).seconds;
}

constexpr std::string_view fastest =
    "three products of FP16 parts on Tensor Cores, certified, are the fastest way to it";

constexpr candidate beside_the_ladder[choice::beside_the_ladder] = {
    {.is = {.name = "fp64-short",
            .adds = "sums in FP64, for a K of up to 4",
            .needs = {},
            .sums = gemm_sums::doubles},
     .suits = few_values_of_k,
     .cost = cost_of_short,
     .plan = plan_short_product,
     .why = "with so few values of K there is little to multiply, and sums in FP64 need no certificate",
     .batches = true,
     .pointers = true,
     .finishes = finishes_all},
    {.is = {.name = "fp64",
            .adds =
                "sums in FP64 on Tensor Cores, operands as they are; compute capability 8.0, 9.0 and 10.0",
            .needs = {.cp_async = true, .mma_sync = true, .fast_fp64 = true},
            .sums = gemm_sums::doubles},
     .suits = fp64_suits,
     .cost = cost_of_fp64,
     .plan = plan_fp64_product,
     .why = "sums in FP64 on Tensor Cores read operands as they are, and need no certificate",
     .batches = true,
     .pointers = true,
     .finishes = finishes_all},
    {.is = {.name = "fp64-dots",
            .adds = "sums in FP64 as inner products, for a row or column of C and small products",
            .needs = {},
            .sums = gemm_sums::doubles},
     .suits = adds_up_well,
     .cost = cost_of_dots,
     .plan = plan_inner_products,
     .why = "C has few rows or columns or is small, so reading operands is the work, and sums in FP64 need "
            "no certificate",
     .batches = true,
     .pointers = true,
     .finishes = finishes_all},
    {.is = {.name = "tf32",
            .adds = "three products of TF32 parts, split on their way; compute capability 9.0",
            .needs = of_wgmma,
            .sums = {}},
     .suits = is_certain,
     .cost = cost_of_tf32,
     .plan = plan_tf32_product,
     .why = "three products of TF32 parts on Tensor Cores, certified, take operands as they are",
     .batches = true},
    {.is = {.name = "fp16",
            .adds = "three products of FP16 parts on Tensor Cores, certified; compute capability 9.0",
            .needs = of_wgmma,
            .sums = {}},
     .suits = is_certain,
     .cost = cost_of_split<multiplier::warpgroups>,
     .plan = plan_split_product<multiplier::warpgroups>,
     .why = fastest,
     .finishes = split_finishes},
    {.is = {.name = "fp16-mma",
            .adds = "the same through mma.sync; compute capability 8.0 and above",
            .needs = {.cp_async = true, .mma_sync = true},
            .sums = {}},
     .suits = is_certain,
     .cost = cost_of_split<multiplier::warps>,
     .plan = plan_split_product<multiplier::warps>,
     .why = fastest,
     .finishes = split_finishes},
};

const candidate* find_candidate(std::string_view name) {
  const policy_info* const found = find_policy(name);
  return found == nullptr ? nullptr : &candidates()[static_cast<std::size_t>(found - policies().data())];
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
request as_asked(const candidate& c, const request& r, std::int64_t member) {
  const bool finishes = r.after.is_plain() || c.finishes(r);
  if (!c.batches && r.of.count != 1) return r.member(member, finishes);
  return finishes ? r : r.unfinished();
}
judged_plan judge(const candidate& c, const request& r) {
  if (first_missing(r.has, c.is.needs) != nullptr) return objection{reason::lacks_feature};
  if (r.is_alone()) return c.plan(c, r);
  if (r.of.by_pointers() && !c.pointers) return objection{reason::pointers};
  if (!r.after.is_plain() && !c.finishes(r)) {
    if (r.input_is_c) return objection{reason::input_is_c};
    if (!finish_tiles_fit(r.what, r.of)) return objection{reason::many_tiles};
  }
  return c.plan(c, as_asked(c, r, 0));
}
// The tuning's factor for the products that the candidate would launch.
double factor_of(const candidate& c, const request& r) {
  const std::int64_t count = c.batches ? r.of.count : 1;
  return r.tuned == nullptr
             ? 1
             : r.tuned->factor(c.is.name, tuning_class_of(r.what.m(), r.what.n(), r.what.k(), count));
}
// A cost model is fitted to one card and scaled by multiprocessors; another device may have less bandwidth
// or slower units per multiprocessor. So the roofline is a lower bound.
double cost_of_launch(const candidate& c, const request& r, double factor) {
  const double fitted = factor * c.cost(c, r);
  return c.is.ladder != nullptr ? fitted
                                : std::max(fitted, roof_of(r.machine(), c.is.name, size_of(r)).seconds);
}
// Seconds of all launches, with the finishing pass. factor: the tuning's.
double cost_of(const candidate& c, const request& r, double factor) {
  if (r.is_alone()) return cost_of_launch(c, r, factor);
  const double members = extent(r.of.count),
               again = predicted({.bytes = members * 2 * bytes_of_c(r)}, r.device());
  return (c.batches ? 1 : members) * cost_of_launch(c, as_asked(c, r, 0), factor) +
         (r.after.is_plain() || c.finishes(r) ? 0 : again);
}
double cost_of(const candidate& c, const request& r) { return cost_of(c, r, factor_of(c, r)); }

void take(choice& c, const candidate& chosen, judged_plan&& judged) {
  c.chosen = &chosen;
  c.plan = std::get<any_plan>(std::move(judged));
}

[[noreturn]] void refuse_invariance(const choice& c) {
  std::string why = c.accuracy == precision::strict ? "precision strict adds up small C in slices of K" : "";
  for (std::size_t i = 0; i < c.refusal_count; ++i)
    why += fmt::format("{}{}: {}", i == 0 ? "" : "; ", c.refusals[i].what->is.name,
                       sentence(*c.refusals[i].what, c.refusals[i].why, c.of));
  throw not_supported(fmt::format("reproducible batch_invariant: nothing that keeps it can run: {}", why));
}

void take_asked(choice& c, const candidate& asked) {
  if (c.of.invariant && asked.plan != plan_fp64_product && asked.plan != plan_short_product)
    throw not_supported(
        fmt::format("policy {} does not keep reproducible batch_invariant: expected auto, fp64 or fp64-short",
                    asked.is.name));
  judged_plan judged = judge(asked, c.of);
  if (const auto* why = std::get_if<objection>(&judged))
    throw not_supported(fmt::format("policy {}: {}", asked.is.name, sentence(asked, *why, c.of)));
  take(c, asked, std::move(judged));
  c.by_name = true;
}

// Whether a row of C has the same bits whatever other rows and members there are: sums have one order of k.
// Which policy runs must then depend on K alone, so auto has just this one.
bool keeps_rows(const candidate& one, const request&) { return one.plan == plan_fp64_product; }

// Takes the candidate beside the ladder with the least predicted time that can run; none for strict, whose
// order of additions they do not keep. One without an error bound runs only if asked for.
void take_beside_the_ladder(choice& c) {
  if (c.accuracy == precision::strict || !c.of.multiplies()) return;
  for (const candidate& one : beside_the_ladder) {
    if (!one.suits(one, c.of) || (c.of.invariant && !keeps_rows(one, c.of))) continue;
    const double factor = factor_of(one, c.of);
    const choice::prediction here{&one, cost_of(one, c.of, factor), factor};
    std::size_t at = c.considered_count++;
    for (; at > 0 && here.seconds < c.considered[at - 1].seconds; --at)
      c.considered[at] = c.considered[at - 1];
    c.considered[at] = here;
  }
  for (std::size_t i = 0; i < c.considered_count; ++i) {
    const candidate& one = *c.considered[i].what;
    judged_plan judged = judge(one, c.of);
    const auto* why = std::get_if<objection>(&judged);
    if (why == nullptr && !std::isinf(one.is.promise(c.of.device(), 1).units))
      return take(c, one, std::move(judged));
    c.refusals[c.refusal_count++] = {&one, why != nullptr ? *why : objection{reason::unknown_sums}};
  }
}

// The ladder's last step that the device has room for.
void take_from_the_ladder(choice& c) {
  const std::span<const candidate> all = candidates();
  for (std::size_t i = all.size(); i-- > choice::beside_the_ladder;) {
    judged_plan judged = judge(all[i], c.of);
    if (std::holds_alternative<any_plan>(judged)) return take(c, all[i], std::move(judged));
  }
  take_asked(c, all[choice::beside_the_ladder]);  // says why even the first is refused
}

// Nothing to multiply: the finishing pass computes the whole result, which keeps any bound.
void take_finish(choice& c) {
  c.chosen = &candidates()[choice::beside_the_ladder];
  if (!finish_tiles_fit(c.of.what, c.of.of))
    throw not_supported(sentence(*c.chosen, {reason::many_tiles}, c.of));
  c.plan = finish_plan{c.of.what, c.of.of, c.of.after};
}

std::string_view name(precision p) { return p == precision::fp32 ? "fp32" : "strict"; }

}  // namespace

std::span<const candidate> candidates() {
  static constinit made_once<std::vector<candidate>> all;
  return all.get([] {
    std::vector<candidate> list(std::begin(beside_the_ladder), std::end(beside_the_ladder));
    for (const step& s : steps)
      list.push_back({.is = {.name = s.name,
                             .adds = s.adds,
                             .needs = needs_of(s),
                             .sums = gemm_sums::multiply_adds,
                             .ladder = &s},
                      .suits = is_certain,
                      .cost = cost_of_ladder,
                      .plan = plan_ladder,
                      .why = "the last step of the ladder that the device has room for"});
    return list;
  });
}

request request_for(const context& where, const problem& p, const gemm_options& options) {
  request r{.where = where,
            .has = features_of(where.limits()),
            .what = without_idle_strides(p),
            .of = options.batch,
            .after = options.epilogue,
            .invariant = options.reproducible == reproducibility::batch_invariant,
            .tuned = tuning_for(where.limits(), options.tuning),
            .ready = ready_of(where, p, options)};
  epilogue& e = r.after;
  if (is_c(e.residual, e.residual_stride, p, r.of)) e.residual = {};  // the same as beta * C
  r.input_is_c = is_gradient(e.function) && is_c(e.input, e.input_stride, p, r.of);
  return r;
}

const machine_profile& request::machine() const {
  // The thread's last device: looking up a profile takes as long as choosing.
  static thread_local std::shared_ptr<const machine_profile> last;
  if (machine_known != nullptr) return *machine_known;
  if (!last || last->limits.name != device().name || numbers_of(last->limits) != numbers_of(device()))
    last = std::make_shared<const machine_profile>(profile_of(device()));
  return *(machine_known = last);
}

request request::unfinished(std::int64_t first) const {
  request one = *this;
  one.after = {}, one.division.reset(), one.tf32.reset(), one.inner.reset();
  if (after.residual.data != nullptr) one.what.beta = 0;
  one.what.a.data += first * of.a_stride;
  one.what.b.data += first * of.b_stride;
  one.what.c.data += first * of.c_stride;
  return one;
}
request request::member(std::int64_t n, bool with_epilogue) const {
  request one = unfinished(n);
  if (with_epilogue) {
    one.what.beta = what.beta;
    one.after = member_of(after, n);
  }
  one.of = {};
  return one;
}

choice choose(const context& where, const problem& p, const gemm_options& options) {
  const candidate* const asked = require_sensible(options);
  require_sensible(p, options.batch, options.epilogue);
  choice c{.of = request_for(where, p, options),
           .bound = {},
           .asked = {},
           .accuracy = options.accuracy,
           .given = options.tuning,
           .refusals = {},
           .considered = {}};
  if (!c.of.multiplies() && !c.of.is_alone())
    take_finish(c);
  else if (asked != nullptr && (asked->is.ladder != nullptr || c.of.multiplies()))
    take_asked(c, *asked);
  else if (asked == nullptr)
    take_beside_the_ladder(c);
  if (c.chosen == nullptr) {
    if (c.of.invariant && c.of.multiplies()) refuse_invariance(c);
    take_from_the_ladder(c);
  }
  c.bound = c.chosen->is.promise(where.limits(), c.of.k());
  c.asked = bound_of(options.accuracy, where.limits(), c.of.k());
  if (options.if_weaker == weaker_bound::refuse && !keeps(c.bound, c.asked))
    throw not_supported(fmt::format(
        "precision {} stands for |C - AB| <= {}, what would run on {} keeps {}: refused, as if_weaker says",
        name(options.accuracy), to_text(c.asked), where.limits().name, to_text(c.bound)));
  return c;
}

bool choice::only_finishes() const { return std::holds_alternative<finish_plan>(plan); }
double choice::seconds() const {
  if (!only_finishes()) return cost_of(*chosen, of);
  return predicted({.bytes = extent(of.of.count) * 2 * bytes_of_c(of)}, of.device());
}
bool choice::by_members() const { return !chosen->batches && of.of.count != 1 && !only_finishes(); }
bool choice::finishes_behind() const {
  return !of.after.is_plain() && !chosen->finishes(of) && !only_finishes();
}
any_plan choice::plan_of(std::int64_t member) const {
  return std::get<any_plan>(chosen->plan(*chosen, as_asked(*chosen, of, member)));
}

std::size_t choice::workspace() const {
  if (const auto* const split = std::get_if<product_plan>(&plan)) return split->workspace();
  if (const auto* const narrow = std::get_if<gemms::tf32_plan>(&plan)) return narrow->workspace();
  const auto* const stream = std::get_if<gemms::fp64_plan>(&plan);
  return stream != nullptr ? stream->workspace() : 0;
}

// The most that any candidate takes which auto may choose for this shape: so the offer is monotonic in the
// problem's size, whichever candidate a larger problem takes.
std::size_t choice::offers() const {
  const std::size_t streamed = most_fp64_workspace(of.what.m(), of.what.n(), of.k(), of.of.count);
  const std::size_t narrow = most_tf32_workspace(of.what.m(), of.what.n(), of.k(), of.of.count);
  if (by_name && std::holds_alternative<gemms::tf32_plan>(plan)) return narrow;
  if (by_name) return std::holds_alternative<gemms::fp64_plan>(plan) ? streamed : workspace();
  std::size_t most = workspace();
  // A larger product may take tf32 where this one does not.
  if (considered_count > 0 && first_missing(of.has, of_wgmma) == nullptr) most = std::max(most, narrow);
  for (std::size_t i = 0; i < considered_count; ++i) {
    const candidate& one = *considered[i].what;
    const judged_plan judged = judge(one, of);
    const auto* const possible = std::get_if<any_plan>(&judged);
    if (possible == nullptr) continue;
    if (const auto* const split = std::get_if<product_plan>(possible))
      most = std::max(most, split->workspace());
    else if (std::holds_alternative<gemms::fp64_plan>(*possible))
      most = std::max(most, streamed);
  }
  return most;
}

}  // namespace antiphase::gemms
