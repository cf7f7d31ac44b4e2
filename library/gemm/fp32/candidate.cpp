// SPDX-License-Identifier: Apache-2.0
// The rows of the ladder's steps: one for all, which the table completes.
#include "library/gemm/candidate.hpp"
#include "library/gemm/fp32/ladder_plan.hpp"

namespace antiphase::gemms {
namespace {

launch_counts run_step(const plan& p, const choices::work& w) {
  return w.launch(p.instance.code, p.grid, &p.arguments);
}
void describe_step(const plan& p, choices::description& text) {
  const policy& how = p.instance.policy;
  text.code.emplace_back(p.instance.code.name);
  text.tile_m = how.tile.m, text.tile_n = how.tile.n, text.tile_k = how.tile_k;
  text.stages = how.stages;
  text.blocks = p.grid.count();
}
plan_or_misfit plan_ladder(const candidate& row, const request& r) {
  plan made = plan_step(r.context.kind(), *row.ladder, r.problem);
  if (shortage_of(r.device(), made.instance.code) != shortage::none)
    return misfit{does_not_fit, made.instance.code};
  return choices::plan::of_type<run_step, describe_step>(made, 0);
}
double seconds_of_ladder(const candidate& row, const request& r) {
  return predict(r.machine(), plan_step(r.context.kind(), *row.ladder, r.problem).instance.policy, r.size())
      .seconds;
}

}  // namespace

const candidate rows::ladder{.considered = [](const candidate&, const request&) { return false; },
                             .seconds = seconds_of_ladder,
                             .plan_for = plan_ladder,
                             .traits = {.sums = gemm_sums::multiply_adds,
                                        .why = "the last step of the ladder that the device has room for"}};

}  // namespace antiphase::gemms
