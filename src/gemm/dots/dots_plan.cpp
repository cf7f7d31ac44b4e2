// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/dots/dots_plan.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <limits>

#include "src/gemm/cost.hpp"
#include "src/gemm/registry.hpp"

namespace antiphase::gemms {

namespace {

int few_of(const problem& p) { return static_cast<int>(std::min(p.m(), p.n())); }

}  // namespace

const std::vector<dots_instance>& dots_instances(target where) { return instances_of<dots_instance>(where); }

bool dots_tiles_fit(const problem& p, const batch& of) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() / 8;
  return std::max(p.m(), p.n()) <= most / of.count;  // a block has a line at least
}

// A thread gets 16 values of k at least, if there are so many; 4 as long as there are multiprocessors without work. These share lines
// within a block, which keeps 16 of them, as what lies along lines is read in pieces of so many, and after that as clusters.
dots_division divide_dots(const context& where, const problem& p, const batch& of) {
  constexpr int most_cluster = 8, among_a_warp = 32, least_lines = 16;
  const int few = few_of(p), most_slots = dots_most_slots(few), processors = multiprocessors_of(where.limits());
  dots_division d{dots_least_slots, 1};
  const std::int64_t lines = std::max(p.m(), p.n());
  const auto blocks = [&] { return ceil_div<std::int64_t>(lines, d.lines(few)) * of.count; };
  while (d.slots < among_a_warp && p.k() > std::int64_t{16} * d.slots) d.slots *= 2;
  while (d.slots < most_slots && p.k() > std::int64_t{dots_step} * d.slots && 2 * blocks() <= processors &&
         d.lines(few) / 2 >= std::min<std::int64_t>(lines, least_lines))
    d.slots *= 2;
  if (features_of(where.limits()).clusters)
    while (d.cluster < most_cluster && blocks() * d.cluster < processors && p.k() >= std::int64_t{8} * d.slots * d.cluster) d.cluster *= 2;
  return d;
}

// Fitted to the times of 98 random shapes on an H200.
double dots_seconds(const context& where, const problem& p, const batch& of, const dots_division& how) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  const double of_132 = multiprocessors_of(where.limits()) / 132.;
  const int few = few_of(p), lines = few > 4 ? 8 : few > 2 ? 4 : few;
  const std::int64_t blocks = ceil_div<std::int64_t>(std::max(p.m(), p.n()), how.lines(few)) * of.count * how.cluster;
  const double rounds = std::max(1., size(blocks) / (2 * 132 * of_132));
  const double of_thread = size(ceil_div<std::int64_t>(p.k(), std::int64_t{dots_step} * how.slots * how.cluster));
  const double outputs = (p.beta == 0 ? 1 : 2) * size(p.m()) * size(p.n());
  const double bytes = 4 * size(of.count) * (size(p.m()) * size(p.k()) + size(p.k()) * size(p.n()) + outputs);
  const double bandwidth = (bytes > 4e7 ? 4.0e6 : 5.5e6) * of_132;
  return 1e-6 *
         (0.08 * lines + (how.cluster > 1 ? 0.44 : 0) + std::max(rounds * (2.05 + of_thread * (0.71 + 0.124 * lines)), bytes / bandwidth));
}

std::optional<dots_plan> plan_dots(const context& where, const problem& p, const batch& of, const epilogue& after,
                                   const dots_division& how) {
  dots_plan plan{.what = p, .of = of, .after = after, .turned = p.n() > p.m(), .how = how};
  const std::int64_t few = std::min(p.m(), p.n());
  for (const dots_instance& i : dots_instances(where.kind())) {
    if (i.finishes == after.is_plain() || i.lines < few || shortage_of(where.limits(), i.code) != shortage::none) continue;
    if (plan.with == nullptr || i.lines < plan.with->lines) plan.with = &i;
  }
  if (plan.with == nullptr) return std::nullopt;
  plan.how.slots = std::min(plan.how.slots, dots_most_slots(plan.with->lines));  // the one that knows epilogues is made for eight lines
  plan.tiles = ceil_div<std::int64_t>(std::max(p.m(), p.n()), plan.lines());
  plan.grid.x = static_cast<unsigned>(plan.tiles * of.count * how.cluster);
  return plan;
}

launch_counts run(const context& where, const dots_plan& plan, stream on) {
  const problem& p = plan.what;
  const line_operand a = lines_of(p.a, plan.of.a, plan.of.a_stride), b = lines_of(transposed(p.b), plan.of.b, plan.of.b_stride);
  const ending end = ending_of(p, plan.after);
  const std::int64_t of_thread = ceil_div<std::int64_t>(p.k(), std::int64_t{dots_step} * plan.how.slots);
  const dots_problem arguments{.of_long = plan.turned ? b : a,
                               .of_short = plan.turned ? a : b,
                               .c = p.c.data,
                               .c_member = plan.of.c,
                               .long_stride = plan.turned ? p.c.column_stride : p.c.row_stride,
                               .short_stride = plan.turned ? p.c.row_stride : p.c.column_stride,
                               .batch_stride = plan.of.c_stride,
                               .k = p.k(),
                               .k_of_block = ceil_div<std::int64_t>(of_thread, plan.how.cluster) * dots_step * plan.how.slots,
                               .slots = plan.how.slots,
                               .lines = plan.lines(),
                               .tiles = static_cast<std::uint32_t>(plan.tiles),
                               .end = plan.turned ? transposed(end) : end};
  kernel code = plan.with->code;
  code.cluster = plan.how.cluster;
  return where.runs_on().launch(code, plan.grid, &arguments, on);
}

}  // namespace antiphase::gemms
