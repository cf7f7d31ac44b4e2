// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/fp64/group_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <limits>

#include "src/gemm/fp64/fp64_lists.hpp"
#include "src/gemm/fp64/fp64_plan.hpp"
#include "src/gemm/operands/cost_terms.hpp"

namespace antiphase::gemms {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - 128;

std::int64_t tiles_of(const fp64_policy& how, const problem& p) {
  return ceil_div<std::int64_t>(std::max(p.m(), p.n()), how.tile.m) *
         ceil_div<std::int64_t>(std::min(p.m(), p.n()), how.tile.n);
}
std::int64_t slabs_of(const problem& p) { return ceil_div<std::int64_t>(p.k(), slab_k); }

group_member member_of(const problem& p, const fp64_policy& how, std::uint32_t first) {
  const bool turned = p.n() > p.m();
  const auto [long_one, short_one] = operands_of(p, {}, turned);
  const std::int64_t c_long = turned ? p.c.column_stride : p.c.row_stride,
                     c_short = turned ? p.c.row_stride : p.c.column_stride;
  const bool c_along_short = c_short == 1 || (turned ? p.m() : p.n()) == 1;
  const auto apart = [](std::int64_t of_lines, std::int64_t of_k, bool along_k) {
    return static_cast<std::int32_t>(along_k ? of_lines : of_k);
  };
  return {.of_long = long_one.data,
          .of_short = short_one.data,
          .c = p.c.data,
          .long_apart = apart(long_one.line_stride, long_one.k_stride, long_one.along_k),
          .short_apart = apart(short_one.line_stride, short_one.k_stride, short_one.along_k),
          .c_apart = apart(c_long, c_short, c_along_short),
          .long_lines = static_cast<std::int32_t>(long_one.lines),
          .short_lines = static_cast<std::int32_t>(short_one.lines),
          .k = static_cast<std::int32_t>(p.k()),
          .first = first,
          .alpha = p.alpha,
          .beta = p.beta,
          .long_along_k = long_one.along_k,
          .short_along_k = short_one.along_k,
          .long_wide = long_one.width == 4,
          .short_wide = short_one.width == 4,
          .c_along_short = c_along_short,
          .packs = packs_of(p, {}, turned, how.cell_width())};
}

const costs::group_times& times_of(const costs::group_cost& cost, const fp64_policy& how) {
  return cost.tiles[how.tile.m == 32 ? 0 : how.tile.m == 64 ? 1 : 2];
}

}  // namespace

const std::vector<group_instance>& group_instances(target where) {
  return instances_of<fp64_lists, group_instance>(where);
}

bool groups(const problem& p) {
  const auto fits = [](std::int64_t rows, std::int64_t row_stride, std::int64_t columns,
                       std::int64_t column_stride) {
    const auto side_by_side = [](std::int64_t extent, std::int64_t stride) {
      return extent == 1 || stride == 1;
    };
    const auto small = [](std::int64_t stride) { return stride <= most && stride >= -most; };
    return small(row_stride) && small(column_stride) &&
           (side_by_side(rows, row_stride) || side_by_side(columns, column_stride));
  };
  return p.k() >= 1 && p.m() <= most && p.n() <= most && p.k() <= most &&
         fits(p.m(), p.a.row_stride, p.k(), p.a.column_stride) &&
         fits(p.k(), p.b.row_stride, p.n(), p.b.column_stride) &&
         fits(p.m(), p.c.row_stride, p.n(), p.c.column_stride);
}

group_cost group_cost_of(const fp64_policy& how, const problem& p, const device_limits& device) {
  const costs::models& card = costs::models_of(device);
  const costs::group_times& us = times_of(card.group, how);
  const double tiles = static_cast<double>(tiles_of(how, p)),
               slabs = static_cast<double>(slabs_of(p)) * fp64_slower(device);
  const double places = static_cast<double>(multiprocessors_of(device)) * how.blocks,
               second = 1e-6 * (p.k() % 4 == 0 ? 1 : card.group.uneven);
  const double longest = second * (us.tile + slabs * us.step_alone),
               of_many = second * (us.tile + slabs * us.step);
  const double bytes = 4 * (static_cast<double>(p.k()) * static_cast<double>(p.m() + p.n()) +
                            static_cast<double>(p.m()) * static_cast<double>(p.n()) * (p.beta == 0 ? 1 : 2));
  const double bandwidth = 1e6 * card.group.rate / card.multiprocessors * multiprocessors_of(device);
  return {tiles, std::max(tiles * of_many / places, bytes / bandwidth), longest, of_many};
}
double group_seconds(double shares, const group_cost& longest, double tiles, std::size_t members,
                     const device_limits& device) {
  const double tables =
      members > group_inline ? static_cast<double>(ceil_div<std::size_t>(members, group_inline)) : 0;
  const bool many = tiles > multiprocessors_of(device);
  const costs::group_cost& cost = costs::models_of(device).group;
  return 1e-6 * (cost.launch + cost.table * tables) +
         std::max(shares, many ? longest.longest_of_many : longest.longest);
}

group_plan plan_group(const context& where, const group_instance& with,
                      std::span<const problem* const> products) {
  group_plan plan;
  plan.instance = &with;
  std::vector<const problem*> in_order(products.begin(), products.end());
  // longest sums first
  std::ranges::stable_sort(in_order, std::greater<>{}, [](const problem* p) { return p->k(); });
  std::int64_t tiles = 0;
  for (const problem* p : in_order) {
    plan.members.push_back(member_of(*p, with.policy, static_cast<std::uint32_t>(tiles)));
    tiles += tiles_of(with.policy, *p);
    if (tiles > most)
      throw not_supported(fmt::format("a group has more than {} tiles of {} x {}", most, with.policy.tile.m,
                                      with.policy.tile.n));
  }
  plan.tiles = static_cast<std::uint32_t>(tiles);
  const std::int64_t resident = std::int64_t{multiprocessors_of(where.limits())} * with.policy.blocks;
  plan.grid.x = static_cast<unsigned>(std::min(tiles, resident));
  return plan;
}

launch_counts run(const context& where, const group_plan& plan, std::span<std::byte> workspace, stream on) {
  const std::size_t count = plan.members.size();
  group_problem arguments{
      .table = nullptr, .count = static_cast<std::int32_t>(count), .tiles = plan.tiles, .member = {}};
  launch_counts total;
  if (plan.workspace() == 0) {
    std::ranges::copy(plan.members, arguments.member);
  } else {
    auto* const table = reinterpret_cast<group_member*>(workspace.data());
    const std::vector<group_table_instance>& writers =
        instances_of<fp64_lists, group_table_instance>(where.kind());
    for (std::size_t first = 0; first < count; first += group_inline) {
      const std::size_t some = std::min<std::size_t>(group_inline, count - first);
      group_table_problem part{
          .table = table + first, .count = static_cast<std::int32_t>(some), .member = {}};
      std::ranges::copy_n(plan.members.begin() + static_cast<std::ptrdiff_t>(first),
                          static_cast<std::ptrdiff_t>(some), part.member);
      total += where.runs_on().launch(writers.front().code, {.x = 1}, &part, on);
    }
    arguments.table = table;
  }
  return total += where.runs_on().launch(plan.instance->code, plan.grid, &arguments, on);
}

}  // namespace antiphase::gemms
