// SPDX-License-Identifier: Apache-2.0
// Products with few values of k: sums in FP64, rounded once.
#include <cmath>
#include <limits>
#include <utility>

#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

class gemm_short : public on_device {
 protected:
  dense computed_short(const product& p) { return computed(any(), "short", p); }
};

// What a sum in FP64 gives, in the order of k, whose products are exact.
dense by_double(const product& p) {
  return made(p.c.rows, p.c.columns, [&](auto i, auto j) {
    double sum = 0;
    for (std::int64_t k = 0; k < p.a.columns; ++k) sum += static_cast<double>(p.a(i, k)) * p.b(k, j);
    const float scaled = p.alpha * static_cast<float>(sum);
    return p.beta == 0 ? scaled : std::fma(p.beta, p.c(i, j), scaled);
  });
}

TEST_P(gemm_short, shapes_and_layouts) {
  in_all_layouts({{1, 1, 1}, {5, 3, 2}, {129, 127, 3}, {37, 300, 4}, {2100, 2, 4}, {260, 131, 4}, {64, 128, 4}, {70, 9, 3}}, varied_product,
                 [&](const product& p) { EXPECT_TRUE(same(computed_short(p), by_double(p))); });
}
TEST_P(gemm_short, general_strides) {
  const auto expect_right = [&](const product& p) { EXPECT_TRUE(same(computed_short(p), by_double(p))); };
  const product p = product_of_general_strides(4);
  expect_right(p);
  written_backwards(p, expect_right);
}

// x + y - x + z: FP64 alone would lose y and z behind an x of 2^60.
TEST_P(gemm_short, sums_that_cancel_are_rounded_once) {
  for (const std::int64_t k : {3, 4}) {
    const std::int64_t m = 75, n = 141;
    product p = product_of(dense{m, k}, made(k, n, [](auto, auto j) { return std::ldexp(1.f, static_cast<int>(j % 9)); }), 1, 2);
    for (std::int64_t i = 0; i < m; ++i) {
      p.a(i, i % k) = 0x1p60f;
      p.a(i, (i + 1) % k) = 3 + static_cast<float>(i);
      p.a(i, (i + 2) % k) = -0x1p60f;
      if (k == 4) p.a(i, (i + 3) % k) = 0x1p-10f;
    }
    const auto one = [&](std::int64_t i, std::int64_t j) {
      const double rest = 3 + static_cast<double>(i) + (k == 4 ? 0x1p-10 : 0);
      return std::fma(2.f, p.c(i, j), static_cast<float>(std::ldexp(rest, static_cast<int>(j % 9))));
    };
    EXPECT_TRUE(same(computed_short(p), made(m, n, one)));
    const product turned = product_of(transposed(p.b), transposed(p.a));  // now columns of B are those lines
    p.beta = 0;
    const dense straight = computed_short(p), across = computed_short(turned);
    EXPECT_TRUE(same(across, transposed(straight)));
  }
}
// However much cancels. Products have up to 48 bits, the third one 14 of them behind the point: a long double holds all sums.
TEST_P(gemm_short, sums_are_within_five_eighths_of_a_unit) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  constexpr std::int64_t m = 97, n = 131;
  const auto about = [](std::int64_t at, std::int64_t bits) { return static_cast<float>((at % 9 - 4) * (std::int64_t{1} << bits)); };
  // Kernels add up in orders of their own, and FP64 cuts off only what is added between the two that cancel.
  for (const auto& [k, first] : {std::pair{3, 0}, {3, 1}, {3, 2}, {4, 0}, {4, 1}, {4, 2}, {4, 3}}) {
    product p = product_of(dense{m, k}, dense{k, n}, 1, 0);
    const int large = first, fine = (first + 1) % k, opposite = (first + 2) % k;
    for (std::int64_t i = 0; i < m; ++i) {
      p.a(i, large) = static_cast<float>((1 << 23) + 8191 * i + 1);
      p.a(i, opposite) = -(p.a(i, large) + about(i, i % 19));
      p.a(i, fine) = std::ldexp(static_cast<float>(3 * i + 1), -14);
      if (k == 4) p.a(i, (first + 3) % k) = i % 2 == 0 ? 0.f : std::ldexp(1.f, -14);
    }
    for (std::int64_t j = 0; j < n; ++j) {
      p.b(large, j) = static_cast<float>((1 << 23) + 4093 * j + 1);
      p.b(opposite, j) = p.b(large, j) + about(j, j % 17);
      p.b(fine, j) = static_cast<float>((1 << 22) + 2 * j + 1);
      if (k == 4) p.b((first + 3) % k, j) = static_cast<float>(j);
    }
    int tiny = 0, small = 0;  // beside their products: by more than 2^-22, and by no more than 2^-16
    for (const char* policy : {"short", "stream"}) {
      const dense c = computed(any(), policy, p);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          long double sum = 0;
          for (std::int64_t at = 0; at < k; ++at) sum += static_cast<long double>(p.a(i, at)) * p.b(at, j);
          const long double share = std::fabs(sum) / (static_cast<long double>(p.a(i, large)) * p.b(large, j));
          tiny += share < 0x1p-22L, small += share >= 0x1p-22L && share < 0x1p-16L;
          const long double unit = std::ldexp(1.L, std::ilogb(sum) - 23), off = std::fabs(c(i, j) - sum);
          const bool is_a_float = static_cast<long double>(static_cast<float>(sum)) == sum;
          ASSERT_LE(off, is_a_float ? 0 : 0.625L * unit) << policy << ", " << k << " from " << first << ": (" << i << ", " << j << ')';
        }
      }
    }
    EXPECT_GT(tiny, 100);
    EXPECT_GT(small, 100);
    // Which operand is A must not matter, nor that one is tiny.
    for (const int scale : {0, 60, 130}) {
      product q = p;
      for (float& x : q.a.value) x = std::ldexp(x, scale - 40);
      for (float& x : q.b.value) x = std::ldexp(x, -scale);
      EXPECT_TRUE(same(computed_short(product_of(transposed(q.b), transposed(q.a))), transposed(computed_short(q)))) << scale;
    }
  }
}
TEST_P(gemm_short, infinities_and_nan_follow_ieee) {
  const product p = product_with_infinities(4);
  AP_EXPECT_KEPT(computed_short(p), p);
}
TEST_P(gemm_short, ends_of_the_range) {
  at_the_ends_of_the_range(3, [&](const product& p) { AP_EXPECT_KEPT(computed_short(p), p); });
}
TEST_P(gemm_short, beta_of_0_leaves_c_unread) {
  for (const float beta : {0.f, -0.f}) {
    product p = product_of(reals(131, 4, 5), reals(4, 45, 6), 1, beta);
    p.c = filled(131, 45, nan);
    EXPECT_TRUE(same(computed_short(p), by_double(p)));
  }
}

TEST_P(gemm_short, is_chosen_for_many_tiny_products) {
  const context where = any();
  std::vector<float> memory(100);
  const auto chosen = [&](const context& there, std::int64_t k, const gemm_options& how = {}) {
    return explain(there, {.a = {memory.data(), 3, k, k, 1}, .b = {memory.data(), k, 2, 2, 1}, .c = {memory.data() + 90, 3, 2, 2, 1}}, how);
  };
  const gemm_options many{.batch = {.count = 100'000, .a_stride = 12, .b_stride = 8, .c_stride = 6}};
  EXPECT_EQ(chosen(where, 3, many).kernel, "short");
  EXPECT_EQ(chosen(where, 4, many).kernel, "short");
  EXPECT_EQ(chosen(where, 4, many).workspace, 0u);
  EXPECT_NE(chosen(where, 5, many).kernel, "short");
  EXPECT_NE(chosen(where, 4, {.accuracy = precision::strict}).kernel, "short");
  const auto refused = [&](const context& there, std::int64_t k) {
    try {
      chosen(there, k, {.policy = "short"});
    } catch (const not_supported& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(refused(where, 5), testing::HasSubstr("for K up to 4, K is 5"));
  device_limits other = simulated_device();
  other.major = 7, other.minor = 5;  // slow in FP64, and without a faster way to keep the bound
  const context slow(make_cpu_executor({.limits = other}));
  EXPECT_NE(chosen(slow, 4).kernel, "short");
  EXPECT_EQ(refused(slow, 4), "nothing") << "who asks for it gets it";
}

TEST_P(gemm_short, every_schedule_gives_the_same_bits) {
  product p = product_of(reals(150, 4, 1, 60), reals(4, 137, 2, 60), 1, 1);
  for (std::int64_t i = 0; i < 150; i += 7) p.a(i, 3) = 0;
  const dense first = computed_short(p);
  for (const context& where : several()) EXPECT_TRUE(same_bits(computed(where, "short", p), first));
}

AP_ON_BOTH_DEVICES(gemm_short);

}  // namespace
}  // namespace antiphase::gemm_test
