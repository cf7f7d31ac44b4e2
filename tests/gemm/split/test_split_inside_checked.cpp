// SPDX-License-Identifier: Apache-2.0
// Products that split an operand themselves, under the checker: no finding, and every fault of one is found.
#include <antiphase/checker.hpp>
#include <antiphase/core/error.hpp>

#include "src/gemm/split/split_plan.hpp"
#include "tests/gemm/contract.hpp"
#include "tests/gemm/split/split_mutants.hpp"
#include "tests/support/mutant_runners.hpp"

namespace antiphase::gemm_test {
namespace {

// Of 24 significant bits. In every row each stage is larger than the one before by 2^(growth * (row % 3)).
product rows_that_grow(std::int64_t m, std::int64_t n, std::int64_t k, int growth, float alpha = 1, float beta = 0) {
  const auto fine = [](std::int64_t rows, std::int64_t columns, unsigned seed) {
    const dense high = random_reals(rows, columns, seed), low = random_reals(rows, columns, seed + 1000);
    return made(rows, columns, [&](auto i, auto j) { return high(i, j) + low(i, j) / 4096; });
  };
  product p = product_of(fine(m, k, 1), fine(k, n, 2), alpha, beta);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l) p.a(i, l) = std::ldexp(p.a(i, l), growth * static_cast<int>(i % 3 * (l / 32)));
  p.place_a = placed_in_packets(major::row, p.a);
  return p;
}
// `multiprocessors` decide how many blocks share a tile.
void expect_clean(const product& p, int multiprocessors = 1) {
  check_options options;
  options.schedules = 10;
  options.limits.multiprocessors = multiprocessors;
  const auto report = check([&](const context& where) { AP_EXPECT_KEPT(computed(where, "split-inside", p), p); }, options);
  EXPECT_TRUE(report.clean()) << to_text(report);
  EXPECT_GT(report.accesses, 10000u);
}

TEST(split_inside_checked, scales_that_never_change) { expect_clean(rows_that_grow(37, 45, 171, 0)); }
TEST(split_inside_checked, scales_that_change) { expect_clean(rows_that_grow(70, 21, 401, 3, -1.5f, 0.5f)); }
TEST(split_inside_checked, several_tiles) { expect_clean(rows_that_grow(140, 131, 71, 1)); }
TEST(split_inside_checked, operands_that_change_places) {
  product p = rows_that_grow(140, 9, 131, 1);
  std::swap(p.a, p.b);
  p = product_of(made(9, 131, [&](auto i, auto k) { return p.a(k, i); }), made(131, 140, [&](auto k, auto j) { return p.b(j, k); }), 1, -1);
  p.place_b = placed_in_packets(major::column, p.b);
  expect_clean(p);
}
TEST(split_inside_checked, blocks_that_share_a_tile) {
  for (const int multiprocessors : {2, 8}) expect_clean(rows_that_grow(37, 31, 333, 3, 1, 0.5f), multiprocessors);
}
// Lines of few nonzeros, uncertain outputs, infinities and NaN.
product hard() {
  product p = rows_that_grow(41, 29, 271, 13, -1.5f, 2);
  for (std::int64_t i = 0; i < 41; i += 5)
    for (std::int64_t k = 0; k < 271; ++k)
      if (k % 67 != i % 67 || k > 67 * (i % 5)) p.a(i, k) = 0;
  for (std::int64_t k = 100; k < 271; ++k) p.b(k, 3) = 0;
  p.a(7, 70) = infinity;
  p.a(31, 270) = nan;
  p.b(9, 28) = -infinity;
  return p;
}
TEST(split_inside_checked, everything_rare) { expect_clean(hard()); }
TEST(split_inside_checked, everything_rare_of_blocks_that_share_a_tile) { expect_clean(hard(), 8); }

// faults -----------------------------------------------------------------------------------------------------------------------------
// One tile, whose k goes around the ring more than twice. Most rows grow in every stage of the first three chunks; some columns meet only
// what came first. The last chunks are multiplied without a stop.
void multiply(const context& where, const gemms::product_instance& with) {
  product p = rows_that_grow(37, 21, 6 * gemms::split_chunk - 21, 2);
  for (std::int64_t k = 0; k < p.a.columns; ++k) {
    for (std::int64_t i = 0; k >= 160 && i < p.a.rows; ++i) p.a(i, k) = std::ldexp(p.a(i, k), -2 * static_cast<int>(i % 3 * (k / 32 - 4)));
    p.a(30, k) *= k < 64 ? 0x1p-70f : 0x1p70f;
    if (k >= 64) p.b(k, 5) = 0;  // a whole chunk, so that nothing of it is tiny in the scale of its own time
  }
  matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
  gemms::product_plan plan = gemms::plan_product(where, {.a = a.view(), .b = b.view(), .c = c.view()}, gemms::multiplier::split_inside);
  plan.waves.front().with = with;
  device_array<std::byte> workspace(where, plan.workspace());
  gemms::run(where, plan, {workspace.data(), workspace.size()}, nullptr, nullptr);
  where.runs_on().synchronize(nullptr);
  const judged j = judge(c.read(), p);
  if (!(j.worst <= 1)) throw device_error("C(" + std::to_string(j.row) + ", " + std::to_string(j.column) + ") is wrong");
}
class split_inside_mutants : public testing::TestWithParam<test::mutant<>> {};
TEST_P(split_inside_mutants, are_found) {
  test::expect_accused(
      GetParam(),
      [](const context& where) {
        multiply(where, {gemms::few_inside_stages, GetParam().code});
      },
      test::on_multiprocessors(1, 10));
}
INSTANTIATE_TEST_SUITE_P(all, split_inside_mutants, testing::ValuesIn(gemms::checked::split_inside_mutants()),
                         test::name_of<test::as_its_test_says>);

}  // namespace
}  // namespace antiphase::gemm_test
