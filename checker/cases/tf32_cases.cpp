// SPDX-License-Identifier: Apache-2.0
// Cases of products of TF32 parts, by every compiled kernel.
#include <algorithm>

#include "checker/cases/product_cases.hpp"
#include "library/gemm/tf32/tf32_plan.hpp"

namespace antiphase::checker_detail {
namespace {

std::uint64_t tf32_by(const context& where, const gemms::tf32_instance& with, const product& p, bool turned,
                      int cluster, int parts, unsigned most_blocks = 2, int pieces = 0) {
  on_device d(where, p);
  gemms::tf32_plan plan = gemms::plan_tf32(where, d.problem, {}, with, turned, {cluster, parts, pieces});
  if (cluster * parts == 1) plan.grid.x = std::min(plan.grid.x, most_blocks);
  device_array<std::byte> workspace(where, anything(plan.workspace() + 1));
  device_array<std::uint64_t> recomputed(where, std::vector<std::uint64_t>(1));
  gemms::run(where, plan, {workspace.data(), plan.workspace()}, recomputed.data(), nullptr);
  where.runs_on().synchronize(nullptr);
  require_kept(where, with.code.name, p, d.c.to_host());
  return recomputed.to_host()[0];
}
struct orders {
  storage_order of_long, of_short;
};
orders orders_of(const gemms::tf32_policy& how) {
  using enum storage_order;
  return {how.long_along_k ? rows : columns, how.short_along_k ? columns : rows};
}
// 12 outputs are computed again.
void compute_again(const context& where, const gemms::tf32_instance& with, std::int64_t k_extent) {
  const orders lie = orders_of(with.policy);
  product small(20, 12, k_extent, 1, 1, lie.of_long, lie.of_short, 4, 0);
  for (std::int64_t k = 0; k < k_extent; ++k) small.a(3, k) *= 0x1p-120f;
  if (const auto again = tf32_by(where, with, small, false, 1, 1); again != 12)
    throw std::runtime_error(
        fmt::format("{}: {} outputs were computed again, expected 12", with.code.name, again));
}
// Operands along k whose rows begin anywhere, which copying threads take in aligned pieces.
product with_uneven_rows(product p) {
  p.a = placed(p.a.rows, p.a.columns, storage_order::rows, 1, 1);
  p.b = placed(p.b.rows, p.b.columns, storage_order::columns, 3, 1);
  p.a.fill([](std::uint64_t place) { return real(1, place); });
  p.b.fill([](std::uint64_t place) { return real(2, place); });
  return p;
}
// The ring going around from tile to tile, edges, lines of few nonzeros, outputs that are computed again, and
// tiles that clusters and parts share.
void tf32_by(const context& where, const gemms::tf32_instance& with) {
  const orders lie = orders_of(with.policy);
  const std::int64_t around = with.policy.stages() * gemms::tf32_stage_k + 39;
  tf32_by(where, with, {132, 68, around, 1, 0, lie.of_long, lie.of_short, 4, 0}, false, 1, 1, 1);
  tf32_by(where, with, with_odd_lines({36, 32, 71, -1.5f, 0.5f, lie.of_long, lie.of_short, 1, 0}), false, 1,
          1);
  compute_again(where, with, 70);
  // an odd number of stages, so that the last one of a pair is empty
  if (with.policy.loader == gemms::loader::cp_async)
    tf32_by(where, with, with_uneven_rows({36, 32, 71, 1, 0}), false, 1, 1);
  tf32_by(where, with, with_odd_lines({36, 32, 300, 1, 0.5f, lie.of_long, lie.of_short, 4, 0}), false, 2, 2);
}
// Pieces one after the other, with the ring going around from tile to tile, by a cluster, and lines of few
// nonzeros; of as many columns as there can be.
void tf32_in_pieces_by(const context& where, const gemms::tf32_instance& with) {
  const orders lie = orders_of(with.policy);
  const std::int64_t n = with.policy.columns < gemms::tf32_tile.n ? with.policy.columns : 68,
                     around = with.policy.stages() * gemms::tf32_stage_k + 39;
  tf32_by(where, with, {132, n, around, 1, 0, lie.of_long, lie.of_short, 4, 0}, false, 1, 1, 1, 2);
  const auto odd = [&] {
    return with_odd_lines({36, n / 8 * 4, 300, 1, 0.5f, lie.of_long, lie.of_short, 4, 0});
  };
  tf32_by(where, with, odd(), false, 1, 1, 1, 3);
  tf32_by(where, with, odd(), false, 2, 1, 2, 2);
}
// Both rings going around, the columns' too, edges, and every way out: stored by the engine, also where C is
// added, by rows, and one by one.
void tf32_kept_by(const context& where, const gemms::tf32_instance& with) {
  const orders lie = orders_of(with.policy);
  const std::int64_t k = 16 * with.policy.kept_halves - 3;
  tf32_by(where, with, {530, 132, k, 1, 0, lie.of_long, lie.of_short, 4, 0}, false, 1, 1, 1);
  tf32_by(where, with, {400, 68, k, -1.5f, 0.5f, lie.of_long, lie.of_short, 4, 0}, false, 1, 1, 1);
  tf32_by(where, with, {140, 67, k, 1, 0.5f, lie.of_long, lie.of_short, 1, 0}, false, 1, 1);
  tf32_by(where, with, with_odd_lines({140, 68, k, 1, 0.5f, lie.of_long, lie.of_short, 4, 0}), false, 1, 1,
          1);
  compute_again(where, with, k);
}

}  // namespace

std::string case_of(const gemms::tf32_policy& how) {
  if (how.kept_halves > 0) return "gemm/tf32-kept";
  if (how.columns > 0) return "gemm/tf32-pieces";
  return how.loader == gemms::loader::tma ? "gemm/tf32" : "gemm/tf32-async";
}

std::vector<checked_case> tf32_cases() {
  constexpr const char* told[][2] = {
      {"gemm/tf32", "three products of TF32 parts, fed by the copy engine"},
      {"gemm/tf32-async", "the same, fed by threads"},
      {"gemm/tf32-pieces", "the same, K added up in pieces, for rows with the same bits in any batch"},
      {"gemm/tf32-kept", "the same of few k, with the short operand kept in shared memory"}};
  std::vector<checked_case> cases;
  for (const auto& [name, what] : told) {
    std::vector<gemms::tf32_instance> all;
    for (const gemms::tf32_instance& i : gemms::tf32_instances(target::checked))
      if (case_of(i.policy) == name) all.push_back(i);
    cases.push_back({name, what, [all](const context& where) {
                       for (const gemms::tf32_instance& i : all)
                         i.policy.kept_halves > 0 ? tf32_kept_by(where, i)
                         : i.policy.columns > 0   ? tf32_in_pieces_by(where, i)
                                                  : tf32_by(where, i);
                     }});
  }
  return cases;
}

}  // namespace antiphase::checker_detail
