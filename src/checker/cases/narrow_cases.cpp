// SPDX-License-Identifier: Apache-2.0
// Cases of products of TF32 parts, by every compiled kernel.
#include <algorithm>

#include "src/checker/cases/product_cases.hpp"
#include "src/gemm/narrow/narrow_plan.hpp"

namespace antiphase::checker_detail {
namespace {

std::uint64_t narrow_by(const context& where, const gemms::narrow_instance& with, const product& p, bool turned, int cluster, int parts,
                        unsigned most_blocks = 2) {
  on_device d(where, p);
  gemms::narrow_plan plan = gemms::plan_narrow(where, d.what, {}, with, turned, {cluster, parts});
  if (cluster * parts == 1) plan.grid.x = std::min(plan.grid.x, most_blocks);
  device_array<std::byte> workspace(where, anything(plan.workspace() + 1));
  device_array<std::uint64_t> recomputed(where, std::vector<std::uint64_t>(1));
  gemms::run(where, plan, {workspace.data(), plan.workspace()}, recomputed.data(), nullptr);
  where.runs_on().synchronize(nullptr);
  require_kept(where, with.code.name, p, d.c.to_host());
  return recomputed.to_host()[0];
}
// The ring going around from tile to tile, edges, lines of few nonzeros, outputs that are computed again, and tiles that clusters and parts
// share.
void narrow_by(const context& where, const gemms::narrow_instance& with) {
  using enum storage_order;
  const auto along = [](bool k, storage_order otherwise) { return k ? otherwise : otherwise == rows ? columns : rows; };
  const storage_order of_long = along(with.how.long_along_k, rows), of_short = along(with.how.short_along_k, columns);
  const std::int64_t around = with.how.stages() * gemms::narrow_step + 39;
  narrow_by(where, with, {132, 68, around, 1, 0, of_long, of_short, 4, 0}, false, 1, 1, 1);
  narrow_by(where, with, with_odd_lines({36, 32, 71, -1.5f, 0.5f, of_long, of_short, 1, 0}), false, 1, 1);
  product small(20, 12, 70, 1, 1, of_long, of_short, 4, 0);
  for (std::int64_t k = 0; k < 70; ++k) small.a(3, k) *= 0x1p-120f;
  if (const auto again = narrow_by(where, with, small, false, 1, 1); again != 12)
    throw std::runtime_error(fmt::format("{}: {} outputs were computed again, expected 12", with.code.name, again));
  narrow_by(where, with, with_odd_lines({36, 32, 300, 1, 0.5f, of_long, of_short, 4, 0}), false, 2, 2);
}

}  // namespace

std::string case_of(const gemms::narrow_policy& how) {
  return how.by == gemms::stream_loader::engine ? "gemm/narrow" : "gemm/narrow-async";
}

std::vector<checked_case> narrow_cases() {
  std::vector<checked_case> cases;
  for (const gemms::stream_loader by : {gemms::stream_loader::engine, gemms::stream_loader::threads}) {
    std::vector<gemms::narrow_instance> all;
    for (const gemms::narrow_instance& i : gemms::narrow_instances(target::checked))
      if (i.how.by == by) all.push_back(i);
    cases.push_back(
        {case_of(all.front().how),
         by == gemms::stream_loader::engine ? "three products of TF32 parts, fed by the copy engine" : "the same, fed by threads",
         [all](const context& where) {
           for (const gemms::narrow_instance& i : all) narrow_by(where, i);
         }});
  }
  return cases;
}

}  // namespace antiphase::checker_detail
