// SPDX-License-Identifier: Apache-2.0
// The rows of policies that add up in FP64: fp64-short, fp64 and fp64-dots.
#include <fmt/format.h>

#include <algorithm>

#include "library/gemm/candidate.hpp"
#include "library/gemm/fp64/dots/dots_plan.hpp"
#include "library/gemm/fp64/fp64_plan.hpp"
#include "library/gemm/fp64/short/short_plan.hpp"

namespace antiphase::gemms {
namespace {

using choices::description, choices::plan, choices::work;

// Slow FP64 is considered only where Tensor Cores have known sums, so that predictions decide between them;
// elsewhere the FP32 ladder runs.
bool may_be_doubles(const request& r) {
  return r.features.fast_fp64 ||
         (!r.invariant && tensor_core_sums_of(r.device()) != tensor_core_sums::unknown);
}
// Seconds of the FP64 units of devices with few of them; operations_of_product: multiply-adds and conversions
// of operands. One more per output: the conversion of the result.
double slow_fp64(const request& r, double operations_of_product) {
  if (r.features.fast_fp64) return 0;
  const double outputs = extent(r.batch.count) * extent(r.problem.m()) * extent(r.problem.n());
  const double rate = rates_of(r.device()).fp64 * multiprocessors_of(r.device()) * r.machine().clock.value;
  return outputs * (operations_of_product * extent(r.k()) + 1) / rate;
}

// fp64-short
// -----------------------------------------------------------------------------------------------------------
launch_counts run_short(const short_plan& p, const work& w) { return w.launch(p.code, p.grid, &p.arguments); }
void describe_short(const short_plan& p, description& text) {
  const extent2 tile = short_tile(p.arguments.lane_bits, p.arguments.steps);
  text.code.emplace_back(p.code.name);
  text.tile_m = tile.m, text.tile_n = tile.n, text.tile_k = short_k;
  text.stages = 1;
  text.blocks = p.grid.count();
}
plan short_planned(const short_plan& p) { return plan::of_type<run_short, describe_short>(p, 0); }

std::string long_k(const candidate&, const request& r, const kernel&) {
  return fmt::format("it is for K up to {}, K is {}", short_k, r.problem.k());
}
plan_or_misfit plan_short_product(const candidate&, const request& r) {
  if (r.problem.k() > short_k) return misfit{long_k};
  const kernel* const code = short_kernel(r.context.kind(), r.epilogue);
  if (code == nullptr) return misfit{no_kernel};
  if (shortage_of(r.device(), *code) != shortage::none) return misfit{does_not_fit, *code};
  if (!short_tiles_fit(r.problem, r.batch)) return misfit{many_tiles};
  return short_planned(plan_short(r.context.kind(), r.problem, r.batch, r.epilogue));
}
void short_ways(const product_shape& p, const device_limits& device, const costs::models&,
                std::vector<way>& all) {
  if (p.k > short_k) return;
  all.push_back({"fp64-short", [=](const costs::models& l) { return short_seconds(l, p, device); },
                 [](const request& r) -> std::optional<plan> {
                   if (!short_tiles_fit(r.problem, r.batch)) return std::nullopt;
                   return short_planned(plan_short(r.context.kind(), r.problem, r.batch, {}));
                 }});
}

// fp64
// -----------------------------------------------------------------------------------------------------------
const fp64_choice& division_of(const request& r) {
  static thread_local division_memo<fp64_choice> known;
  return known.get(division_key(r), [&] { return divide(r.context, r.problem, r.batch, r.invariant); });
}
// So few lines that the blocks of fp64-dots, which have all of K, leave multiprocessors idle for long; fp64
// divides K among blocks.
bool has_few_long_lines(const problem& p) { return std::max(p.m(), p.n()) < 1024 && p.k() >= 8192; }
// Other products of a matrix and a vector are left to fp64-dots, which has kernels for them: of 1,275 such
// products tuned on an H200 they were faster for 97 %, and never took 1.3 times as long.
bool is_for_vectors(const request& r) {
  return is_vector(r.problem) && !has_few_long_lines(r.problem) && r.batch.count == 1 && !r.invariant &&
         dots_tiles_fit(r.problem, r.batch);
}
// Large products are left to FP16 Tensor Cores without a prediction, unless only sums in FP64 will do: FP64
// ones have an eighth of their rate.
bool fp64_is_considered(const candidate&, const request& r) {
  constexpr std::int64_t far = 512;
  const bool large = r.problem.m() > far && r.problem.n() > far && r.problem.k() > far;
  const bool only_these = r.input_is_c || r.invariant || first_missing(r.features, needs_of_wgmma) != nullptr;
  return (!large || only_these) && !is_for_vectors(r);
}

struct divided_plan {
  fp64_plan runs;
  fp64_choice division;
};
launch_counts run_fp64(const divided_plan& p, const work& w) {
  return run(w.context, p.runs, w.memory, w.queue);
}
void describe_fp64(const divided_plan& made, description& text) {
  const fp64_plan& p = made.runs;
  const fp64_policy& policy = p.instance->policy;
  text.code.emplace_back(p.instance->code.name);
  text.tile_m = p.turned ? policy.tile.n : policy.tile.m;
  text.tile_n = p.turned ? policy.tile.m : policy.tile.n;
  text.tile_k = policy.is_fed_by_ring() ? slab_k * policy.slabs : slab_k / 2;
  text.stages = std::max(policy.stages, 1);
  text.blocks = p.grid.count();
  text.cluster = p.division.cluster;
  text.parts = p.division.parts;
  if (policy.loader == loader::cp_async && policy.finishes)
    text.launches.emplace_back(
        "warps of their own copy the operands, as in all kernels of fp64 that have a ring and know "
        "epilogues");
  else if (policy.loader == loader::cp_async)
    text.launches.emplace_back(
        "warps of their own copy the operands: TMA (compute capability 9.0) takes rows at "
        "multiples of 16 bytes, and is left "
        "not many of 16 bytes alone");
  if (policy.kind == kernel_kind::kept_lines)
    text.launches.push_back(fmt::format(
        "each warp keeps 32 lines of an operand in registers, and walks over {} tiles of C", p.rounds));
  if (policy.kind == kernel_kind::block_tile)
    text.launches.push_back(fmt::format(
        "the {} warps of a block take {} k each alternately, straight into registers", policy.slabs, held_k));
  if (policy.kind == kernel_kind::warp_tile)
    text.launches.emplace_back(
        "each warp has a tile of its own and all of K, straight from memory to registers and back");
  describe_shares(text);
  if (const fp64_choice& d = made.division; d.next != nullptr)
    text.alternatives.push_back(
        fmt::format("of its forms {} is predicted to take {:.4g} us, and {}, the next, {:.4g} us",
                    d.form->name, 1e6 * d.seconds, d.next->name, 1e6 * d.next_seconds));
}
std::optional<plan> fp64_planned(const request& r, const fp64_choice& division) {
  const auto found = plan_fp64(r.context, r.problem, r.batch, r.epilogue, division);
  if (!found) return std::nullopt;
  return plan::of_type<run_fp64, describe_fp64>(divided_plan{*found, division}, found->workspace());
}
plan_or_misfit plan_fp64_product(const candidate&, const request& r) {
  if (!fp64_tiles_fit(r.problem, r.batch)) return misfit{many_tiles};
  if (auto made = fp64_planned(r, division_of(r))) return *std::move(made);
  return misfit{no_kernel};
}
void fp64_ways(const product_shape& p, const device_limits& device, const costs::models& l,
               std::vector<way>& all) {
  each_fp64_division(l, p, device, ~0u, [&](const fp64_form& f, const fp64_division& d, double) {
    const bool holds = (f.kind != kernel_kind::kept_lines || p.k <= 32) &&
                       (f.kind != kernel_kind::warp_tile || p.k <= most_warp_tile_k);
    if (!holds) return;
    const fp64_division division{f.slabs, d.cluster, d.parts};
    all.push_back(
        {fmt::format("fp64/{}/{}/{}", f.name, d.cluster, d.parts),
         [=, form = &f](const costs::models& with) { return fp64_seconds(with, p, device, *form, division); },
         [=, form = &f](const request& r) { return fp64_planned(r, {.form = form, .division = division}); }});
  });
}

// fp64-dots
// -----------------------------------------------------------------------------------------------------------
const dots_choice& inner_division_of(const request& r) {
  static thread_local division_memo<dots_choice> known;
  return known.get(division_key(r),
                   [&] { return divide_dots(r.context, r.problem, r.batch, !r.epilogue.is_plain()); });
}
bool few_lines_or_small(const request& r) {
  return is_vector(r.problem) || has_few_lines(r.problem) || lanes_may(r.problem, r.batch);
}
// A few lines that are long are left to fp64 where it runs.
bool dots_are_considered(const candidate&, const request& r) {
  return may_be_doubles(r) && (is_vector(r.problem) || lanes_may(r.problem, r.batch) ||
                               (has_few_lines(r.problem) && !r.features.fast_fp64));
}
launch_counts run_dots(const dots_plan& p, const work& w) { return run(w.context, p, w.queue); }
void describe_dots(const dots_plan& p, description& text) {
  const int lines = p.lines(), others = p.division.for_vector() ? 1 : p.division.square;
  text.code.emplace_back(p.instance->code.name);
  text.tile_m = p.turned ? others : lines, text.tile_n = p.turned ? lines : others;
  text.tile_k = p.division.k_at_once();
  text.stages = 1;
  text.blocks = p.grid.count();
  if (!p.division.for_vector())
    text.launches.push_back(fmt::format("{} threads share {} of C, a part of K for each", p.division.slots,
                                        p.division.square == 1 ? "each element" : "each 2 x 2 elements"));
}
std::optional<plan> dots_planned(const request& r, const dots_division& division) {
  const auto found = plan_dots(r.context, r.problem, r.batch, r.epilogue, division);
  if (!found) return std::nullopt;
  return plan::of_type<run_dots, describe_dots>(*found, 0);
}
std::string many_lines(const candidate&, const request& r, const kernel&) {
  return fmt::format(
      "it is for up to {} rows or columns of C or up to {} million multiply-adds, and C is {} x {} with "
      "K = {}",
      dots_lines, dots_lanes_most_work / 1e6, r.problem.m(), r.problem.n(), r.problem.k());
}
plan_or_misfit plan_inner_products(const candidate&, const request& r) {
  if (!few_lines_or_small(r)) return misfit{many_lines};
  if (!dots_tiles_fit(r.problem, r.batch)) return misfit{many_tiles};
  if (auto made = dots_planned(r, inner_division_of(r).division)) return *std::move(made);
  return misfit{no_kernel};
}
void dots_ways(const product_shape& p, const device_limits& device, const costs::models& l,
               std::vector<way>& all) {
  const double work = extent(p.count * p.m * p.n) * extent(p.k);
  if (std::min(p.m, p.n) > 1 && (p.k > dots_lanes_most_k || work > dots_lanes_most_work)) return;
  each_dots_division(l, p, device, false, [&](const dots_division& d, double) {
    // as the name says it
    const dots_division division{.slots = d.slots, .square = d.square};
    all.push_back({fmt::format("fp64-dots/{}/{}", d.square, d.slots),
                   [=](const costs::models& with) { return dots_seconds(with, p, device, division, false); },
                   [=](const request& r) { return dots_planned(r, division); }});
  });
}

}  // namespace

namespace rows {

const candidate fp64_short{
    .name = "fp64-short",
    .summary = "sums in FP64, for a K of up to 4",
    .considered = [](const candidate&,
                     const request& r) { return r.problem.k() <= short_k && may_be_doubles(r); },
    .seconds =
        [](const candidate&, const request& r) {
          return slow_fp64(r, 2) +
                 short_seconds(costs::models_of(r.device()), shape_of(r.problem, r.batch), r.device());
        },
    .plan_for = plan_short_product,
    .traits =
        {.sums = gemm_sums::doubles,
         .why = "with so few values of K there is little to multiply, and sums in FP64 need no certificate",
         .rows = row_bits::keep_if_asked,
         .batches = true,
         .pointers = true,
         .finishes = finishes_all,
         .ways = short_ways}};

const candidate fp64{
    .name = "fp64",
    .summary = "sums in FP64 on Tensor Cores, operands as they are; compute capability 8.0, 9.0 and 10.0",
    .needs = {.cp_async = true, .mma_sync = true, .fast_fp64 = true},
    .considered = fp64_is_considered,
    .seconds =
        [](const candidate&, const request& r) {
          const double outputs = static_cast<double>(r.problem.m()) * static_cast<double>(r.problem.n()) *
                                 static_cast<double>(r.batch.count);
          const double finishing =
              r.epilogue.is_plain() ? 0 : 1e-9 * costs::models_of(r.device()).fp64.epilogue * outputs;
          return division_of(r).seconds + finishing / multiprocessors_of(r.device());
        },
    .plan_for = plan_fp64_product,
    .traits = {.sums = gemm_sums::doubles,
               .why = "sums in FP64 on Tensor Cores read operands as they are, and need no certificate",
               .rows = row_bits::keep,
               .keeps = [](const request& r) { return !is_for_tf32_rows(r); },
               .batches = true,
               .pointers = true,
               .finishes = finishes_all,
               .offer =
                   [](const request& r) {
                     return most_fp64_workspace(r.problem.m(), r.problem.n(), r.k(), r.batch.count);
                   },
               .ways = fp64_ways}};

const candidate fp64_dots{
    .name = "fp64-dots",
    .summary = "sums in FP64 as inner products, for a row or column of C and small products",
    .considered = dots_are_considered,
    .seconds = [](const candidate&,
                  const request& r) { return slow_fp64(r, 3) + inner_division_of(r).seconds; },
    .plan_for = plan_inner_products,
    .traits = {.sums = gemm_sums::doubles,
               .why =
                   "C has few rows or columns or is small, so reading operands is the work, and sums in FP64 "
                   "need no certificate",
               .batches = true,
               .pointers = true,
               .finishes = finishes_all,
               .ways = dots_ways}};

}  // namespace rows
}  // namespace antiphase::gemms
