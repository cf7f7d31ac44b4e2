// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/fp64/short/short_plan.hpp"

#include <antiphase/core/tile.hpp>
#include <cstdint>
#include <limits>
#include <utility>

#include "library/gemm/fp64/fp64_lists.hpp"

namespace antiphase::gemms {
namespace {

// Whether C is column-major: then the transposed product is computed.
bool turned(const problem& p) { return p.c.column_stride != 1 && p.c.row_stride == 1; }

// Shape of a block's tile, and the grid, for C of that size.
struct arrangement {
  int lane_bits = 0, steps = 1;
  bool stacked = false;
  std::int64_t down = 0, across = 0, blocks = 0;  // tiles of a member (stacked: of all members); grid size
};
arrangement arranged(std::int64_t rows, std::int64_t columns, std::int64_t count) {
  constexpr std::int64_t enough = 1024;  // blocks
  constexpr int most_steps = 8;
  arrangement a;
  while (a.lane_bits < 5 && (short_columns << a.lane_bits) < columns) ++a.lane_bits;
  a.across = ceil_div<std::int64_t>(columns, short_tile(a.lane_bits, 1).n);
  a.stacked = count > 1 && rows < short_tile(a.lane_bits, 1).m;
  const std::int64_t all = a.stacked ? rows * count : rows, times = a.stacked ? 1 : count;
  const auto down = [&](int rounds) {
    return ceil_div<std::int64_t>(all, short_tile(a.lane_bits, rounds).m);
  };
  while (a.steps < most_steps && down(2 * a.steps) * a.across >= enough / times + 1) a.steps *= 2;
  a.down = down(a.steps);
  a.blocks = a.down * a.across * times;
  return a;
}
arrangement arranged(const problem& p, const batch& of) {
  return turned(p) ? arranged(p.n(), p.m(), of.count) : arranged(p.m(), p.n(), of.count);
}

}  // namespace

const kernel* short_kernel(target where, const epilogue& after) {
  for (const short_instance& i : instances_of<fp64_lists, short_instance>(where))
    if (i.finishes != after.is_plain()) return &i.code;
  return nullptr;
}

bool short_tiles_fit(const problem& p, const batch& of) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (p.m() > most || p.n() > most || of.count > most) return false;
  const auto [rows, columns] = turned(p) ? std::pair{p.n(), p.m()} : std::pair{p.m(), p.n()};
  if (rows * of.count / short_rows > most * 32 || ceil_div<std::int64_t>(columns, short_columns) > most)
    return false;
  const arrangement a = arranged(p, of);
  return a.down <= most / a.across && a.blocks <= most;
}

double short_seconds(const costs::models& l, const product_shape& p, const device_limits& device) {
  const moved_bytes moved = bytes_of(p);
  return 1e-6 * (l.few_k.start + us_before_moving(l, l.few_k.moving, moved) +
                 us_to_move(l, l.few_k.moving, moved) / cards_of(l, device));
}

short_plan plan_short(target where, const problem& p, const batch& of, const epilogue& after) {
  members<const float> a = members_of(p.a, of.a_stride), b = members_of(p.b, of.b_stride);
  matrix_view<float> c = p.c;
  ending end = ending_of(p, after);
  const float* const* a_of = of.a;
  const float* const* b_of = of.b;
  if (turned(p)) {
    std::swap(a, b), std::swap(a_of, b_of);
    std::swap(a.row_stride, a.column_stride), std::swap(b.row_stride, b.column_stride);
    c = transposed(c), end = transposed(end);
  }
  const arrangement how = arranged(p, of);
  return {.problem = p,
          .code = *short_kernel(where, after),
          .arguments = {.a = a,
                        .b = b,
                        .c = members_of(c, of.c_stride),
                        .a_of = a_of,
                        .b_of = b_of,
                        .c_of = of.c,
                        .rows = c.rows,
                        .columns = c.columns,
                        .k = static_cast<std::int32_t>(p.k()),
                        .lane_bits = how.lane_bits,
                        .steps = how.steps,
                        .stacked = how.stacked,
                        .tiles_down = divider(static_cast<std::uint32_t>(how.down)),
                        .tiles_across = divider(static_cast<std::uint32_t>(how.across)),
                        .count = of.count,
                        .end = end},
          .grid = {static_cast<unsigned>(how.blocks), 1, 1}};
}

}  // namespace antiphase::gemms
