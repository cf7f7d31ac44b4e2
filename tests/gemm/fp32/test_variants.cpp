// SPDX-License-Identifier: Apache-2.0
// The variants of the last step, each by itself: which one is chosen, and that each adds up in the order it
// guarantees.
#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

const gemms::step& strict() { return gemms::find_step("strict"); }

// Odd edges in every direction, more tiles than a ring has stages, and beta.
product edged(const gemms::policy& how, major a, major b, bool packets) {
  const std::int64_t m = how.tile.m + 5, n = how.tile.n + 7, k = (how.stages + 1) * how.tile_k + 3;
  product p = product_of(random_reals(m, k, 51), random_reals(k, n, 52), 1, -1.5);
  p.place_a = packets ? placed_in_packets(a, p.a) : placed(a, p.a, 2);
  p.place_b = packets ? placed_in_packets(b, p.b) : placed(b, p.b, 2);
  return p;
}

class gemm_variants : public on_device {
 protected:
  // Every variant that takes the operands as they lie. Returns how many there were.
  int run_each(bool packets) {
    int ran = 0;
    for (const context& where : several())
      for (const gemms::instance& variant : gemms::instances(where.kind())) {
        if (variant.step != std::string_view("strict") || variant.policy.run != gemms::parts::all) continue;
        for (const major by_a : {major::row, major::column})
          for (const major by_b : {major::row, major::column}) {
            const product p = edged(variant.policy, by_a, by_b, packets);
            matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
            const gemms::problem request{
                .a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta};
            if (!gemms::takes(variant, request)) continue;
            SCOPED_TRACE(testing::Message()
                         << variant.code.name << ", tile " << variant.policy.tile.m << " x "
                         << variant.policy.tile.n << ", A by " << (by_a == major::row ? "rows" : "columns")
                         << ", B by " << (by_b == major::row ? "rows" : "columns"));
            const gemms::plan plan = gemms::prepare(variant, request);
            where.runs_on().launch(plan.instance.code, plan.grid, &plan.arguments, nullptr);
            where.runs_on().synchronize(nullptr);
            const slicing how{variant.policy.slices, variant.policy.slices == 1 ? 1 : variant.policy.tile_k};
            EXPECT_TRUE(same(c.read(), expected(p, how)));
            ++ran;
          }
      }
    return ran / static_cast<int>(several().size());
  }
};

// Aligned: each of 4 layouts in 3 sizes, the unaligned kernels of 2 sizes in the layouts they are for, and
// any layout by the 3 general ones.
TEST_P(gemm_variants, add_up_in_their_order) { EXPECT_EQ(run_each(true), 4 * 3 + 2 * 3 + 3 * 4); }
// Rows that do not start at multiples of 16 bytes: only operands that are contiguous along k, both of them,
// and the general ones.
TEST_P(gemm_variants, take_what_is_not_aligned) { EXPECT_EQ(run_each(false), 2 + 3 * 4); }
AP_ON_BOTH_DEVICES(gemm_variants);

// The choice
// -----------------------------------------------------------------------------------------------------------
gemms::policy chosen(std::int64_t m, std::int64_t n, placing place_a) {
  alignas(16) static float data[4];
  const gemms::problem p{.a = {data, m, 64, place_a.row_stride, place_a.column_stride},
                         .b = row_major<const float>(data, 64, n, (n + 3) / 4 * 4),
                         .c = row_major(data + 1, m, n)};
  return gemms::prepare(target::cpu, strict(), p).instance.policy;
}
TEST(gemm_choices, follow_the_size_of_c) {
  const placing rows{64, 1};
  EXPECT_EQ(chosen(4096, 4096, rows).tile, (gemms::extent2{128, 256}));
  EXPECT_EQ(chosen(1280, 2560, rows).tile, (gemms::extent2{128, 256}));  // 100 tiles
  EXPECT_EQ(chosen(1280, 2304, rows).tile, (gemms::extent2{64, 128}));   // 90
  EXPECT_EQ(chosen(1024, 1024, rows).tile, (gemms::extent2{64, 128}));
  EXPECT_EQ(chosen(512, 512, rows).tile, (gemms::extent2{32, 64}));
  EXPECT_EQ(chosen(1, 1, rows).tile, (gemms::extent2{32, 64}));
}
// The order of the additions does not depend on anything else.
TEST(gemm_choices, of_slices_follow_nothing_but_the_size_of_c) {
  for (const auto& [m, n, slices] :
       {std::array{4096, 4096, 1}, {1280, 2304, 2}, {1024, 1024, 2}, {1, 8448, 2}, {512, 512, 8}, {1, 1, 8}})
    for (const placing& a : {placing{64, 1}, {66, 1}, {1, 4096}, {1, 4098}, {128, 2}, {-64, 1}})
      EXPECT_EQ(chosen(m, n, a).slices, slices)
          << m << " x " << n << ", strides " << a.row_stride << " and " << a.column_stride;
}
TEST(gemm_choices, follow_how_the_operands_lie) {
  EXPECT_EQ(chosen(4096, 4096, {64, 1}).a.transposed(), true);
  EXPECT_EQ(chosen(4096, 4096, {66, 1}).a.transposed(), false);  // rows at multiples of 8 bytes
  EXPECT_EQ(chosen(4096, 4096, {66, 1}).a.along, gemms::contiguous::k);
  EXPECT_EQ(chosen(4096, 4096, {1, 4096}).a.along, gemms::contiguous::outer);
  EXPECT_EQ(chosen(4096, 4096, {1, 4098}).a.along, gemms::contiguous::neither);
  EXPECT_EQ(chosen(4096, 4096, {128, 2}).a.along, gemms::contiguous::neither);
}

// The lists are made from the steps: whole, only loading, only computing, in this order, and called after the
// step.
TEST(gemm_lists, have_every_general_step_with_its_parts) {
  using enum gemms::parts;
  int general = 0;
  for (const gemms::step& s : gemms::steps) {
    if (!gemms::is_general_step(s)) continue;
    ++general;
    std::vector<gemms::parts> found;
    for (const gemms::instance& i : gemms::instances(target::cpu)) {
      if (i.step != std::string_view(s.name)) continue;
      EXPECT_EQ(i.code.name, "gemm." + std::string(s.name));
      gemms::policy how = i.policy;
      how.run = all;
      EXPECT_TRUE(how == s.policy) << s.name;
      found.push_back(i.policy.run);
    }
    EXPECT_EQ(found, (std::vector{all, load_only, compute_only})) << s.name;
  }
  EXPECT_EQ(general, 9);
}

}  // namespace
}  // namespace antiphase::gemm_test
