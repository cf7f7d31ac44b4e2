// SPDX-License-Identifier: Apache-2.0
// The rows of policies that split operands into FP16 parts: fp16 and fp16-mma.
#include <fmt/format.h>

#include "library/gemm/candidate.hpp"
#include "library/gemm/fp16/split_plan.hpp"
#include "library/gemm/operands/checks.hpp"

namespace antiphase::gemms {
namespace {

using choices::description, choices::plan, choices::work;

launch_counts run_split(const product_plan& p, const work& w) {
  return run(w.context, p, w.memory, w.recomputed, w.queue);
}
void describe_split(const product_plan& p, description& text) {
  const product_wave &first = p.waves.front(), &last = p.waves.back();
  for (const product_wave& wave : p.waves) text.code.emplace_back(wave.instance.code.name);
  text.tile_m = split_tile, text.tile_n = split_tile, text.tile_k = split_step;
  text.stages = first.instance.policy.stages;
  text.blocks = first.grid.count();
  text.cluster = first.instance.policy.cluster;
  if (text.cluster > 1)
    text.launches.push_back(fmt::format(
        "C has fewer tiles than the device multiprocessors: {} blocks share each, a part of K for each block",
        text.cluster));
  if (p.waves.size() > 1)
    text.launches.push_back(
        fmt::format("{} tiles are left over after rounds of one for each multiprocessor: {} blocks share "
                    "each, in a second launch",
                    last.end - last.first, last.instance.policy.cluster));
  if (first.instance.policy.ordered)
    text.launches.emplace_back(
        "reproducible: blocks share no tile, and outputs without a certificate are "
        "computed again one by one");
  if (p.k_piece < p.problem.k())
    text.launches.push_back(fmt::format("K is taken in pieces of {}", p.k_piece));
}
plan planned(const product_plan& p) { return plan::of_type<run_split, describe_split>(p, p.workspace()); }

template <multiplier By> plan_or_misfit plan_split_product(const candidate&, const request& r) {
  const kernel* const code = product_kernel(r.context.kind(), By);
  if (code == nullptr) return misfit{no_kernel};
  if (shortage_of(r.device(), *code) != shortage::none) return misfit{does_not_fit, *code};
  if (!product_tiles_fit(r.problem)) return misfit{many_tiles};
  // a layout of C must not change bits where rows have the same ones in any batch
  const problem product = r.invariant ? r.problem : with_rows_together(r.problem);
  const bool turned = product.c.rows != r.problem.c.rows || product.c.row_stride != r.problem.c.row_stride;
  const ending after = ending_of(r.problem, r.epilogue);
  return planned(plan_product_of(r.context, product, By, turned ? transposed(after) : after, r.invariant));
}
template <multiplier By> double seconds_of_split(const candidate&, const request& r) {
  const product_shape p{r.problem.m(), r.problem.n(), r.k(), 1, r.problem.beta != 0};
  return split_seconds(costs::models_of(r.device()), p, r.device(), By);
}
template <multiplier By> void split_ways(const product_shape& p, const device_limits& device,
                                         const costs::models&, std::vector<way>& all) {
  if (p.k <= sparse_nonzeros) return;
  all.push_back({By == multiplier::warpgroups ? "fp16" : "fp16-mma",
                 [=](const costs::models& l) {
                   const product_shape member{p.m, p.n, p.k, 1, p.reads_c};
                   return static_cast<double>(p.count) * split_seconds(l, member, device, By);
                 },
                 [](const request& r) -> std::optional<plan> {
                   if (r.batch.count != 1)
                     return std::nullopt;  // members run in turn: one's cost model suffices
                   return planned(plan_product(r.context, r.problem, By));
                 }});
}

template <multiplier By> constexpr product_traits traits() {
  return {.work = {.rate = &machine_profile::tensor_fp16, .products = 3, .converts = false},
          .why = "three products of FP16 parts on Tensor Cores, certified, are the fastest way to it",
          .rows = row_bits::keep_if_asked,
          .finishes = [](const request& r) { return ends_in_product(r.problem, r.epilogue); },
          .ways = split_ways<By>};
}

}  // namespace

const candidate rows::fp16{
    .name = "fp16",
    .summary = "three products of FP16 parts on Tensor Cores, certified; compute capability 9.0",
    .needs = needs_of_wgmma,
    .considered = is_certain,
    .seconds = seconds_of_split<multiplier::warpgroups>,
    .plan_for = plan_split_product<multiplier::warpgroups>,
    .traits = traits<multiplier::warpgroups>()};

const candidate rows::fp16_mma{.name = "fp16-mma",
                               .summary = "the same through mma.sync; compute capability 8.0 and above",
                               .needs = {.cp_async = true, .mma_sync = true},
                               .considered = is_certain,
                               .seconds = seconds_of_split<multiplier::warps>,
                               .plan_for = plan_split_product<multiplier::warps>,
                               .traits = traits<multiplier::warps>()};

}  // namespace antiphase::gemms
