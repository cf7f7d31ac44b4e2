// SPDX-License-Identifier: Apache-2.0
// The error bounds that products guarantee, as numbers; which one holds on which device; and calls whose
// bound is weaker than requested.
#include <limits>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::HasSubstr;

TEST(gemm_bounds, are_those_of_the_documentation) {
  const gemm_bound split = bound_of(gemm_sums::hopper, 4096), before = bound_of(gemm_sums::ampere, 4096),
                   doubles = bound_of(gemm_sums::doubles, 12),
                   single = bound_of(gemm_sums::multiply_adds, 6556);
  EXPECT_DOUBLE_EQ(split.units, 80 + 4096 / 59.);
  EXPECT_DOUBLE_EQ(before.units, 121 + 4096 / 55.);
  EXPECT_EQ(doubles.units, 1 + 12 * 0x1p-29);
  EXPECT_EQ(single.units, 6556);
  for (const gemm_bound& b : {split, before, doubles}) EXPECT_EQ(b.absolute, 0x1p-150);
  EXPECT_EQ(single.absolute, 6556 * 0x1p-150);
  EXPECT_EQ(bound_of(gemm_sums::unknown, 1).units, infinity);
}
TEST(gemm_bounds, of_a_long_k_add_up_its_pieces) {
  const gemm_bound one = bound_of(gemm_sums::hopper, 65536), two = bound_of(gemm_sums::hopper, 65537);
  EXPECT_EQ(one.pieces, 1);
  EXPECT_NEAR(two.units - one.units, 1 + 1 / 59., 1e-9);
  EXPECT_EQ(two.absolute, 2 * one.absolute);
  EXPECT_EQ(two.pieces, 2);
  EXPECT_DOUBLE_EQ(bound_of(gemm_sums::ampere, 131073).units, 121 + 131073 / 55. + 2);
}
TEST(gemm_bounds, grow_with_k_up_to_the_longest) {
  constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
  for (const gemm_sums how :
       {gemm_sums::multiply_adds, gemm_sums::doubles, gemm_sums::hopper, gemm_sums::ampere}) {
    gemm_bound before = bound_of(how, 0);
    EXPECT_EQ(before.units, 0);
    EXPECT_EQ(before.absolute, 0);
    for (std::int64_t k = 1; k > 0; k = k == longest ? 0 : k > longest / 3 ? longest : 3 * k) {
      const gemm_bound now = bound_of(how, k);
      EXPECT_TRUE(now.units > before.units && now.absolute >= before.absolute && std::isfinite(now.units))
          << k;
      before = now;
    }
  }
}
TEST(gemm_bounds, are_kept_if_neither_term_is_larger) {
  const gemm_bound asked{80, 0x1p-150};
  EXPECT_TRUE(keeps(asked, asked));
  EXPECT_TRUE(keeps({1, 0x1p-150}, asked));
  EXPECT_FALSE(keeps({81, 0x1p-150}, asked));
  EXPECT_FALSE(keeps({16, 0x1p-146}, asked));
  EXPECT_FALSE(keeps(bound_of(gemm_sums::unknown, 5), asked));
}
TEST(gemm_bounds, allow_for_alpha_and_beta) {
  const gemm_bound b{10, 0x1p-150, 2};
  EXPECT_EQ(b.allowed(0x1p24), 10 + 0x1p-150);
  EXPECT_EQ(b.allowed(0x1p24, -3, 0x1p23, 0x1p24), 3 * 11 + 1 + 3);
  EXPECT_EQ(b.allowed(0, -3, 0, 0), 2 * (3 * 0x1p-150 + 2 * 0x1p-150));
}
TEST(gemm_bounds, are_told_in_words) {
  EXPECT_EQ(to_text(bound_of(gemm_sums::multiply_adds, 6556)), "6556 u |A||B| + 6556 x 2^-150");
  EXPECT_EQ(to_text(bound_of(gemm_sums::hopper, 59)), "81 u |A||B| + 2^-150");
  EXPECT_EQ(to_text(bound_of(gemm_sums::unknown, 59)), "no known bound");
  EXPECT_EQ(to_text(gemm_bound{}), "0");
}

// Which bound holds
// -----------------------------------------------------------------------------------------------------------
struct asking {
  int major = 9, minor = 0;
  std::size_t kib = 227;  // of shared memory
  std::int64_t k = 6556;
  float alpha = 1;
  gemm_options options = {};
};
struct operands {
  explicit operands(const asking& how)
      : a(static_cast<std::size_t>(8 * how.k), 0.5f), b(a), c(64), k(how.k), alpha(how.alpha) {}
  gemms::problem problem() {
    return {row_major<const float>(a.data(), 8, k), row_major<const float>(b.data(), k, 8),
            row_major(c.data(), 8, 8), alpha};
  }
  std::vector<float> a, b, c;
  std::int64_t k;
  float alpha;
};
context device_of(const asking& how) {
  device_limits device = simulated_device();
  device.major = how.major, device.minor = how.minor, device.shared_opt_in = how.kib * 1024;
  return context(make_cpu_executor({.limits = device}));
}
gemm_choice chosen(const asking& how) {
  return explain(device_of(how), operands(how).problem(), how.options);
}

TEST(gemm_choice_bound, is_that_of_the_kernel) {
  const auto units = [](const asking& how) { return chosen(how).bound.units; };
  const double split = 80 + 6556 / 59., on_ampere = 121 + 6556 / 55.;
  EXPECT_EQ(units({}), 1 + 6556 * 0x1p-29);  // fp64
  EXPECT_EQ(units({.options = {.policy = "fp16"}}), split);
  EXPECT_EQ(units({.kib = 99, .options = {.policy = "fp16-mma"}}), split);
  EXPECT_EQ(units({.major = 8, .minor = 6, .kib = 99, .options = {.policy = "fp16-mma"}}), on_ampere);
  EXPECT_EQ(units({.major = 8, .minor = 6, .kib = 99}), 1 + 6556 * 0x1p-29);  // fp64-dots, as it is small
  EXPECT_EQ(units({.major = 12, .kib = 99}), 6556);
  EXPECT_EQ(units({.major = 12, .kib = 99, .options = {.policy = "fp16-mma"}}), infinity);
  EXPECT_EQ(units({.options = {.accuracy = precision::strict}}), 6556);
  EXPECT_EQ(units({.options = {.policy = "async-2"}}), 6556);
  EXPECT_EQ(units({.k = 12}), 1 + 12 * 0x1p-29);
  EXPECT_EQ(units({.k = 0}), 0);
  EXPECT_EQ(units({.alpha = 0}), 0);
}
TEST(gemm_choice_bound, is_beside_the_one_that_was_asked_for) {
  const gemm_choice right = chosen({}), weaker = chosen({.major = 12, .kib = 99}),
                    before = chosen({.major = 8, .minor = 6, .kib = 99});
  EXPECT_TRUE(keeps(right.bound, right.asked));
  EXPECT_FALSE(keeps(weaker.bound, weaker.asked));
  EXPECT_EQ(weaker.asked.units, 80 + 6556 / 59.);
  EXPECT_TRUE(keeps(before.bound, before.asked)) << "what fp32 stands for there";
  const gemm_choice strict = chosen({.major = 12, .kib = 99, .options = {.accuracy = precision::strict}}),
                    nothing = chosen({.major = 12, .kib = 99, .k = 0});
  EXPECT_TRUE(keeps(strict.bound, strict.asked));
  EXPECT_TRUE(keeps(nothing.bound, nothing.asked));
}
TEST(gemm_choice_bound, if_weaker_is_refused_by_every_call_that_says_so) {
  const gemm_options refusing{.if_weaker = weaker_bound::refuse};
  const asking how{.major = 12, .kib = 99, .options = refusing};
  operands with(how);
  const context where = device_of(how);
  const auto refused = [&](auto call) {
    try {
      call();
    } catch (const not_supported& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  const auto numbers = testing::AllOf(HasSubstr("precision fp32"), HasSubstr("191.1186 u |A||B| + 2^-150"),
                                      HasSubstr("6556 u |A||B| + 6556 x"));
  with.c.assign(64, 7);
  EXPECT_THAT(refused([&] { gemm(where, with.problem(), refusing); }), numbers);
  EXPECT_EQ(with.c, std::vector<float>(64, 7)) << "C was changed";
  EXPECT_THAT(refused([&] { explain(where, with.problem(), refusing); }), numbers);
  EXPECT_THAT(refused([&] { gemm_workspace(where, with.problem(), refusing); }), numbers);
  EXPECT_EQ(refused([&] { gemm(where, with.problem()); }), "nothing");
  EXPECT_EQ(refused([&] {
              gemm(where, with.problem(), {.accuracy = precision::strict, .if_weaker = weaker_bound::refuse});
            }),
            "nothing");
  EXPECT_EQ(refused([&] { chosen({.options = refusing}); }), "nothing");
  EXPECT_EQ(refused([&] { chosen({.kib = 48, .k = 12, .options = refusing}); }), "nothing") << "sums in FP64";
  EXPECT_THAT(refused([&] { chosen({.options = {.policy = "tiled", .if_weaker = weaker_bound::refuse}}); }),
              HasSubstr("6556 u"));
  EXPECT_THAT(
      refused([&] {
        chosen(
            {.major = 12, .kib = 99, .options = {.policy = "fp16-mma", .if_weaker = weaker_bound::refuse}});
      }),
      HasSubstr("no known bound"));
}

}  // namespace
}  // namespace antiphase::gemm_test
