// SPDX-License-Identifier: Apache-2.0
// From a Tensor Core step and a problem to a launch.
#include <antiphase/gemm/tensor_core_ladder.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cstdint>
#include <limits>

#include "core/names.hpp"
#include "library/gemm/operands/views.hpp"
#include "library/linear/linear_lists.hpp"
#include "library/linear/plan.hpp"

namespace antiphase::gemms {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

void require_rows(const named_view& v) {
  require_extents(v);
  if (v.column_stride != 1)
    throw bad_request(fmt::format("{} has column stride {}: expected 1", v.name, v.column_stride));
  require_memory(v);
}
void require_aligned(const char* name, const matrix_view<const f16>& v) {
  require_rows(named(name, v));
  if (reinterpret_cast<std::uintptr_t>(v.data) % 16 != 0 || v.row_stride % 8 != 0 ||
      (v.row_stride < v.columns && v.rows > 1))
    throw bad_request(fmt::format(
        "{} has rows of {} elements, {} apart, from {} on: expected rows that start at multiples of 16 bytes",
        name, v.columns, v.row_stride, static_cast<const void*>(v.data)));
}
void require_sensible(const tensor_core_problem& p) {
  require_aligned("A", p.a);
  require_aligned("B", p.b);
  require_rows(named("C", p.c));
  if (p.a.rows != p.c.rows || p.b.columns != p.c.columns || p.a.columns != p.b.rows)
    throw bad_request(fmt::format("A is {} x {}, B {} x {}, C {} x {}: they must agree", p.a.rows,
                                  p.a.columns, p.b.rows, p.b.columns, p.c.rows, p.c.columns));
  require_distinct(named("C", p.c));
  require_apart(named("C", p.c), named("A", p.a));
  require_apart(named("C", p.c), named("B", p.b));
}

// The same product as a linear layer: W is B, along its other index.
linear_problem as_layer(const tensor_core_problem& p) {
  return {.in = element::f16,
          .out = element::f32,
          .x = {p.a.data, p.a.row_stride},
          .w = {p.b.data, 1, p.b.row_stride},
          .y = {p.c.data, p.c.row_stride},
          .m = p.m(),
          .n = p.n(),
          .k = p.k()};
}
// The step's launch; if there is nothing to multiply, one by whole warps, as no tile makes zeros of nothing.
linears::linear_plan layer_plan(const executor& where, const tensor_core_step& how, const kernel& code,
                                const linear_problem& p) {
  if (how.feed == feeding::threads)
    return linears::plan_of(where, p, linears::mma_policy{false, how.tile.m, how.stages, how.tile_k}, code);
  if (p.k > 0)
    return linears::plan_of(where, p,
                            linears::tile_policy{.of_bf16 = false,
                                                 .groups = how.tile.m / 64,
                                                 .columns = how.tile.n,
                                                 .w_across = true,
                                                 .slots = how.stages},
                            code);
  const linears::mma_instance& zeros = *std::ranges::find_if(linears::mma_instances(where.kind()),
                                                             [](const auto& i) { return !i.policy.of_bf16; });
  return linears::plan_of(where, p, zeros.policy, zeros.code);
}

}  // namespace

const tensor_core_step& find_tensor_core_step(std::string_view name) {
  return find_named(tensor_core_steps, "f16 step of the GEMM ladder", name);
}

std::span<const tensor_core_instance> tensor_core_instances(target where) {
  return instances_of<linears::linear_lists, tensor_core_instance>(where);
}

namespace {

const kernel* code_of(target where, const tensor_core_step& how) {
  for (const tensor_core_instance& i : tensor_core_instances(where))
    if (std::string_view(i.step) == how.name) return &i.code;
  return nullptr;
}

}  // namespace

std::optional<std::string> refuses(const executor& where, const tensor_core_step& how) {
  if (auto why = lacks(where.limits(), needs_of(how))) return why;
  const kernel* const code = code_of(where.kind(), how);
  if (code == nullptr) return "this build has no kernel for it";
  return refusal(where.limits(), *code);
}

tensor_core_plan prepare(const executor& where, const tensor_core_step& how, const tensor_core_problem& p) {
  if (const auto why = refuses(where, how)) throw not_supported(fmt::format("policy {}: {}", how.name, *why));
  return prepare(where, how, *code_of(where.kind(), how), p);
}

tensor_core_plan prepare(const executor& where, const tensor_core_step& how, const kernel& code,
                         const tensor_core_problem& p) {
  require_sensible(p);
  if (std::max({p.m(), p.n(), p.k()}) > most - 256)
    throw not_supported(fmt::format("policy {}: C is {} x {} with K = {}, which is too large", how.name,
                                    p.m(), p.n(), p.k()));
  if (p.m() == 0 || p.n() == 0) return {how, code, {0, 0, 0}, nullptr};
  const linears::linear_plan plan = layer_plan(where, how, code, as_layer(p));
  return {how, plan.code, plan.grid, std::make_shared<linears::arguments>(plan.arguments)};
}

launch_counts run(const executor& where, const tensor_core_plan& plan, stream on) {
  return where.launch(plan.code, plan.grid, plan.arguments.get(), on);
}

}  // namespace antiphase::gemms
