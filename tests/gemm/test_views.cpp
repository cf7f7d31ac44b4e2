// SPDX-License-Identifier: Apache-2.0
// Checks of views, compared with counting the uses of every byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/core/error.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "library/gemm/operands/views.hpp"
#include "tests/sanitized.hpp"

namespace antiphase::gemms {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class Check> std::string said(Check check) {
  try {
    check();
  } catch (const bad_request& e) {
    return e.what();
  }
  return "";
}

struct drawn {
  named_view view;
  std::multiset<std::uintptr_t> bytes;
};
class views_drawn : public testing::Test {
 protected:
  static constexpr int pairs = test::sanitized ? 6000 : 60000;
  std::mt19937 random_{20261121};
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  drawn draw(std::int64_t element, std::int64_t most_stride) {
    const auto stride = [&] { return below(2 * most_stride + 1) - most_stride; };
    const std::int64_t rows = 1 + below(5), columns = 1 + below(5), in_row = below(2) == 0 ? 1 : stride();
    drawn d{{"C", 4096 + static_cast<std::uintptr_t>(below(60) * element), rows, columns, stride(), in_row,
             element},
            {}};
    if (below(2) == 0) std::swap(d.view.row_stride, d.view.column_stride);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t b = 0; b < element; ++b)
          d.bytes.insert(
              d.view.address +
              static_cast<std::uintptr_t>((i * d.view.row_stride + j * d.view.column_stride) * element + b));
    return d;
  }
  static bool share(const drawn& a, const drawn& b) {
    for (const std::uintptr_t byte : a.bytes)
      if (b.bytes.contains(byte)) return true;
    return false;
  }
};

TEST_F(views_drawn, elements_on_top_of_each_other_are_found) {
  int distinct = 0;
  for (int n = 0; n < 20000; ++n) {
    const drawn d = draw(1, 7);
    const bool right = std::set<std::uintptr_t>(d.bytes.begin(), d.bytes.end()).size() == d.bytes.size();
    ASSERT_EQ(said([&] { require_distinct(d.view); }) == "", right)
        << d.view.rows << " x " << d.view.columns << ", " << d.view.row_stride << " and "
        << d.view.column_stride;
    distinct += right;
  }
  EXPECT_GT(distinct, 2000);
  EXPECT_LT(distinct, 18000);
}

TEST_F(views_drawn, nothing_that_lies_apart_is_refused) {
  int refused = 0, missed = 0;
  for (int n = 0; n < pairs; ++n) {
    const drawn a = draw(below(4) == 0 ? 2 : 4, 12), c = draw(4, 12);
    const bool right = said([&] { require_apart(c.view, a.view); }) == "";
    ASSERT_TRUE(right || share(a, c)) << n;
    refused += !right;
    missed += right && share(a, c);
  }
  EXPECT_GT(refused, pairs / 12);
  RecordProperty("refused", refused);
  RecordProperty("missed", missed);
}

// Rows, columns, every other column: all overlaps are found if the elements of both views lie at multiples of
// one stride.
TEST_F(views_drawn, overlaps_of_rows_are_all_found) {
  int sharing = 0, apart = 0;
  for (int n = 0; n < pairs; ++n) {
    const std::int64_t step = 1 + below(3);
    const auto rows = [&] {
      drawn d = draw(4, 6);
      d.view.row_stride *= step;
      d.view.column_stride = below(2) == 0 ? step : -step;
      if (below(2) == 0)
        std::swap(d.view.row_stride, d.view.column_stride), std::swap(d.view.rows, d.view.columns);
      d.bytes.clear();
      for (std::int64_t i = 0; i < d.view.rows; ++i)
        for (std::int64_t j = 0; j < d.view.columns; ++j)
          for (int b = 0; b < 4; ++b)
            d.bytes.insert(d.view.address + static_cast<std::uintptr_t>(
                                                (i * d.view.row_stride + j * d.view.column_stride) * 4 + b));
      return d;
    };
    const drawn a = rows(), c = rows();
    ASSERT_EQ(said([&] { require_apart(c.view, a.view); }) == "", !share(a, c)) << n;
    (share(a, c) ? sharing : apart) += 1;
  }
  EXPECT_GT(sharing, pairs / 12);
  EXPECT_GT(apart, pairs / 12);
}

TEST(views, of_large_matrices_are_checked_at_once) {
  constexpr std::int64_t many = std::int64_t{1} << 40;
  const named_view left{"A", 1 << 20, many, 8, 16, 1, 4}, right{"C", (1 << 20) + 8 * 4, many, 8, 16, 1, 4},
      shifted{"C", (1 << 20) + 4 * 4, many, 8, 16, 1, 4};
  EXPECT_EQ(said([&] { require_apart(right, left); }), "") << "two halves of the same rows";
  EXPECT_THAT(said([&] { require_apart(shifted, left); }), HasSubstr("C at 0x100010 overlaps A at 0x100000"));
}

TEST(views, memory_has_ends) {
  constexpr std::int64_t huge = std::int64_t{1} << 62, least = std::numeric_limits<std::int64_t>::min();
  const auto of = [](std::uintptr_t address, std::int64_t rows, std::int64_t row_stride) {
    return said([&] { require_memory({"A", address, rows, 5, row_stride, 1, 4}); });
  };
  EXPECT_EQ(of(64, 3, 5), "");
  EXPECT_THAT(of(0, 3, 5), AllOf(HasSubstr("A is a null pointer"), HasSubstr("3 x 5")));
  EXPECT_THAT(of(66, 3, 5), AllOf(HasSubstr("A is at address 0x42"), HasSubstr("multiple of 4")));
  for (const std::int64_t stride : {huge, -huge, std::int64_t{1} << 60, least,
                                    std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 50})
    EXPECT_THAT(of(64, 3, stride),
                AllOf(HasSubstr("A is 3 x 5 with strides"), HasSubstr("less than 2^52 bytes")))
        << stride;
  EXPECT_EQ(of(64, 1, huge), "") << "it is never taken";
  EXPECT_THAT(of(~std::uintptr_t{0} - 43, 3, 5), HasSubstr("between the ends of memory"));
  EXPECT_THAT(of(32, 3, -5), HasSubstr("between the ends of memory"));
  EXPECT_EQ(of(40, 3, -5), "");
}

TEST(views, strides_that_are_never_taken_become_small) {
  float one = 0;
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(without_idle_strides(matrix_view<float>{&one, 1, 5, huge, 1}).row_stride, 0);
  EXPECT_EQ(without_idle_strides(matrix_view<float>{&one, 1, 5, 7, 1}).row_stride, 7);
  EXPECT_EQ(without_idle_strides(matrix_view<float>{&one, 5, 1, 1, -huge}).column_stride, 0);
  EXPECT_EQ(without_idle_strides(matrix_view<float>{&one, 5, 4, 4, 1}).row_stride, 4);
}

}  // namespace
}  // namespace antiphase::gemms
