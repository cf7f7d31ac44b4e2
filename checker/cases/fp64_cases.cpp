// SPDX-License-Identifier: Apache-2.0
// Cases of products with sums in FP64: streams and inner products, by every compiled kernel, few values of K,
// and epilogues.
#include "checker/cases/product_cases.hpp"
#include "library/gemm/fp64/dots/dots_plan.hpp"
#include "library/gemm/fp64/fp64_plan.hpp"

#include <algorithm>
#include <memory>
#include <optional>

namespace antiphase::checker_detail {
namespace {

// An epilogue that touches all it can: the results are twice what the product says.
struct doubling {
  device_array<float> zeros, before;
  gemms::epilogue after;

  doubling(const context& where, const product& p)
      : zeros(where, std::vector<float>(static_cast<std::size_t>(std::max(p.c.rows, p.c.columns)))),
        before(where, p.c.memory) {
    after.scale = 2;
    after.row_bias = after.column_bias = zeros.data();
    after.before = p.c.view(before.data());
  }
  static product expected(product p) {
    p.alpha *= 2, p.beta *= 2;
    return p;
  }
};

void multiply_by(const context& where, const gemms::fp64_instance& with, const product& p, bool turned,
                 int cluster, int parts) {
  on_device d(where, p);
  const doubling twice(where, p);
  const gemms::fp64_plan plan =
      gemms::plan_fp64(where, d.problem, {}, with.policy.finishes ? twice.after : gemms::epilogue{}, with,
                       turned, {with.policy.slabs, cluster, parts});
  device_array<std::byte> workspace(where, anything(plan.workspace()));
  gemms::run(where, plan, {workspace.data(), plan.workspace()}, nullptr);
  where.runs_on().synchronize(nullptr);
  require_kept(where, with.code.name, with.policy.finishes ? doubling::expected(p) : p, d.c.to_host());
}
// Whole tiles and edges, stored along either operand and one by one, with the ring going around, infinities,
// and tiles that clusters and parts share.
void multiply_by(const context& where, const gemms::fp64_instance& with) {
  using enum storage_order;
  const gemms::fp64_policy& how = with.policy;
  if (how.kind == gemms::kernel_kind::kept_lines) {
    const std::int64_t most = gemms::most_kept_k(how);
    if (how.whole) {  // which knows no edges
      multiply_by(where, with, {48, 32, most, 1, 0.5f, rows, columns}, false, 1, 1);
      return multiply_by(where, with, {64, 48, most, -1.5f, 0, columns, rows}, true, 1, 1);
    }
    multiply_by(where, with, {133, 37, most, 1, 0}, false, 1, 1);
    multiply_by(where, with, with_odd_lines({71, 131, most - 3, 1, 0, rows, columns, 1}), true, 1, 1);
    return multiply_by(where, with, {67, 36, 4, -1.5f, 0.5f, columns, columns}, false, 1, 1);
  }
  if (how.kind == gemms::kernel_kind::block_tile || how.kind == gemms::kernel_kind::warp_tile) {
    const std::int64_t round = gemms::held_k * how.slabs;
    multiply_by(where, with, {how.tile.m, how.tile.n, 2 * round, 1, 0}, false, 1, 1);
    for (const std::int64_t k : {round + 22, round + 5, round - 3})
      for (const storage_order of_a : {rows, columns})
        for (const storage_order of_b : {rows, columns})
          multiply_by(where, with, {how.tile.n + 3, how.tile.m + 5, k, -1.5f, 0.5f, of_a, of_b, 1, 0},
                      of_a == of_b, 1, 1);
    if (how.kind == gemms::kernel_kind::block_tile)
      return multiply_by(where, with, with_odd_lines({37, 31, round - 11, 1, 0}), false, 1, 1);
    return multiply_by(where, with, with_odd_lines({21, 31, 61, 1, 0}), false, 1, 1);
  }
  const std::int64_t stage = gemms::slab_k * how.slabs,
                     around = (std::max(how.stages, how.held) + 1) * stage + 19, once = stage + 7;
  multiply_by(where, with, {how.tile.m, how.tile.n, around, 1, 0}, false, 1, 1);
  // which does not lie at a multiple of 16 bytes
  const storage_order of_b = how.loader == gemms::loader::tma ? rows : columns;
  multiply_by(where, with, {how.tile.n + 3, how.tile.m + 5, once, -1.5f, 0.5f, columns, of_b, 1}, true, 1, 1);
  if (!how.shares) return;
  multiply_by(where, with, {how.tile.m, how.tile.n, 4 * once, 1, 0.5f}, false, 2, 2);
  multiply_by(where, with, with_odd_lines({37, 31, 4 * once, 1, 0}), false, 2, 1);
}

// Lines of either operand along k and across, edges, infinities, warps that share an output, and a vector.
void inner_products_by(const context& where, const gemms::dots_instance& with) {
  using enum storage_order;
  const auto multiply = [&](const product& p, const gemms::dots_division& how, int threads = 0) {
    std::optional<gemms::vector_form> form;
    if (with.for_vector()) form = {threads, with.lines_of_thread};
    on_device d(where, p);
    const doubling twice(where, p);
    auto plan = gemms::plan_dots(where, d.problem, {}, with.finishes ? twice.after : gemms::epilogue{}, how,
                                 with.across, form);
    plan->instance = &with;
    gemms::run(where, *plan, nullptr);
    where.runs_on().synchronize(nullptr);
    require_kept(where, with.code.name, with.finishes ? doubling::expected(p) : p, d.c.to_host());
  };
  if (with.for_vector()) {
    multiply({70, 1, 292, 1, 0, with.across ? columns : rows, columns}, gemms::divided_for_vector(32), 128);
    multiply({1, 36, 1100, -1.5f, 0.5f, columns, rows, 1}, gemms::divided_for_vector(64),
             gemms::dots_vector_threads(with.across));
    multiply(with_odd_lines({21, 1, 139, 1, 0, columns, neither, 1}), gemms::divided_for_vector(256), 256);
    return;
  }
  if (with.across) {
    multiply({70, 9, 145, 1, 0, columns, rows}, gemms::divided_by_lanes(16, with.square));
    multiply({9, 35, 300, -1.5f, 0.5f, rows, rows, 1}, gemms::divided_by_lanes(64, with.square));
    multiply(with_odd_lines({21, 5, 139, 1, 0, columns, neither, 1}),
             gemms::divided_by_lanes(128, with.square));
    return;
  }
  multiply({70, 9, 45, 1, 0, rows, columns}, gemms::divided_by_lanes(4, with.square));
  multiply({9, 35, 300, -1.5f, 0.5f, columns, rows, 1}, gemms::divided_by_lanes(16, with.square));
  multiply(with_odd_lines({21, 5, 139, 1, 0, neither, rows, 1}), gemms::divided_by_lanes(128, with.square));
}

// By a policy that takes the epilogue, or leaves it to a pass of its own.
void multiply(const context& where, const char* kernel, const char* policy, const product& p, bool finishes) {
  on_device d(where, p);
  const doubling twice(where, p);
  gemm(where, d.problem, {.policy = policy, .epilogue = finishes ? twice.after : gemms::epilogue{}});
  where.runs_on().synchronize(nullptr);
  require_kept(where, kernel, finishes ? doubling::expected(p) : p, d.c.to_host());
}
void multiply_short(const context& where) {
  using enum storage_order;
  for (const bool finishes : {false, true})
    for (const product& p :
         {product(71, 133, 3, 1, 0), with_odd_lines({71, 133, 4, -1.5f, 0.5f, columns, columns, 1}),
          product(64, 128, 4, 1, 2, neither, neither)})
      multiply(where, "gemm.fp64-short", "fp64-short", p, finishes);
}
void finish_results(const context& where) {
  for (const std::int64_t k : {0, 7})
    multiply(where, "gemm.finish", "naive", {21, 133, k, -1.5f, 0.5f}, true);
}

}  // namespace

std::string case_of(const gemms::fp64_policy& how) {
  const char* const end = how.finishes ? "-finish" : "";
  switch (how.kind) {
    case gemms::kernel_kind::ring:
      if (how.finishes) return "gemm/fp64-finish";
      return how.loader == gemms::loader::tma ? "gemm/fp64" : "gemm/fp64-async";
    case gemms::kernel_kind::kept_lines: return fmt::format("gemm/fp64-kept{}", end);
    case gemms::kernel_kind::block_tile: return fmt::format("gemm/fp64-block{}", end);
    case gemms::kernel_kind::warp_tile: return fmt::format("gemm/fp64-warp{}", end);
  }
  return {};
}
namespace {

std::string about(const gemms::fp64_policy& how) {
  const char* const end = how.finishes ? ", with an epilogue" : "";
  switch (how.kind) {
    case gemms::kernel_kind::ring:
      return fmt::format("sums in FP64 on Tensor Cores, by a ring that {}{}",
                         how.loader == gemms::loader::tma ? "TMA fills" : "copying warps fill", end);
    case gemms::kernel_kind::kept_lines:
      return fmt::format("the same, without a ring, for few k: an operand stays in registers{}", end);
    case gemms::kernel_kind::block_tile:
      return fmt::format("the same, for small products: each warp has a share of K in registers{}", end);
    case gemms::kernel_kind::warp_tile:
      return fmt::format("the same, for few k: each warp has a tile and all k in registers{}", end);
  }
  return {};
}

}  // namespace

std::vector<checked_case> fp64_cases() {
  std::vector<checked_case> cases;
  const auto adds = [](std::string_view policy) { return std::string(gemms::find_policy(policy)->adds); };
  cases.push_back({"gemm/fp64-short", adds("fp64-short"), multiply_short});
  cases.push_back({"gemm/fp64-dots", adds("fp64-dots"), [](const context& where) {
                     for (const gemms::dots_instance& i : gemms::dots_instances(target::checked))
                       inner_products_by(where, i);
                   }});
  // A case for each kind of kernel, in the order of the table.
  std::vector<std::pair<std::string, std::vector<gemms::fp64_instance>>> kinds;
  for (const gemms::fp64_instance& i : gemms::fp64_instances(target::checked)) {
    const std::string name = case_of(i.policy);
    const auto found = std::ranges::find(kinds, name, [](const auto& kind) { return kind.first; });
    if (found == kinds.end())
      kinds.emplace_back(name, std::vector{i});
    else
      found->second.push_back(i);
  }
  for (const auto& [name, all] : kinds)
    cases.push_back({name, about(all.front().policy), [all = all](const context& where) {
                       for (const gemms::fp64_instance& i : all) multiply_by(where, i);
                     }});
  cases.push_back(
      {"gemm/finish", "a pass over results, for policies that know no epilogues", finish_results});
  return cases;
}

}  // namespace antiphase::checker_detail
