// SPDX-License-Identifier: Apache-2.0
// The public calls of linear layers.
#include <antiphase/linear.hpp>

#include <optional>

#include "library/choice/remembered.hpp"
#include "library/linear/plan.hpp"

namespace antiphase {
namespace {

using linears::linear_plan;

launch_counts launch(const linear_plan& plan, const choices::work& w) {
  return w.launch(plan.code, plan.grid, &plan.arguments);
}
void describe(const linear_plan&, choices::description&) {}

std::optional<choices::call_key> key_of(const context& where, const linear_problem& p,
                                        const linear_options& options) {
  if (options.kernel != "auto") return std::nullopt;
  choices::call_key key(where);
  key.add(p.x.data, p.w.data, p.y.data, p.m, p.n, p.k, p.members, p.bias, p.residual.data, p.group_ends);
  for (const linear_operand* o : {&p.x, &p.w}) key.add(o->row_stride, o->k_stride, o->member_stride);
  key.add(p.y.row_stride, p.y.member_stride, p.residual.row_stride, p.residual.member_stride,
          p.bias_member_stride, p.in, p.out, p.function, options.overlap);
  key.add_device(choices::family::linear_layers);
  return key;
}

}  // namespace

launch_counts linear(const context& where, const linear_problem& p, const linear_options& options) {
  const std::optional<choices::call_key> key = key_of(where, p, options);
  const choices::work w{.context = where, .queue = options.stream};
  if (const choices::recalled known(key); known.get() != nullptr) {
    linears::require_groups(where.kind(), p);  // which another call may have changed
    return choices::run(*known.get(), w);
  }
  linears::require_sensible(p, options);
  linears::require_groups(where.kind(), p);
  const linear_plan plan = linears::plan_of(where.runs_on(), p, options);
  if (plan.grid.count() == 0) return {};
  const auto made = choices::plan::of_type<launch, describe>(plan, 0);
  if (key) choices::remember(*key, made);
  return choices::run(made, w);
}

linear_choice explain(const context& where, const linear_problem& p, const linear_options& options) {
  linears::require_sensible(p, options);
  const linear_plan plan = linears::plan_of(where.runs_on(), p, options);
  return {std::string(linears::name_in_options(plan.code)), plan.grid.count(), plan.seconds};
}

std::vector<std::string> linear_kernels(const context& where, element in) {
  return linears::kernel_names(where.kind(), in);
}

}  // namespace antiphase
