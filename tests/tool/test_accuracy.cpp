// SPDX-License-Identifier: Apache-2.0
// Checks products of arbitrary data, and the generators of data.
#include "tool/measure/products/accuracy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "tool/measure/products/distributions.hpp"

namespace antiphase::tool {
namespace {

constexpr double unit = 0x1p-24;

struct product {
  std::int64_t m, n, k;
  std::vector<float> a, b, c;  // C, rounded once
};
product exact_product(const distribution& d, std::int64_t m, std::int64_t n, std::int64_t k) {
  product p{m,
            n,
            k,
            left_operand(d, m, k, true),
            right_operand(d, k, n, true),
            std::vector<float>(static_cast<std::size_t>(m * n))};
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += double{p.a[static_cast<std::size_t>(i * k + l)]} * p.b[static_cast<std::size_t>(l * n + j)];
      p.c[static_cast<std::size_t>(i * n + j)] = static_cast<float>(sum);
    }
  return p;
}
struct reference_of {
  explicit reference_of(const product& p)
      : with(row_major(p.a.data(), p.m, p.k), row_major(p.b.data(), p.k, p.n)) {}
  accuracy operator()(const std::vector<float>& c) const { return with(c, 0x1p-150); }
  sampled_product with;
};

TEST(sampled_product, a_product_rounded_once_is_off_by_less_than_a_unit) {
  for (const distribution& d : distributions()) {
    const product p = exact_product(d, 70, 33, 50);
    const reference_of assess(p);
    const accuracy found = assess(p.c);
    EXPECT_LE(found.component, 1) << d.name;
    EXPECT_TRUE(found.finite) << d.name;
    if (std::string_view(d.name) == "normal") {
      EXPECT_GT(found.norm, 1e-9);
      EXPECT_LT(found.norm, unit);
    }
  }
}
TEST(sampled_product, tells_the_error_of_every_output_of_a_small_product) {
  product p = exact_product(find_distribution("uniform01"), 5, 7, 11);
  const reference_of assess(p);
  EXPECT_EQ(assess.with.outputs(), 35);
  for (std::size_t i = 0; i < p.c.size(); ++i) {
    std::vector<float> wrong = p.c;
    wrong[i] *= 1 - 100 * static_cast<float>(unit);  // |A||B| is AB for positive numbers
    const accuracy found = assess(wrong);
    EXPECT_NEAR(found.component, 100, 2) << i;
    EXPECT_NEAR(found.bias, -100 / 35., .5) << i;
    EXPECT_FALSE(found.within(97));
    EXPECT_TRUE(found.within(103));
  }
}
TEST(sampled_product, looks_into_every_tile) {
  const product p = exact_product(find_distribution("uniform"), 640, 520, 3);
  const reference_of assess(p);
  EXPECT_GE(assess.with.outputs(), 4096);
  for (std::size_t row = 0; row < 640; row += 128)
    for (std::size_t column = 0; column < 520; column += 128) {
      std::vector<float> wrong = p.c;
      for (std::size_t i = row; i < std::min<std::size_t>(row + 128, 640); ++i)
        for (std::size_t j = column; j < std::min<std::size_t>(column + 128, 520); ++j)
          wrong[i * 520 + j] += 1;
      EXPECT_FALSE(assess(wrong).within(1000)) << row << " " << column;
    }
}
TEST(sampled_product, misses_no_output_that_is_not_a_number) {
  product p = exact_product(find_distribution("normal"), 300, 200, 2);
  const reference_of assess(p);
  for (std::size_t i = 0; i < p.c.size(); i += 997) {
    std::vector<float> wrong = p.c;
    wrong[i] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(assess(wrong).finite) << i;
    EXPECT_FALSE(assess(wrong).within(1e30)) << i;
  }
}
TEST(sampled_product, of_operands_in_columns) {
  const product p = exact_product(find_distribution("normal"), 40, 50, 60);
  const auto a = left_operand(find_distribution("normal"), 40, 60, false),
             b = right_operand(find_distribution("normal"), 60, 50, false);
  EXPECT_NE(a, p.a);
  EXPECT_LE(sampled_product(column_major(a.data(), 40, 60), column_major(b.data(), 60, 50))(p.c, 0).component,
            1);
}
TEST(sampled_product, of_nothing) {
  const std::vector<float> none;
  EXPECT_EQ(sampled_product(row_major(none.data(), 0, 5), row_major(none.data(), 5, 0))(none, 0).component,
            0);
  const std::vector<float> zeros(6);
  EXPECT_TRUE(
      sampled_product(row_major(none.data(), 2, 0), row_major(none.data(), 0, 3))(zeros, 0).within(0));
  EXPECT_FALSE(
      sampled_product(row_major(none.data(), 2, 0), row_major(none.data(), 0, 3))({zeros.data(), 6}, 0)
          .component > 0);
}
// The allowance for denormal results is subtracted once, and does not scale with the magnitudes.
TEST(sampled_product, leaves_out_what_denormal_results_may_be_off_by) {
  const std::vector<float> a(4, 0x1p-75f), b(4, 0x1p-75f);  // each product is half of the smallest number
  const sampled_product assess(row_major(a.data(), 1, 4), row_major(b.data(), 4, 1));
  const std::vector<float> zero(1);
  EXPECT_EQ(assess(zero, 4 * 0x1p-150).component, 0);
  EXPECT_NEAR(assess(zero, 0x1p-150).component, 0x1p24 * 3 / 4, 1e-3);
}

TEST(distributions, names_are_unique_and_a_wrong_one_lists_them) {
  std::set<std::string> names;
  for (const distribution& d : distributions()) EXPECT_TRUE(names.insert(d.name).second) << d.name;
  EXPECT_GT(names.size(), 30u);
  try {
    find_distribution("norml");
    FAIL();
  } catch (const bad_request& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("'norml'"), testing::HasSubstr("normal, "),
                                         testing::HasSubstr("exp4n")));
  }
}
TEST(distributions, depend_on_the_place_and_differ_between_the_operands) {
  for (const char* name : {"uniform", "uniform01", "normal", "exp4n", "wide"}) {
    const distribution& d = find_distribution(name);
    const auto a = left_operand(d, 100, 100, true), b = right_operand(d, 100, 100, true);
    EXPECT_GT(std::set<float>(a.begin(), a.end()).size(), 9900u) << name;
    EXPECT_NE(a, b) << name;
    EXPECT_EQ(a, left_operand(d, 100, 100, true)) << name;
  }
}
TEST(distributions, are_what_they_are_called) {
  const auto moments = [](const std::vector<float>& values) {
    double sum = 0, squares = 0;
    for (const double x : values) sum += x, squares += x * x;
    const auto count = static_cast<double>(values.size());
    return std::pair{sum / count, squares / count};
  };
  const auto [mean, square] = moments(left_operand(find_distribution("normal"), 300, 300, true));
  EXPECT_NEAR(mean, 0, .02);
  EXPECT_NEAR(square, 1, .02);
  const auto [mean01, square01] = moments(right_operand(find_distribution("uniform01"), 300, 300, false));
  EXPECT_NEAR(mean01, .5, .01);
  EXPECT_NEAR(square01, 1 / 3., .01);

  const auto nonzeros = [](const std::vector<float>& values) {
    return std::ranges::count_if(values, [](float x) { return x != 0; });
  };
  EXPECT_NEAR(static_cast<double>(nonzeros(left_operand(find_distribution("sparse"), 300, 300, true))), 900,
              150);
  const auto identity = left_operand(find_distribution("identity"), 20, 20, true);
  for (std::size_t i = 0; i < 400; ++i) EXPECT_EQ(identity[i], i % 21 == 0 ? 1 : 0);
  const auto permutation = left_operand(find_distribution("permutation"), 30, 50, true),
             four = left_operand(find_distribution("four"), 30, 50, true);
  for (std::size_t row = 0; row < 30; ++row) {
    EXPECT_EQ(std::count_if(permutation.begin() + 50 * row, permutation.begin() + 50 * (row + 1),
                            [](float x) { return x == 1; }),
              1);
    const auto in_row =
        std::count_if(four.begin() + 50 * row, four.begin() + 50 * (row + 1), [](float x) { return x != 0; });
    EXPECT_TRUE(in_row >= 2 && in_row <= 4) << in_row;
  }
  const auto a = left_operand(find_distribution("cancel-exact"), 4, 10, true),
             b = right_operand(find_distribution("cancel-exact"), 10, 4, true);
  for (std::size_t i = 0; i < 40; i += 2) EXPECT_EQ(a[i], -a[i + 1]);
  for (std::size_t k = 0; k < 10; k += 2)
    for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(b[k * 4 + j], b[(k + 1) * 4 + j]);
}

}  // namespace
}  // namespace antiphase::tool
