// SPDX-License-Identifier: Apache-2.0
// Tiles cover a range exactly once, in every order.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <antiphase/core/divider.hpp>
#include <antiphase/core/tile.hpp>

#include <limits>
#include <set>
#include <utility>
#include <vector>

using namespace antiphase;
using std::int64_t;

namespace {

TEST(tile, ceil_div_at_the_edges) {
  EXPECT_EQ(ceil_div(0, 4), 0);
  EXPECT_EQ(ceil_div(1, 4), 1);
  EXPECT_EQ(ceil_div(4, 4), 1);
  EXPECT_EQ(ceil_div(5, 4), 2);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(ceil_div(most, int64_t{1}), most);
  EXPECT_EQ(ceil_div(most, int64_t{2}), most / 2 + 1);  // adding before dividing would overflow
}

TEST(tile, edges) {
  constexpr tiling none{.extent = 0, .size = 128};
  static_assert(none.count() == 0);
  EXPECT_EQ((tiling{.extent = 1, .size = 128}.length(0)), 1);
  EXPECT_EQ((tiling{.extent = 127, .size = 128}.count()), 1);
  EXPECT_EQ((tiling{.extent = 128, .size = 128}.count()), 1);
  const tiling one_more{.extent = 129, .size = 128};
  EXPECT_EQ(one_more.count(), 2);
  EXPECT_EQ(one_more.length(0), 128);
  EXPECT_EQ(one_more.first(1), 128);
  EXPECT_EQ(one_more.length(1), 1);
}

TEST(tile, extents_beyond_32_bits) {
  const tiling large{.extent = (int64_t{1} << 40) + 3, .size = 7};
  const int64_t last = large.count() - 1;
  EXPECT_EQ(large.first(last) + large.length(last), large.extent);
  EXPECT_GT(large.length(last), 0);
  EXPECT_LE(large.length(last), 7);
}

RC_GTEST_PROP(tile, tiles_cover_a_range_exactly_once, ()) {
  const tiling tiles{.extent = *rc::gen::inRange<int64_t>(0, 3000),
                     .size = *rc::gen::inRange<int64_t>(1, 400)};
  int64_t next = 0;
  for (int64_t t = 0; t < tiles.count(); ++t) {
    RC_ASSERT(tiles.first(t) == next);
    RC_ASSERT(tiles.length(t) >= 1);
    RC_ASSERT(tiles.length(t) == tiles.size || t == tiles.count() - 1);
    next += tiles.length(t);
  }
  RC_ASSERT(next == tiles.extent);
}

RC_GTEST_PROP(tile, grouped_tiles_visit_every_tile_once, ()) {
  const grouped_tiles grid{.rows = *rc::gen::inRange<int64_t>(0, 40),
                           .columns = *rc::gen::inRange<int64_t>(0, 40),
                           .group = *rc::gen::inRange<int64_t>(1, 50)};
  std::set<std::pair<int64_t, int64_t>> seen;
  for (int64_t i = 0; i < grid.count(); ++i) {
    const tile_position place = grid.at(i);
    RC_ASSERT(place.row >= 0 && place.row < grid.rows);
    RC_ASSERT(place.column >= 0 && place.column < grid.columns);
    RC_ASSERT(seen.emplace(place.row, place.column).second);
  }
  RC_ASSERT(static_cast<int64_t>(seen.size()) == grid.rows * grid.columns);
}

RC_GTEST_PROP(tile, grouped_tiles_finish_a_group_before_the_next, ()) {
  const grouped_tiles grid{.rows = *rc::gen::inRange<int64_t>(1, 30),
                           .columns = *rc::gen::inRange<int64_t>(1, 30),
                           .group = *rc::gen::inRange<int64_t>(1, 30)};
  for (int64_t i = 1; i < grid.count(); ++i)
    RC_ASSERT(grid.at(i - 1).row / grid.group <= grid.at(i).row / grid.group);
}

TEST(tile, the_last_group_may_be_lower) {
  const grouped_tiles grid{.rows = 5, .columns = 2, .group = 2};
  const std::vector<std::pair<int64_t, int64_t>> expected{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0},
                                                          {3, 0}, {2, 1}, {3, 1}, {4, 0}, {4, 1}};
  for (int64_t i = 0; i < grid.count(); ++i) {
    const auto [row, column] = grid.at(i);
    EXPECT_EQ(std::pair(row, column), expected[static_cast<std::size_t>(i)]) << "tile " << i;
  }
}

TEST(divider, quotients_at_the_edges) {
  constexpr std::uint32_t most = (std::uint32_t{1} << 31) - 1;
  static_assert(divider(7).quotient(20) == 2);
  for (const std::uint32_t by : {1u, 2u, 3u, 5u, 7u, 64u, 65u, 641u, 65535u, 65536u, 65537u, most / 2,
                                 most / 2 + 1, most / 2 + 2, most - 1, most})
    for (const std::uint32_t n :
         {0u, 1u, by - 1, by, by + 1, 2 * by - 1, most / by * by - 1, most / by * by, most - 1, most})
      if (n <= most) {
        ASSERT_EQ(divider(by).quotient(n), n / by) << n << " by " << by;
      }
  EXPECT_EQ(divider{}.quotient(most), most) << "by one";
}
RC_GTEST_PROP(divider, quotients_of_numbers_below_2_to_the_31, ()) {
  const std::uint32_t n = *rc::gen::inRange<std::uint32_t>(0, 1u << 31) >> *rc::gen::inRange(0, 31);
  const std::uint32_t by = (*rc::gen::inRange<std::uint32_t>(0, 1u << 31) >> *rc::gen::inRange(0, 31)) | 1u;
  RC_ASSERT(divider(by).quotient(n) == n / by);
}

}  // namespace
