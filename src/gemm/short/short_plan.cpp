// SPDX-License-Identifier: Apache-2.0
#include "src/gemm/short/short_plan.hpp"

#include <antiphase/core/tile.hpp>
#include <limits>
#include <vector>

#include "src/gemm/registry.hpp"
#include "src/gemm/request.hpp"

namespace antiphase::gemms {

namespace {

std::int64_t tiles_of(const problem& p) {
  return ceil_div<std::int64_t>(p.m(), short_tile.m) * ceil_div<std::int64_t>(p.n(), short_tile.n);
}

}  // namespace

const kernel* short_kernel(target where) {
  const std::vector<short_instance>& all = instances_of<short_instance>(where);
  return all.empty() ? nullptr : &all.front().code;
}

bool short_tiles_fit(const problem& p) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return p.m() <= most && p.n() <= most && tiles_of(with_rows_together(p)) <= most;
}

short_plan plan_short(target where, const problem& p) {
  const problem what = with_rows_together(p);
  return {what, *short_kernel(where), {static_cast<unsigned>(tiles_of(what)), 1, 1}};
}

}  // namespace antiphase::gemms
