// SPDX-License-Identifier: Apache-2.0
// The row of policy tf32.
#include <fmt/format.h>

#include <algorithm>

#include "library/gemm/candidate.hpp"
#include "library/gemm/tf32/tf32_plan.hpp"

namespace antiphase::gemms {
namespace {

using choices::description, choices::plan, choices::work;

const tf32_choice& division_of(const request& r) {
  static thread_local division_memo<tf32_choice> known;
  return known.get(division_key(r), [&] {
    return (r.invariant ? divide_tf32_in_pieces : divide_tf32)(shape_of(r.problem, r.batch), r.device());
  });
}

launch_counts run_tf32(const tf32_plan& p, const work& w) {
  return run(w.context, p, w.memory, w.recomputed, w.queue);
}
void describe_tf32(const tf32_plan& p, description& text) {
  const tf32_policy& policy = p.instance->policy;
  text.code.emplace_back(p.instance->code.name);
  text.tile_m = p.turned ? tf32_tile.n : tf32_tile.m;
  text.tile_n = p.turned ? tf32_tile.m : tf32_tile.n;
  text.tile_k = tf32_stage_k;
  text.stages = policy.stages();
  text.blocks = p.grid.count();
  text.cluster = p.division.cluster;
  text.parts = p.division.parts;
  if (policy.loader == loader::cp_async)
    text.launches.emplace_back(
        "threads copy the operands, since TMA would ask for rows at multiples of 16 bytes");
  describe_shares(text);
  if (p.division.pieces > 0)
    text.launches.push_back(
        fmt::format("reproducible: K is added up in {} piece{}, a number that depends on K alone",
                    p.division.pieces, p.division.pieces == 1 ? "" : "s"));
}
std::optional<plan> planned(const request& r, const tf32_division& division) {
  const auto found = plan_tf32(r.context, r.problem, r.batch, division);
  if (!found) return std::nullopt;
  return plan::of_type<run_tf32, describe_tf32>(*found, found->workspace());
}

std::string many_parts(const candidate&, const request& r, const kernel&) {
  return fmt::format("K = {} takes parts of up to {} each, which C of {} x {} has too many tiles for",
                     r.problem.k(), k_of_tf32_share, r.problem.m(), r.problem.n());
}
std::string long_pieces(const candidate&, const request& r, const kernel&) {
  return fmt::format("reproducible, it takes K up to {}, and K is {}", most_k_in_pieces, r.problem.k());
}
plan_or_misfit plan_in_pieces(const request& r) {
  if (r.problem.k() > most_k_in_pieces) return misfit{long_pieces};
  if (!tf32_pieces_fit(r.problem, r.batch)) return misfit{many_tiles};
  tf32_division division = division_of(r).division;
  if (auto made = planned(r, division)) return *std::move(made);
  division.cluster = division.pieces, division.parts = 1;  // kernels that share tiles take any operands
  if (auto made = planned(r, division)) return *std::move(made);
  return misfit{no_kernel};
}
plan_or_misfit plan_tf32_product(const candidate&, const request& r) {
  if (r.invariant) return plan_in_pieces(r);
  if (!tf32_tiles_fit(r.problem, r.batch))
    return misfit{r.problem.k() > k_of_tf32_share ? many_parts : many_tiles};
  if (auto made = planned(r, division_of(r).division)) return *std::move(made);
  return misfit{no_kernel};
}
void tf32_ways(const product_shape& p, const device_limits& device, const costs::models& l,
               std::vector<way>& all) {
  if (p.k <= sparse_nonzeros) return;
  each_tf32_division(l, p, device, [&](const tf32_division& d, double) {
    all.push_back({fmt::format("tf32/{}/{}", d.cluster, d.parts),
                   [=](const costs::models& with) { return tf32_seconds(with, p, device, d); },
                   [=](const request& r) {
                     return tf32_tiles_fit(r.problem, r.batch) ? planned(r, d) : std::nullopt;
                   }});
  });
}

}  // namespace

// Shorter sums are a matter of memory alone, for which FP64 is fast enough.
bool is_for_tf32_rows(const request& r) {
  constexpr std::int64_t least_k = 256;
  const auto fits = [&](const tf32_instance& i) { return shortage_of(r.device(), i.code) == shortage::none; };
  return first_missing(r.features, needs_of_wgmma) == nullptr && r.problem.k() > least_k &&
         r.problem.k() <= most_k_in_pieces && !r.batch.by_pointers() && !r.input_is_c &&
         std::ranges::all_of(tf32_instances(r.context.kind()), fits);
}

const candidate rows::tf32{
    .name = "tf32",
    .summary = "three products of TF32 parts, split on their way; compute capability 9.0",
    .needs = needs_of_wgmma,
    .considered = is_certain,
    .seconds = [](const candidate&, const request& r) { return division_of(r).seconds; },
    .plan_for = plan_tf32_product,
    .traits = {.work = {.rate = &machine_profile::tensor_tf32, .products = 3, .converts = false},
               .why = "three products of TF32 parts on Tensor Cores, certified, take operands as they are",
               .rows = row_bits::keep,
               .keeps = is_for_tf32_rows,
               .batches = true,
               .offer =
                   [](const request& r) {
                     return most_tf32_workspace(r.problem.m(), r.problem.n(), r.k(), r.batch.count);
                   },
               .offers_always = true,
               .ways = tf32_ways}};

}  // namespace antiphase::gemms
