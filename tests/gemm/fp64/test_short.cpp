// SPDX-License-Identifier: Apache-2.0
// Products with K of up to four: sums in FP64, rounded once.
#include <cmath>
#include <limits>
#include <utility>

#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

class gemm_short : public on_device {
 protected:
  dense computed_short(const product& p) { return computed(any(), "fp64-short", p); }
};

// Reference: sums in FP64, in the order of k; the products are exact.
dense by_double(const product& p) {
  return made(p.c.rows, p.c.columns, [&](auto i, auto j) {
    double sum = 0;
    for (std::int64_t k = 0; k < p.a.columns; ++k) sum += static_cast<double>(p.a(i, k)) * p.b(k, j);
    const float scaled = p.alpha * static_cast<float>(sum);
    return p.beta == 0 ? scaled : std::fma(p.beta, p.c(i, j), scaled);
  });
}

TEST_P(gemm_short, shapes_and_layouts) {
  in_all_layouts({{1, 1, 1},
                  {5, 3, 2},
                  {129, 127, 3},
                  {37, 300, 4},
                  {2100, 2, 4},
                  {260, 131, 4},
                  {64, 128, 4},
                  {70, 9, 3}},
                 varied_product,
                 [&](const product& p) { EXPECT_TRUE(same(computed_short(p), by_double(p))); });
}
TEST_P(gemm_short, general_strides) {
  const auto expect_right = [&](const product& p) { EXPECT_TRUE(same(computed_short(p), by_double(p))); };
  const product p = product_of_general_strides(4);
  expect_right(p);
  written_backwards(p, expect_right);
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

TEST_P(gemm_short, is_for_few_values_of_k_on_any_device) {
  std::vector<float> memory(100);
  const auto refusal = [&](const context& there, std::int64_t k) -> std::string {
    try {
      const gemm_choice is = explain(there,
                                     {.a = {memory.data(), 3, k, k, 1},
                                      .b = {memory.data(), k, 2, 2, 1},
                                      .c = {memory.data() + 90, 3, 2, 2, 1}},
                                     {.policy = "fp64-short"});
      EXPECT_EQ(is.workspace, 0u);
      return "";
    } catch (const not_supported& e) {
      return e.what();
    }
  };
  EXPECT_EQ(refusal(any(), 4), "");
  EXPECT_THAT(refusal(any(), 5), testing::HasSubstr("for K up to 4, K is 5"));
  device_limits other = simulated_device();
  other.major = 7, other.minor = 5;  // slow in FP64
  EXPECT_EQ(refusal(context(make_cpu_executor({.limits = other})), 4), "") << "who asks for it gets it";
}

TEST_P(gemm_short, every_schedule_gives_the_same_bits) {
  product p = product_of(reals(150, 4, 1, 60), reals(4, 137, 2, 60), 1, 1);
  for (std::int64_t i = 0; i < 150; i += 7) p.a(i, 3) = 0;
  const dense first = computed_short(p);
  for (const context& where : several()) EXPECT_TRUE(same_bits(computed(where, "fp64-short", p), first));
}

AP_ON_BOTH_DEVICES(gemm_short);

}  // namespace
}  // namespace antiphase::gemm_test
