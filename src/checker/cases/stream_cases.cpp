// SPDX-License-Identifier: Apache-2.0
// Cases of products with sums in FP64: streams, by every compiled kernel, and few values of K.
#include "src/checker/cases/product_cases.hpp"
#include "src/gemm/stream/stream_plan.hpp"

namespace antiphase::checker_detail {
namespace {

void stream_by(const context& where, const gemms::stream_instance& with, const product& p, bool turned, int cluster, int parts) {
  on_device d(where, p);
  const gemms::stream_plan plan = gemms::plan_stream(where, d.what, {}, {}, with, turned, {with.how.slabs, cluster, parts});
  device_array<std::byte> workspace(where, plan.workspace());
  gemms::run(where, plan, {workspace.data(), plan.workspace()}, nullptr);
  where.runs_on().synchronize(nullptr);
  require_kept(where, with.code.name, p, d.c.to_host());
}
// Whole tiles and edges, stored along either operand and one by one, with the ring going around, lines of few nonzeros, and tiles that
// clusters and parts share.
void stream_by(const context& where, const gemms::stream_instance& with) {
  using enum storage_order;
  const gemms::stream_policy& how = with.how;
  const std::int64_t stage = gemms::stream_step * how.slabs, around = (how.stages + 1) * stage + 19, once = stage + 7;
  stream_by(where, with, {how.tile.m, how.tile.n, around, 1, 0}, false, 1, 1);
  const storage_order of_b = how.by == gemms::stream_loader::engine ? rows : columns;  // which does not lie at a multiple of 16 bytes
  stream_by(where, with, {how.tile.n + 3, how.tile.m + 5, once, -1.5f, 0.5f, columns, of_b, 1}, true, 1, 1);
  if (!how.shares) return;
  stream_by(where, with, {how.tile.m, how.tile.n, 4 * once, 1, 0.5f}, false, 2, 2);
  stream_by(where, with, with_odd_lines({37, 31, 4 * once, 1, 0}), false, 2, 1);
}

void multiply_short(const context& where) {
  using enum storage_order;
  for (const product& p : {product(71, 133, 3, 1, 0), with_odd_lines({71, 133, 4, -1.5f, 0.5f, columns, columns, 1}),
                           product(64, 128, 4, 1, 2, neither, neither)}) {
    on_device d(where, p);
    gemm(where, d.what, {.policy = "short"});
    where.runs_on().synchronize(nullptr);
    require_kept(where, "gemm.short", p, d.c.to_host());
  }
}

}  // namespace

std::string case_of(const gemms::stream_policy& how) {
  return how.by == gemms::stream_loader::engine ? "gemm/stream" : "gemm/stream-async";
}

std::vector<checked_case> stream_cases() {
  std::vector<checked_case> cases;
  for (const gemms::policy_info& n : gemms::policies())
    if (n.name == "short") cases.push_back({"gemm/short", std::string(n.adds), multiply_short});
  for (const gemms::stream_loader by : {gemms::stream_loader::engine, gemms::stream_loader::threads}) {
    std::vector<gemms::stream_instance> all;
    for (const gemms::stream_instance& i : gemms::stream_instances(target::checked))
      if (i.how.by == by) all.push_back(i);
    cases.push_back(
        {case_of(all.front().how),
         by == gemms::stream_loader::engine ? "sums in FP64 on Tensor Cores, fed by the copy engine" : "the same, fed by threads",
         [all](const context& where) {
           for (const gemms::stream_instance& i : all) stream_by(where, i);
         }});
  }
  return cases;
}

}  // namespace antiphase::checker_detail
