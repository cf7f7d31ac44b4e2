// SPDX-License-Identifier: Apache-2.0
// Products of split operands, and of few values of k, under the checker: no finding, whatever the epilogue
// and the tail have to do.
#include <antiphase/checker.hpp>

#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

// Operands of 24 significant bits, or the certificate would have nothing to do.
product real_product(std::int64_t m, std::int64_t n, std::int64_t k, float alpha = 1, float beta = 0) {
  return product_of(reals(m, k, 1), reals(k, n, 2), alpha, beta);
}
// What multiplies. `multiprocessors` decide how many blocks there are, and whether they share a tile.
class split_checked : public testing::TestWithParam<const char*> {
 protected:
  static void expect_clean(const product& p, std::uint64_t recomputed = 0, int multiprocessors = 1);
};
void split_checked::expect_clean(const product& p, std::uint64_t recomputed, int multiprocessors) {
  check_options options;
  options.schedules = 10;
  options.limits.multiprocessors = multiprocessors;
  const auto report = check(
      [&](const context& where) {
        device_array<std::uint64_t> count(where, std::vector<std::uint64_t>(1));
        AP_EXPECT_KEPT(computed(where, GetParam(), p, count.data()), p);
        EXPECT_EQ(count.to_host()[0], recomputed);
      },
      options);
  EXPECT_TRUE(report.clean()) << to_text(report);
  EXPECT_GT(report.accesses, 10000u);
}
// Rows of 1, -1 and next to nothing cancel on columns that start with two equal elements: none of their
// outputs is certified.
product cancelling(std::int64_t rows, product p) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < p.a.columns; ++k) p.a(i, k) *= 0x1p-40f;
    p.a(i, 0) = 1, p.a(i, 1) = -1;
  }
  for (std::int64_t j = 0; j < p.b.columns; ++j) p.b(0, j) = p.b(1, j) = 1;
  return p;
}

TEST_P(split_checked, plain) { expect_clean(real_product(37, 45, 71)); }
TEST_P(split_checked, operands_by_columns_and_scales) {
  product p = real_product(21, 19, 35, -1.5f, 0.5f);
  p.place_a = placed(major::column, p.a, 3, 1);
  p.place_b = placed(major::column, p.b, 1, 3);
  p.place_c = placed(major::row, p.c, 2, 2);
  expect_clean(p);
}
TEST_P(split_checked, tiny_elements) {
  product p = real_product(35, 33, 70);
  for (std::int64_t k = 1; k < 70; k += 7) p.a(k % 35, k) *= 0x1p-40f;
  expect_clean(p);
}
TEST_P(split_checked, some_uncertain_outputs) {
  expect_clean(cancelling(3, real_product(19, 23, 39, 1, 0.5f)), 3 * 23);
}
TEST_P(split_checked, more_uncertain_outputs_than_there_are_notes) {
  expect_clean(cancelling(33, real_product(35, 31, 39, 1, 1)), 33 * 31);
}
// Of more outputs than that, magnitudes are looked at, in steps of K that are not side by side: here until
// the last one.
TEST_P(split_checked, outputs_certified_by_their_magnitudes) {
  product p = cancelling(9, real_product(11, 131, 330));
  for (std::int64_t i = 0; i < 9; ++i) std::swap(p.a(i, 0), p.a(i, 300)), std::swap(p.a(i, 1), p.a(i, 301));
  for (std::int64_t j = 0; j < 131; ++j) p.b(300, j) = p.b(301, j) = j == 5 ? 0x1p-36f : 1.f;
  for (std::int64_t j = 0; j < 131; ++j) p.b(7, j) = 4;
  expect_clean(p, 9 + 9 * 3);
}
TEST_P(split_checked, lines_of_few_nonzeros) {
  product p = real_product(29, 31, 47, -1.5f, 2);
  for (std::int64_t i = 0; i < 29; i += 3)
    for (std::int64_t k = 0; k < 47; ++k)
      if (k % 13 != i % 13 || k > 13 * (i % 5)) p.a(i, k) = 0;
  expect_clean(p);
}
TEST_P(split_checked, infinities_and_nan) {
  product p = real_product(31, 29, 43, 1, 0.5f);
  p.a(3, 5) = infinity;
  p.a(30, 42) = nan;
  p.b(9, 28) = -infinity;
  expect_clean(p, 2 * 29 + 29);
}
// The ring goes on from tile to tile, and around several times. Some tiles are whole, so that pairs of
// outputs are stored.
TEST_P(split_checked, a_block_with_several_tiles) { expect_clean(real_product(128, 262, 235)); }
TEST_P(split_checked, a_block_with_several_uncertain_tiles) {
  expect_clean(cancelling(2, real_product(9, 262, 235, 1, -1)), 2 * 262);
}
// So short that a warp may be at the next tile's counting before another has left the last one's: the ring
// does not hold it back.
TEST_P(split_checked, uncertain_tiles_in_quick_succession) {
  expect_clean(cancelling(18, real_product(19, 390, 7, 1, -1)), 18 * 390);
}
// As many blocks as tiles, or more: by warps each tile is one block's.
TEST_P(split_checked, blocks_that_share_a_tile) { expect_clean(real_product(37, 101, 171, 1, 0.5f), 0, 2); }
TEST_P(split_checked, blocks_that_share_an_uncertain_tile) {
  product p = cancelling(7, real_product(35, 101, 135, 1, -1));
  for (std::int64_t k = 0; k < 135; ++k) p.a(30, k) = k == 3;
  expect_clean(p, 7 * 101, 2);
}

class short_checked : public split_checked {};
TEST_P(short_checked, few_values_of_k) {
  product p = real_product(71, 133, 4, 1, 0.5f);
  for (std::int64_t i = 0; i < 71; i += 5) p.a(i, 3) = 0;
  expect_clean(p);
}

INSTANTIATE_TEST_SUITE_P(fp64, short_checked, testing::Values("fp64-short"));
INSTANTIATE_TEST_SUITE_P(wgmma, split_checked, testing::Values("fp16"));
INSTANTIATE_TEST_SUITE_P(mma, split_checked, testing::Values("fp16-mma"));

}  // namespace
}  // namespace antiphase::gemm_test
