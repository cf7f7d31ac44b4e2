// SPDX-License-Identifier: Apache-2.0
// Views of matrices: strides instead of copies.
#include <gtest/gtest.h>
#include <antiphase/core/view.hpp>

#include <cstddef>
#include <numeric>
#include <type_traits>
#include <vector>

using namespace antiphase;

namespace {

std::vector<int> numbered(std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 100);
  return values;
}

TEST(view, row_major_packed_and_with_padding) {
  auto data = numbered(3 * 7);
  const auto packed = row_major(data.data(), 3, 5);
  const auto padded = row_major(data.data(), 3, 5, 7);
  EXPECT_EQ(packed.row_stride, 5);
  EXPECT_EQ(padded.row_stride, 7);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) {
      EXPECT_EQ(packed(i, j), 100 + 5 * i + j);
      EXPECT_EQ(padded(i, j), 100 + 7 * i + j);
    }
}

TEST(view, column_major_packed_and_with_padding) {
  auto data = numbered(5 * 4);
  const auto packed = column_major(data.data(), 3, 5);
  const auto padded = column_major(data.data(), 3, 5, 4);
  EXPECT_EQ(packed.column_stride, 3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) {
      EXPECT_EQ(packed(i, j), 100 + i + 3 * j);
      EXPECT_EQ(padded(i, j), 100 + i + 4 * j);
    }
}

TEST(view, transposed_is_the_same_memory) {
  auto data = numbered(3 * 7);
  const auto v = row_major(data.data(), 3, 5, 7);
  const auto t = transposed(v);
  EXPECT_EQ(t.rows, 5);
  EXPECT_EQ(t.columns, 3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) EXPECT_EQ(&t(j, i), &v(i, j));
  const auto back = transposed(t);
  EXPECT_EQ(back.rows, v.rows);
  EXPECT_EQ(back.row_stride, v.row_stride);
  EXPECT_EQ(back.column_stride, v.column_stride);
}

TEST(view, writes_reach_the_matrix) {
  auto data = numbered(12);
  column_major(data.data(), 4, 3)(2, 1) = -1;
  EXPECT_EQ(data[6], -1);
  EXPECT_EQ(std::accumulate(data.begin(), data.end(), 0), 12 * 100 + 66 - 106 - 1);
}

TEST(view, stride_zero_repeats_a_row_or_a_column) {
  auto data = numbered(5);
  const matrix_view<const int> same_row{
      .data = data.data(), .rows = 3, .columns = 5, .row_stride = 0, .column_stride = 1};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) {
      EXPECT_EQ(same_row(i, j), 100 + j);
      EXPECT_EQ(transposed(same_row)(j, i), 100 + j);
    }
}

TEST(view, negative_strides_go_backwards) {
  auto data = numbered(3 * 7);
  const auto upwards = row_major(&data[14], 3, 5, -7);
  const auto leftwards = column_major(&data[12], 3, 5, -3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) {
      EXPECT_EQ(upwards(i, j), 114 - 7 * i + j);
      EXPECT_EQ(leftwards(i, j), 112 + i - 3 * j);
    }
  EXPECT_EQ(row_major(data.data(), 3, 5, -2).row_stride, -2) << "which is no dense matrix";
}

TEST(view, becomes_a_view_of_constants_but_never_back) {
  auto data = numbered(6);
  const matrix_view<const int> constant = row_major(data.data(), 2, 3);
  EXPECT_EQ(constant(1, 2), 105);
  EXPECT_EQ(constant.row_stride, 3);
  EXPECT_TRUE((std::is_convertible_v<matrix_view<int>, matrix_view<const int>>));
  EXPECT_FALSE((std::is_convertible_v<matrix_view<const int>, matrix_view<int>>));
  EXPECT_TRUE((std::is_same_v<decltype(constant(0, 0)), const int&>));
}

TEST(view, indices_beyond_32_bits) {
  char one = 'x';
  const std::int64_t wide = std::int64_t{1} << 33;
  const auto v = row_major(&one, 3, wide);
  EXPECT_EQ(v.row_stride, wide);
  EXPECT_EQ(2 * v.row_stride + 5 * v.column_stride, 2 * wide + 5);
}

TEST(view, an_empty_view_has_no_data) {
  constexpr matrix_view<float> empty{};
  static_assert(empty.data == nullptr && empty.rows == 0 && empty.columns == 0);
  EXPECT_EQ(row_major<float>(nullptr, 0, 4).rows, 0);
}

}  // namespace
