// SPDX-License-Identifier: Apache-2.0
#include "library/attention/walk.hpp"

#include <algorithm>
#include <antiphase/core/tile.hpp>
#include <cmath>

namespace antiphase::attentions {
namespace {

struct range {
  std::int64_t begin, end;
};
// Range of the other side that rows `first` to `last` of one side see.
range seen_by(const walked_call& c, bool owns_keys, std::int64_t first, std::int64_t last) {
  if (!owns_keys) return {c.sees.begin(static_cast<int>(first)), c.sees.end(static_cast<int>(last))};
  return {std::max<std::int64_t>(0, first - c.sees.high + 1), std::min(c.queries, last - c.sees.low + 1)};
}

}  // namespace

// Blocks are as many as multiprocessors in each round; of those at once on one, `together` advance as if each
// were alone. The longest block takes its time whatever the others do.
walk_times times_of(const costs::tile_walk_cost& cost, const tile_walk& by, const walked_call& call,
                    int multiprocessors) {
  const std::int64_t rows = by.owns_keys ? call.keys : call.queries,
                     all = ceil_div<std::int64_t>(rows, by.own),
                     step = std::max<std::int64_t>(1, all / 4096);  // of many blocks, some
  double blocks = 0, tiles = 0, longest = 0;
  for (std::int64_t i = 0; i < all; i += step) {
    const std::int64_t first = i * by.own;
    const range seen = seen_by(call, by.owns_keys, first, std::min(first + by.own, rows) - 1);
    if (seen.end <= seen.begin) continue;
    const double count =
        call.group * static_cast<double>(ceil_div<std::int64_t>(seen.end, by.other) - seen.begin / by.other);
    ++blocks, tiles += count, longest = std::max(longest, count);
  }
  if (blocks == 0) return {1e-6 * cost.start, 0, 0};
  const double tile = cost.tile + cost.of_depth * call.depth + (call.biased ? cost.biased : 0);
  const double rounds =
      std::ceil(call.heads * blocks * static_cast<double>(step) / std::max(1, multiprocessors));
  const double throughput = (tiles / blocks * tile + cost.block) * rounds / cost.together;
  return {1e-6 * cost.start, 1e-6 * (longest * tile + cost.block), 1e-6 * throughput};
}
double seconds_of(const costs::tile_walk_cost& cost, const tile_walk& by, const walked_call& call,
                  int multiprocessors) {
  const walk_times t = times_of(cost, by, call, multiprocessors);
  return t.start + std::max(t.longest, t.all);
}

}  // namespace antiphase::attentions
