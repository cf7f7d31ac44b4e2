// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/dots/dots_plan.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <bit>
#include <limits>

#include "src/gemm/cost.hpp"
#include "src/gemm/registry.hpp"

namespace antiphase::gemms {

namespace {

int few_of(const problem& p) { return static_cast<int>(std::min(p.m(), p.n())); }

// Microseconds, fitted to 12,900 times of 285 shapes with all divisions on an H200: the one chosen takes 2.6 % longer than the fastest.
struct law {
  int few, rows;                           // lines of the short operand, at most; of the long one, of a thread
  double start, block, step, slots;        // of a launch; of a block, of a step of its threads, of doubling its slots
  double cluster[4];                       // of clusters of 1, 2, 4, 8
  double full, further;                    // how many times as long blocks take that fill all multiprocessors, and blocks beyond that
  double bytes_of_cache, bytes_of_memory;  // megabytes per microsecond
};
constexpr law laws[] = {
    {1, 2, 0.50, 1.175, 0.306, 0.074, {0, 0.83, 0.95, 0.94}, 1.57, 1.26, 9.0, 2.6},
    {1, 4, 1.16, 0.628, 0.323, 0.074, {0, 0.86, 1.01, 1.02}, 2.19, 1.36, 6.8, 3.6},
    {2, 2, 1.22, 0.674, 0.380, 0.074, {0, 0.93, 1.07, 1.19}, 2.00, 1.13, 9.0, 2.5},
    {2, 4, 1.74, 0.429, 0.480, 0.052, {0, 1.03, 1.18, 1.35}, 2.35, 1.18, 9.0, 3.7},
    {4, 1, 0.87, 0.930, 0.440, 0.087, {0, 1.01, 1.14, 1.30}, 1.84, 1.08, 9.0, 2.5},
    {4, 2, 1.31, 0.822, 0.443, 0.062, {0, 1.08, 1.22, 1.38}, 2.18, 1.10, 3.3, 2.5},
    {8, 1, 0.50, 1.664, 0.617, 0.163, {0, 1.16, 1.33, 1.43}, 1.64, 0.95, 9.0, 2.5},
    {8, 2, 0.50, 1.869, 0.765, 0.135, {0, 1.34, 1.52, 1.54}, 1.65, 0.97, 5.3, 2.5},
};
// of_132: multiprocessors, in those of an H200.
double microseconds(const law& l, const dots_division& how, double blocks, double steps, double bytes, double of_132) {
  constexpr double alone = 0.4;  // of the bandwidth, what a few blocks reach
  const int doublings = std::countr_zero(static_cast<unsigned>(how.slots)) - 2,
            cluster = std::countr_zero(static_cast<unsigned>(how.cluster));
  const double places = 2 * 132 * of_132 * share_of_places(how.cluster), all = blocks / places;
  const double crowd = all <= 0.5 ? 1 : all <= 1 ? 1 + (l.full - 1) * (2 * all - 1) : l.full * (1 + l.further * (all - 1));
  const double compute = crowd * (l.block + steps * l.step + doublings * l.slots);
  const double bandwidth = moved_at(bytes, l.bytes_of_cache, l.bytes_of_memory) * 1e6 * of_132 * std::min(1., alone + (1 - alone) * all);
  return l.start + l.cluster[cluster] + longer(compute, bytes / bandwidth);
}

// By lanes. Microseconds, fitted to 2,955 times of 354 products with all of these divisions on an H200: off by 5 % in the median, and the
// one chosen takes 2 % longer than the fastest of them. What there is of each: a start, rounds of a lane's loads, doublings
// of the lanes that add up, whether warps add up, and thousands of sectors of 32 bytes that a block's loads touch, which count on a
// thread's way and again where multiprocessors have several blocks.
struct law_of_lanes {
  int square;
  double start, round, doubling, warps, sector;
  double block, round_of_block, sector_of_block;  // of the blocks of a multiprocessor
};
constexpr law_of_lanes laws_of_lanes[] = {
    {1, 0.5948, 0.3011, 0.0220, 0.1523, 0.0675, 0.1559, 0.0534, 0.1395},
    {2, 0.7855, 0.2711, 0.0471, 0.0809, 0.0433, 0.2903, 0.0277, 0.1530},
};
// That a warp's load of one element for each lane touches; lines: of the warp, side by side. Which way the operand lies must not decide, so
// this is the worse one: by it more is lost than the other wins.
double sectors_of_load(int lanes, int lines, bool lies_one_way) {
  constexpr int floats = 8;  // of a sector
  const int of_warp = std::min(lanes, 32), along = lines * ceil_div(of_warp, floats), across = of_warp * ceil_div(lines, floats);
  return lies_one_way ? along : std::max(along, across);
}
double microseconds(const law_of_lanes& l, int lanes, const problem& p, double blocks, double of_132) {
  const double sectors =
      sectors_of_load(lanes, std::max(1, 32 / lanes), std::max(p.m(), p.n()) == 1) + sectors_of_load(lanes, 1, std::min(p.m(), p.n()) == 1);
  const double loads = static_cast<double>(ceil_div<std::int64_t>(p.k(), lanes)) * l.square * (dots_lanes_threads / 32),
               rounds = static_cast<double>(ceil_div<std::int64_t>(p.k(), divided_by_lanes(lanes, l.square).k_at_once())),
               thousands = loads * sectors / 1000, doublings = std::countr_zero(static_cast<unsigned>(lanes));
  return l.start + rounds * l.round + doublings * l.doubling + (lanes > 32 ? l.warps : 0) + thousands * l.sector +
         blocks / (132 * of_132) * (l.block + rounds * l.round_of_block + thousands * l.sector_of_block);
}

// What lies along lines is read in pieces of a block's lines: of larger operands they are to be as long as a memory transaction or two.
std::int64_t shortest_piece(double elements) { return elements > 2e6 ? 16 : elements > 5e5 ? 8 : 1; }

}  // namespace

const std::vector<dots_instance>& dots_instances(target where) { return instances_of<dots_instance>(where); }

bool dots_tiles_fit(const problem& p, const batch& of) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() / 8;
  return std::max(p.m(), p.n()) <= most / of.count;  // a block has a line at least
}

dots_choice divide_dots(const context& where, const problem& p, const batch& of, bool finishes) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  const int few = finishes ? dots_lines : few_of(p);
  const std::int64_t lines = std::max(p.m(), p.n());
  const double of_132 = multiprocessors_of(where.limits()) / 132., outputs = (p.beta == 0 ? 1 : 2) * size(p.m()) * size(p.n());
  const double bytes = 4 * size(of.count) * (size(p.m()) * size(p.k()) + size(p.k()) * size(p.n()) + outputs);
  const bool clusters = features_of(where.limits()).clusters;
  const std::int64_t least_lines = shortest_piece(size(lines) * size(p.k()) * size(of.count));
  dots_choice best{{}, std::numeric_limits<double>::infinity()};
  for (const law_of_lanes& l : laws_of_lanes) {
    if (!lanes_may(p, of) || (finishes && l.square > 1)) continue;
    for (int lanes = dots_least_slots; lanes <= dots_lanes_threads && (lanes == dots_least_slots || lanes <= p.k()); lanes *= 2) {
      const dots_division d = divided_by_lanes(lanes, l.square);
      const double blocks =
          size(ceil_div<std::int64_t>(lines, d.lines())) * size(ceil_div<std::int64_t>(std::min(p.m(), p.n()), l.square)) * size(of.count);
      const double seconds = 1e-6 * microseconds(l, lanes, p, blocks, of_132);
      if (seconds < best.seconds) best = {d, seconds};
    }
  }
  for (const law& l : laws) {
    if (l.few < few || l.few / 2 >= few || (finishes && l.rows != dots_finishing_rows)) continue;  // /2: there is one for fewer lines
    dots_division d{dots_least_slots, 1, l.rows};
    for (; d.slots <= dots_most_slots(few); d.slots *= 2) {
      if (d.slots > dots_least_slots && (p.k() <= 2 * d.slots || (d.lines() < least_lines && d.lines() < lines))) break;
      for (d.cluster = 1; d.cluster <= (clusters ? dots_most_cluster : 1); d.cluster *= 2) {
        if (d.cluster > 1 && p.k() <= std::int64_t{2} * d.slots * d.cluster) break;
        const double blocks = size(ceil_div<std::int64_t>(lines, d.lines()) * of.count * d.cluster);
        const double of_thread = size(ceil_div<std::int64_t>(ceil_div<std::int64_t>(p.k(), std::int64_t{dots_step} * d.slots), d.cluster));
        const double seconds = 1e-6 * microseconds(l, d, blocks, of_thread, bytes, of_132);
        if (seconds < best.seconds) best = {d, seconds};
      }
    }
  }
  return best;
}

std::optional<dots_plan> plan_dots(const context& where, const problem& p, const batch& of, const epilogue& after,
                                   const dots_division& how) {
  dots_plan plan{.what = p, .of = of, .after = after, .turned = p.n() > p.m(), .how = how};
  const std::int64_t few = std::min(p.m(), p.n());
  if (!after.is_plain() && !how.by_lanes()) plan.how.rows = dots_finishing_rows;
  for (const dots_instance& i : dots_instances(where.kind())) {
    if (i.finishes == after.is_plain() || i.lines < few || i.rows != plan.how.rows || i.square != how.square) continue;
    if (shortage_of(where.limits(), i.code) != shortage::none) continue;
    if (plan.with == nullptr || i.lines < plan.with->lines) plan.with = &i;
  }
  if (plan.with == nullptr) return std::nullopt;
  if (!how.by_lanes()) plan.how.slots = std::min(plan.how.slots, dots_most_slots(plan.with->lines));
  plan.tiles = ceil_div<std::int64_t>(std::max(p.m(), p.n()), plan.how.lines());
  plan.grid.x = static_cast<unsigned>(plan.tiles * of.count * how.cluster);
  if (how.by_lanes()) plan.grid.y = static_cast<unsigned>(ceil_div<std::int64_t>(few, how.square));
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
                               .slot_bits = std::countr_zero(static_cast<unsigned>(plan.how.slots)),
                               .tiles = static_cast<std::uint32_t>(plan.tiles),
                               .end = plan.turned ? transposed(end) : end};
  kernel code = plan.with->code;
  code.cluster = plan.how.cluster;
  return where.runs_on().launch(code, plan.grid, &arguments, on);
}

}  // namespace antiphase::gemms
