// SPDX-License-Identifier: Apache-2.0
#include "library/gemm/operands/finish/finish_plan.hpp"

#include <antiphase/core/tile.hpp>
#include <cstdlib>
#include <limits>

#include "library/gemm/operands/finish/finish_lists.hpp"

namespace antiphase::gemms {
namespace {

// Tiles are 128 long along the index with the smaller stride, so that accesses coalesce. turned: the rows.
bool turned(const problem& p) { return std::abs(p.c.row_stride) < std::abs(p.c.column_stride); }
struct tiles {
  std::int64_t down, across;  // of a member
};
tiles tiles_of(const matrix_view<float>& c) {
  return {ceil_div<std::int64_t>(c.rows, finish_tile.m), ceil_div<std::int64_t>(c.columns, finish_tile.n)};
}
tiles tiles_of(const problem& p) { return tiles_of(turned(p) ? transposed(p.c) : p.c); }

launch_counts launch(const context& where, const problem& p, const batch& of, ending end, bool multiplied,
                     stream on) {
  matrix_view<float> c = p.c;
  if (turned(p)) c = transposed(c), end = transposed(end);
  const tiles all = tiles_of(c);
  const finish_problem arguments{.c = {c.data, c.row_stride, c.column_stride, of.c_stride},
                                 .c_of = of.c,
                                 .end = end,
                                 .multiplied = multiplied,
                                 .rows = c.rows,
                                 .columns = c.columns,
                                 .tiles_down = static_cast<std::uint32_t>(all.down),
                                 .tiles_across = static_cast<std::uint32_t>(all.across)};
  const extent3 grid{static_cast<unsigned>(finish_blocks(p, of)), 1, 1};
  return where.runs_on().launch(instances_of<finish_lists, finish_instance>(where.kind()).front().code, grid,
                                &arguments, on);
}

}  // namespace

std::uint64_t finish_blocks(const problem& p, const batch& of) {
  const tiles all = tiles_of(p);
  return static_cast<std::uint64_t>(all.down * all.across * of.count);
}
bool finish_tiles_fit(const problem& p, const batch& of) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const tiles all = tiles_of(p);
  if (all.down == 0 || all.across == 0 || of.count == 0) return true;
  return all.down <= most && all.across <= most / all.down && all.down * all.across <= most / of.count;
}

launch_counts finish_product(const context& where, const problem& p, const batch& of, const epilogue& e,
                             stream on) {
  ending end = ending_of(p, e);
  end.alpha = 1;
  if (e.residual.data == nullptr) end.beta = 0;
  return launch(where, p, of, end, true, on);
}
launch_counts run(const context& where, const finish_plan& plan, stream on) {
  ending end = ending_of(plan.problem, plan.after);
  end.alpha = 0;
  return launch(where, plan.problem, plan.batch, end, false, on);
}

}  // namespace antiphase::gemms
