// SPDX-License-Identifier: Apache-2.0
// Scales, and values at the ends of FP32's range: the results of IEEE arithmetic.
#include <limits>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

class gemm_values : public on_device {
 protected:
  // Runs a product on every step.
  void expect_right(const product& p, const char* what = "") {
    const context where = any();
    const auto right = expected(p);
    for (const gemms::step& s : gemms::steps) {
      SCOPED_TRACE(testing::Message() << s.name << ' ' << what << " alpha " << p.alpha << " beta " << p.beta);
      EXPECT_TRUE(same(computed(where, s.name, p), right));
    }
  }
};

// Edge tiles for every step: 32 + 5 rows, 128 + 5 columns, an odd K.
constexpr std::int64_t rows = 37, columns = 133, depth = 35;
product plain(float alpha = 1, float beta = 0) {
  return product_of(random_reals(rows, depth, 11), random_reals(depth, columns, 12), alpha, beta);
}

TEST_P(gemm_values, all_scales) {
  for (const float alpha : {0.f, 1.f, -1.5f})
    for (const float beta : {0.f, 1.f, -1.5f}) expect_right(plain(alpha, beta));
}
TEST_P(gemm_values, beta_of_0_leaves_c_unread) {
  for (const float beta : {0.f, -0.f})
    for (const float junk : {nan, infinity}) {
      product p = plain(1, beta);
      p.c = filled(rows, columns, junk);
      for (const auto by : {major::row, major::column}) {
        p.place_c = placed_in_packets(by, p.c);
        expect_right(p, "junk in C");
      }
    }
}
TEST_P(gemm_values, full_tiles_with_beta_of_0_leave_c_unread) {
  product p = product_of(random_reals(128, 16, 1), random_reals(16, 128, 2), 1, -0.f);
  p.c = filled(128, 128, nan);
  expect_right(p);
}
TEST_P(gemm_values, alpha_of_0_leaves_a_and_b_unread) {
  for (const float alpha : {0.f, -0.f})
    for (const float beta : {0.f, 1.f, -1.5f}) {
      product p = plain(alpha, beta);
      p.a = filled(rows, depth, nan);
      p.b = filled(depth, columns, infinity);
      expect_right(p, "junk in A and B");
    }
}
TEST_P(gemm_values, alpha_of_0_takes_null_operands) {
  const context where = any();
  for (const gemms::step& s : gemms::steps)
    for (const float beta : {0.f, 1.f, 1.3f}) {
      const product p = plain(0, beta);
      matrix c(where, p.c, p.place_c);
      gemm(where,
           {.a = {nullptr, rows, depth, depth, 1},
            .b = {nullptr, depth, columns, columns, 1},
            .c = c.view(),
            .alpha = 0,
            .beta = beta},
           {.policy = s.name});
      where.runs_on().synchronize(nullptr);
      EXPECT_TRUE(same(c.read(), expected(p))) << s.name << ", beta " << beta;
    }
}
TEST_P(gemm_values, no_k_gives_c_scaled) {
  const context where = any();
  for (const gemms::step& s : gemms::steps)
    for (const float alpha : {1.f, -1.5f})
      for (const float beta : {0.f, 1.f, 1.3f}) {
        const product p = product_of(dense{rows, 0}, dense{0, columns}, alpha, beta);
        matrix c(where, p.c, p.place_c);
        gemm(where,
             {.a = {nullptr, rows, 0, 0, 1},
              .b = {nullptr, 0, columns, columns, 1},
              .c = c.view(),
              .alpha = alpha,
              .beta = beta},
             {.policy = s.name});
        where.runs_on().synchronize(nullptr);
        EXPECT_TRUE(same(c.read(), expected(p))) << s.name << ", beta " << beta;
      }
}
// K = 0: alpha has nothing to scale, even if it is infinite or NaN.
TEST_P(gemm_values, no_k_ignores_alpha) {
  for (const float alpha : {infinity, nan})
    for (const float beta : {0.f, 1.f, 1.3f})
      expect_right(product_of(dense{rows, 0}, dense{0, columns}, alpha, beta));
}

TEST_P(gemm_values, one_nan_spoils_its_row) {
  for (const std::int64_t row : {0, 31, 36})
    for (const std::int64_t k : {0, 16, 34}) {
      product p = plain(-1.5, 1);
      p.a(row, k) = nan;
      const auto right = expected(p);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) ASSERT_EQ(std::isnan(right(i, j)), i == row);
      expect_right(p, "NaN in A");
    }
}
TEST_P(gemm_values, one_infinity_meets_zeros) {
  product p = plain();
  p.a(33, 17) = infinity;
  for (std::int64_t j = 0; j < columns; ++j) p.b(17, j) = j % 3 == 0 ? 0.f : j % 3 == 1 ? 0.25f : -2.f;
  const auto right = expected(p);
  for (std::int64_t j = 0; j < columns; ++j) {
    if (j % 3 == 0)
      ASSERT_TRUE(std::isnan(right(33, j)));
    else
      ASSERT_EQ(right(33, j), j % 3 == 1 ? infinity : -infinity);
    ASSERT_TRUE(std::isfinite(right(32, j)));
  }
  expect_right(p, "Inf in A");
}
TEST_P(gemm_values, overflow_is_infinity) {
  product p = product_of(filled(rows, 1, 3e38f), filled(1, columns, 2));
  ASSERT_EQ(expected(p)(0, 0), infinity);
  expect_right(p, "3e38 * 2");
  p.alpha = 2;
  p.b = filled(1, columns, 1);
  expect_right(p, "2 * (3e38 * 1)");
}
// 3e38 + 3e38 - 3e38 - 3e38: the sum in the order of k overflows and stays infinite.
TEST_P(gemm_values, overflow_in_between_stays) {
  const product p =
      product_of(filled(rows, 4, 3e38f), made(4, columns, [](auto k, auto) { return k < 2 ? 1 : -1; }));
  ASSERT_EQ(expected(p)(0, 0), infinity);
  expect_right(p);
}
TEST_P(gemm_values, denormals_are_kept) {
  constexpr float smallest = std::numeric_limits<float>::denorm_min();
  product p =
      product_of(made(rows, 3, [](auto i, auto k) { return smallest * static_cast<float>(1 + i + 5 * k); }),
                 made(3, columns, [](auto k, auto j) { return 1 + k + j; }));
  ASSERT_EQ(expected(p)(0, 0), 46 * smallest);  // 1 * 1 + 6 * 2 + 11 * 3
  expect_right(p, "denormal products");
  p.b = made(3, columns, [](auto k, auto j) { return 0x1p100f * static_cast<float>(1 + k + j); });
  expect_right(p, "denormal times large");
  p.a = filled(rows, 3, 0x1p-126f);
  p.b = filled(3, columns, 0.125f);
  p.beta = 0.5;
  p.c = filled(rows, columns, 3 * smallest);
  expect_right(p, "denormal results");
}
TEST_P(gemm_values, identity_and_permutations_move_bits) {
  const dense a = made(rows, columns, [](auto i, auto j) {
    return std::ldexp(1 + static_cast<float>(j) / 256, static_cast<int>(i * 6) - 120);
  });
  for (const std::int64_t factor : {1, 5}) {  // 5 and 133 have no common divisor
    const product p = product_of(
        a, made(columns, columns, [&](auto k, auto j) { return k * factor % columns == j ? 1 : 0; }));
    const auto right = expected(p);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t k = 0; k < columns; ++k) ASSERT_EQ(right(i, k * factor % columns), a(i, k));
    expect_right(p);
  }
}
// Magnitudes from 2^-60 to 2^60 in every row of A and column of B: small ones are lost only where FP32 loses
// them.
TEST_P(gemm_values, all_magnitudes_in_one_row) {
  product p = plain();
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t i = 0; i < rows; ++i)
      p.a(i, k) = std::ldexp(p.a(i, k), static_cast<int>((i * 5 + k * 11) % 121) - 60);
    for (std::int64_t j = 0; j < columns; ++j)
      p.b(k, j) = std::ldexp(p.b(k, j), static_cast<int>((k * 13 + j * 3) % 121) - 60);
  }
  expect_right(p);
}
// Factors up to 2^11 and sums below 2^24 are exact.
TEST_P(gemm_values, large_integers_are_exact) {
  const auto whole = [](std::int64_t n) { return 1025 + n % 1024; };
  const product p =
      product_of(made(rows, 3, [&](auto i, auto k) { return whole(i * 271 + k * 577) * (k == 2 ? -1 : 1); }),
                 made(3, columns, [&](auto k, auto j) { return whole(k * 331 + j * 89); }));
  const auto right = expected(p);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < 3; ++k)
        sum += static_cast<std::int64_t>(p.a(i, k)) * static_cast<std::int64_t>(p.b(k, j));
      ASSERT_EQ(static_cast<std::int64_t>(right(i, j)), sum);
    }
  expect_right(p);
}
// Powers of two on rows of A and columns of B scale the result exactly; magnitudes within a product span
// 2^200.
TEST_P(gemm_values, powers_of_two_scale_exactly) {
  const product base = plain();
  const auto power_of_row = [](std::int64_t i) { return static_cast<int>(i * 7 % 201) - 100; };
  const auto power_of_column = [](std::int64_t j) { return static_cast<int>((j + 3) * 7 % 41) - 20; };
  product scaled = base;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < depth; ++k) scaled.a(i, k) = std::ldexp(base.a(i, k), power_of_row(i));
  for (std::int64_t k = 0; k < depth; ++k)
    for (std::int64_t j = 0; j < columns; ++j) scaled.b(k, j) = std::ldexp(base.b(k, j), power_of_column(j));
  const context where = any();
  for (const gemms::step& s : gemms::steps) {
    const dense one = computed(where, s.name, base), other = computed(where, s.name, scaled);
    const dense moved = made(rows, columns, [&](auto i, auto j) {
      return std::ldexp(one(i, j), power_of_row(i) + power_of_column(j));
    });
    EXPECT_TRUE(same_bits(other, moved)) << s.name;
  }
}

AP_ON_BOTH_DEVICES(gemm_values);

}  // namespace
}  // namespace antiphase::gemm_test
