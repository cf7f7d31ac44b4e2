// SPDX-License-Identifier: Apache-2.0
// tf32 products: every compiled kernel, every division of K, every layout of operands and results, and the
// certificate.
#include "library/gemm/tf32/tf32_plan.hpp"

#include <antiphase/executor/published.hpp>
#include <limits>
#include <tuple>

#include "tests/gemm/an_h200.hpp"
#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

using gemms::tf32_division;
using gemms::tf32_instance;
using gemms::tf32_plan;

// Positive and of like size: what is cut off adds up.
dense positive(std::int64_t rows, std::int64_t columns, unsigned seed) {
  const dense x = reals(rows, columns, seed);
  return made(rows, columns, [&](auto i, auto j) { return 1 + std::abs(x(i, j)); });
}

class gemm_tf32 : public on_device {
 protected:
  struct outcome {
    dense c;
    std::uint64_t recomputed;
  };
  // With that kernel. The test fails if anything but C is written.
  outcome multiply(const context& where, const product& p, const tf32_instance& with, bool turned,
                   const tf32_division& how) const {
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    const gemm_problem what{.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta};
    const tf32_plan plan = gemms::plan_tf32(where, what, {}, with, turned, how);
    device_array<std::byte> workspace(where, std::vector<std::byte>(plan.workspace() + 1, std::byte{0x5A}));
    device_array<std::uint64_t> recomputed(where, std::vector<std::uint64_t>(1));
    gemms::run(where, plan, {workspace.data(), plan.workspace()}, recomputed.data(), nullptr);
    where.runs_on().synchronize(nullptr);
    EXPECT_EQ(workspace.to_host().back(), std::byte{0x5A});
    return {c.read(), recomputed.to_host()[0]};
  }
  bool can(const context& where, const product& p, const tf32_instance& with, bool turned) const {
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    return gemms::can_tf32(where, with, {.a = a.view(), .b = b.view(), .c = c.view()}, {}, turned);
  }
  const std::vector<tf32_instance>& kernels() const { return gemms::tf32_instances(any().kind()); }
  // With the policy by its name. The test fails if other than that many outputs were computed again.
  dense narrowed(const product& p, std::uint64_t expected_again = 0) const {
    device_array<std::uint64_t> recomputed(any(), std::vector<std::uint64_t>(1));
    const dense c = computed(any(), "tf32", p, recomputed.data());
    EXPECT_EQ(recomputed.to_host()[0], expected_again) << "outputs were computed again";
    return c;
  }
};

TEST_P(gemm_tf32, every_kernel_divides_k_in_every_way) {
  const context where = any();
  unsigned seed = 1;
  ASSERT_EQ(kernels().size(), 17u);
  for (const auto& [m, n, k] : {std::array{133, 67, 70}, {128, 64, 100}, {36, 20, 330}, {1, 5, 7}})
    for (const major by_a : {major::row, major::column})
      for (const major by_b : {major::row, major::column}) {
        product p = product_of(reals(m, k, seed, 9), reals(k, n, seed + 1, 5), seed % 4 == 3 ? -1.5f : 1,
                               seed % 3 == 0 ? -0.75f : 0);
        p.place_a = placed_in_packets(by_a, p.a);
        p.place_b = placed_in_packets(by_b, p.b);
        if (seed % 5 < 3) p.place_c = placed_in_packets(seed % 5 == 0 ? major::column : major::row, p.c);
        ++seed;
        for (const tf32_instance& with : kernels())
          for (const bool turned : {false, true}) {
            if (!can(where, p, with, turned)) continue;
            for (const tf32_division& how : {tf32_division{1, 1}, {2, 1}, {1, 3}, {4, 2}}) {
              if (how.cluster * how.parts > 1 && k < 2 * gemms::tf32_chunk * how.cluster * how.parts &&
                  seed % 3 != 0)
                continue;
              if (how.cluster * how.parts > 1 && with.policy.kept_halves > 0) continue;
              SCOPED_TRACE(testing::Message()
                           << with.code.name << (turned ? " turned, " : ", ") << m << " x " << n << " x " << k
                           << ", cluster of " << how.cluster << ", " << how.parts << " parts");
              AP_EXPECT_KEPT(multiply(where, p, with, turned, how).c, p);
            }
          }
      }
}
TEST_P(gemm_tf32, layouts_alignments_and_gaps) {
  unsigned seed = 1;
  for (const auto& [m, n, k] : {std::array{37, 150, 31}, {140, 66, 70}})
    for (const major by_a : {major::row, major::column})
      for (const major by_b : {major::row, major::column})
        for (const major by_c : {major::row, major::column}) {
          seed += 2;
          product p = product_of(reals(m, k, seed, 9), reals(k, n, seed + 1, 5), seed % 4 == 3 ? -1.5f : 1,
                                 seed % 6 == 5 ? -0.75f : 0);
          p.place_a = placed(by_a, p.a, seed % 3, static_cast<int>(seed % 4));
          p.place_b = placed(by_b, p.b, seed % 5, static_cast<int>(seed / 4 % 4));
          p.place_c = placed(by_c, p.c, seed % 2, static_cast<int>(seed / 2 % 4));
          SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", seed " << seed);
          AP_EXPECT_KEPT(narrowed(p), p);
        }
}
TEST_P(gemm_tf32, general_and_negative_strides) {
  product p = product_of(reals(70, 9, 1), reals(9, 40, 2), -1.5f, 0.5f);
  p.place_a = {7, 70 * 7, 1};
  p.place_b = {3, 9 * 3 + 2, 2};
  p.place_c = {120, 3, 3};
  AP_EXPECT_KEPT(narrowed(p), p);
  for (const placing how : {placing{-44, 1}, placing{44, -1}, placing{1, -72}, placing{-100, -2}}) {
    p.place_c = how;  // written backwards
    AP_EXPECT_KEPT(narrowed(p), p);
  }
  p.place_a = {-12, 1}, p.place_b = {1, -12};
  AP_EXPECT_KEPT(narrowed(p), p);
}

// In any layout, and with TMA as with cp.async.
TEST_P(gemm_tf32, bits_follow_from_the_division_alone) {
  const context where = any();
  product p = product_of(reals(100, 260, 1, 30), reals(260, 50, 2, 30));
  for (const tf32_division how : {tf32_division{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
    std::vector<dense> results;
    for (const tf32_instance& with : kernels())
      for (const major by_a : {major::row, major::column})
        for (const major by_b : {major::row, major::column}) {
          p.place_a = placed_in_packets(by_a, p.a);
          p.place_b = placed_in_packets(by_b, p.b);
          if (!can(where, p, with, false)) continue;
          results.push_back(multiply(where, p, with, false, how).c);
          EXPECT_TRUE(same_bits(results.back(), results.front())) << with.code.name;
        }
    // each layout by its own kernel and by threads, and two by kernels in pieces
    ASSERT_EQ(results.size(), 10u);
  }
}

// By blocks of a cluster, or by one block after each other.
TEST_P(gemm_tf32, pieces_have_the_same_bits_by_any_kernel) {
  const context where = any();
  for (const std::int64_t n : {7, 30, 70}) {
    product p = product_of(reals(76, 460, 1, 30), reals(460, n, 2, 30));
    for (const int pieces : {2, 4}) {
      std::vector<dense> results;
      int in_pieces = 0;
      for (const tf32_instance& with : kernels())
        for (const major by_a : {major::row, major::column})
          for (const tf32_division how :
               {tf32_division{1, 1, pieces}, {pieces, 1, pieces}, {1, pieces, pieces}}) {
            const bool alone = how.cluster * how.parts == 1;
            p.place_a = placed_in_packets(by_a, p.a);
            p.place_b = placed_in_packets(major::column, p.b);
            if (with.policy.kept_halves > 0 || !can(where, p, with, false)) continue;
            if (alone && with.policy.columns == 0) continue;
            in_pieces += alone;
            results.push_back(multiply(where, p, with, false, how).c);
            EXPECT_TRUE(same_bits(results.back(), results.front()))
                << with.code.name << ", " << n << " columns, cluster of " << how.cluster << ", " << how.parts
                << " parts";
          }
      EXPECT_EQ(in_pieces, n > 32 ? 2 : n > 8 ? 4 : 6);
    }
  }
}

// Kernels that keep the short operand. Steps that are not full, edges of tiles and of boxes, several columns
// for each block and several blocks for each column; C by rows, by columns, and where TMA cannot store it;
// lines whose outputs are not certified in some tiles, so that threads store some and TMA the others.
TEST_P(gemm_tf32, a_kept_operand_changes_no_bit) {
  const context where = any();
  unsigned seed = 1;
  for (const auto& [m, n, k] : {std::array{300, 132, 64},
                                {700, 36, 33},
                                {132, 260, 20},
                                {516, 68, 5},
                                {60, 28, 61},
                                {258, 70, 16},
                                {133, 65, 32}})
    for (const int variant : {0, 1, 2, 3}) {
      ++seed;
      product p = product_of(reals(m, k, seed, 9), reals(k, n, seed + 1, 5), variant == 1 ? -1.5f : 1,
                             variant == 2 ? 0.75f : 0);
      if (variant > 0) {
        for (std::int64_t j = 0; j < k; ++j) p.a(m / 2, j) *= 0x1p-120f;  // its outputs are computed again
        for (std::int64_t j = 3; j < k; ++j) p.a(m - 1, j) = 0;           // its outputs are exact
        p.a(1, 1) = std::numeric_limits<float>::infinity();
        if (variant == 3)
          for (std::int64_t i = 2; i < k; ++i) p.b(i, n - 1) = 0;
      }
      const int offset = variant == 3 ? 1 : 0;
      for (const major by_c : {major::row, major::column}) {
        p.place_c = offset == 0 ? placed_in_packets(by_c, p.c) : placed(by_c, p.c, 3, offset);
        std::optional<dense> expected;
        for (const major by_a : {major::row, major::column})
          for (const major by_b : {major::row, major::column}) {
            p.place_a = placed_in_packets(by_a, p.a);
            p.place_b = variant % 2 == 0 ? placed_in_packets(by_b, p.b) : placed(by_b, p.b, 1, 1);
            for (const tf32_instance& with : kernels()) {
              if (with.policy.kept_halves == 0 && (with.policy.loader == gemms::loader::tma || expected))
                continue;
              if (!can(where, p, with, n > m)) continue;
              SCOPED_TRACE(testing::Message() << with.code.name << ", " << m << " x " << n << " x " << k
                                              << ", variant " << variant);
              const outcome here = multiply(where, p, with, n > m, {1, 1});
              if (!expected) {
                expected = here.c;
                AP_EXPECT_KEPT(here.c, p);
              }
              EXPECT_TRUE(same_bits(here.c, *expected));
            }
          }
      }
    }
}

// What Tensor Cores cut off has one sign here.
TEST_P(gemm_tf32, truncation_stays_within_the_promise) {
  const product p = product_of(positive(130, 1000, 1), positive(1000, 66, 2));
  AP_EXPECT_KEPT(narrowed(p), p);
}
// With hi rounded, lo of the long operand has one bit; with hi cut off, lo would have 13, of which Tensor
// Cores take 11.
TEST_P(gemm_tf32, hi_of_the_long_operand_is_rounded) {
  const product p = product_of(
      made(70, 40,
           [](auto i, auto k) { return 1 + static_cast<float>((i + k) % 9) * 0x1p-9f + 0x1.fffp-11f; }),
      made(40, 30, [](auto, auto j) { return 1 + static_cast<float>(j) / 64; }));
  const dense c = narrowed(p);
  for (std::int64_t i = 0; i < 70; ++i)
    for (std::int64_t j = 0; j < 30; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < 40; ++k) sum += static_cast<double>(p.a(i, k)) * p.b(k, j);
      ASSERT_LE(std::abs(c(i, j) - sum), 0x1p-23 * sum) << i << ", " << j;
    }
}
TEST_P(gemm_tf32, integers_of_11_bits_are_exact) {
  product p = product_of(random_integers(130, 300, 1), random_integers(300, 66, 2));
  for (float& x : p.a.value) x *= 511;
  const dense c = narrowed(p);
  for (std::int64_t i = 0; i < 130; ++i)
    for (std::int64_t j = 0; j < 66; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < 300; ++k) sum += static_cast<double>(p.a(i, k)) * p.b(k, j);
      ASSERT_EQ(c(i, j), sum) << i << ", " << j;
    }
}
// Rows of A, then columns of B, with 0 to 4 nonzeros of 24 bits: outputs of up to two are exact except for
// one rounding, the others keep the guarantee, and none counts as computed again.
TEST_P(gemm_tf32, lines_of_few_nonzeros_are_exact) {
  for (const std::int64_t k : {13, 300})
    for (const bool across : {false, true}) {
      product p =
          across ? product_of(reals(45, k, 3), dense{k, 140}) : product_of(dense{140, k}, reals(k, 45, 3));
      for (std::int64_t i = 0; i < 140; ++i)
        for (std::int64_t number = 0; number < i % 5; ++number) {
          const std::int64_t at = (i % 3 + number * (k / 5)) % k;
          (across ? p.b(at, i) : p.a(i, at)) = number == 0   ? 0x1p60f
                                               : number == 2 ? -0x1p60f
                                                             : 1.f + static_cast<float>(i) * 0x1p-20f;
        }
      const dense c = narrowed(p);
      AP_EXPECT_KEPT(c, p);
      for (std::int64_t i = 0; i < c.rows; ++i)
        for (std::int64_t j = 0; j < c.columns; ++j) {
          if ((across ? j : i) % 5 > 2) continue;
          double sum = 0;  // of two products, each of which is exact
          for (std::int64_t at = 0; at < k; ++at) sum += static_cast<double>(p.a(i, at)) * p.b(at, j);
          ASSERT_EQ(c(i, j), static_cast<float>(sum)) << i << ", " << j << ", K = " << k;
        }
    }
}
// Operands made of zeros in every shape that programs have: no output is computed again, by any policy, and
// each keeps its guarantee. Outputs of one or two terms are exact except for one rounding.
TEST_P(gemm_tf32, zeros_are_not_computed_again) {
  const std::int64_t m = 150, n = 70, k = 90;
  using shape = bool (*)(std::int64_t line, std::int64_t k);
  const shape lower = [](auto i, auto at) { return at <= i * 90 / 150; },
              all = [](auto, auto) { return true; }, one = [](auto i, auto at) { return at == i * 37 % 90; };
  const std::tuple<const char*, shape, shape> kinds[] = {
      {"triangular", lower, all},
      {"its transpose", [](auto i, auto at) { return at >= i * 90 / 150; }, all},
      {"a dense operand and a triangular one", all, lower},
      {"one-hot rows", one, all},
      {"one-hot columns", all, one},
      {"one-hot rows and columns", one, one},
      {"two nonzeros", [](auto i, auto at) { return at == i * 37 % 90 || at == i * 11 % 90; }, all},
      {"block-diagonal", [](auto i, auto at) { return i / 19 == at / 12; }, all},
      {"banded", [](auto i, auto at) { return std::abs(at - i * 90 / 150) < 3; }, all},
      {"zero rows", [](auto i, auto) { return i % 2 == 0; }, all},
      {"zero columns", all, [](auto i, auto) { return i % 2 == 0; }},
      {"zero padding", [](auto i, auto at) { return i < 100 && at < 64; },
       [](auto i, auto) { return i < 40; }},
      {"nine in ten", [](auto i, auto at) { return (i * 7919 + at * 104729) % 10 == 0; }, all},
      {"nothing", [](auto, auto) { return false; }, all}};
  for (const auto& [name, of_a, of_b] : kinds)
    for (const char* const policy : {"tf32", "fp16", "fp16-mma", "fp64-dots", "fp64"})
      for (const major by : {major::row, major::column}) {
        if (!is_cuda() && policy[0] == 'f' && by == major::column) continue;  // slow there
        SCOPED_TRACE(testing::Message() << name << " by " << policy);
        const dense x = reals(m, k, 1), y = reals(k, n, 2);
        const shape in_a = of_a, in_b = of_b;
        product p = product_of(made(m, k, [&](auto i, auto at) { return in_a(i, at) ? x(i, at) : 0; }),
                               made(k, n, [&](auto at, auto j) { return in_b(j, at) ? y(at, j) : 0; }));
        p.place_a = placed_in_packets(by, p.a), p.place_b = placed_in_packets(by, p.b);
        device_array<std::uint64_t> recomputed(any(), std::vector<std::uint64_t>(1));
        const dense c = computed(any(), policy, p, recomputed.data());
        EXPECT_EQ(recomputed.to_host()[0], 0u);
        AP_EXPECT_KEPT(c, p);
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            int terms = 0;
            for (std::int64_t at = 0; at < k; ++at)
              if (p.a(i, at) != 0 && p.b(at, j) != 0)
                sum += static_cast<double>(p.a(i, at)) * p.b(at, j), ++terms;
            const bool few_of_row = std::string_view(name).starts_with("one-hot rows") ||
                                    std::string_view(name) == "two nonzeros";
            if (terms == 0 || (few_of_row && terms <= 2)) {
              ASSERT_EQ(c(i, j), static_cast<float>(sum)) << i << ", " << j;
            }
          }
      }
}
// Whether a line has few nonzeros, or a tiny one, shows only at its end.
TEST_P(gemm_tf32, lines_are_looked_at_to_their_end) {
  for (const bool across : {false, true}) {
    product p = product_of(reals(140, 150, 1), reals(150, 60, 2));
    for (std::int64_t k = 0; k < 100; ++k) (across ? p.b(k, 7) : p.a(133, k)) = 0;
    AP_EXPECT_KEPT(narrowed(p), p);
    for (std::int64_t k = 0; k < 150; ++k) (across ? p.b(k, 9) : p.a(5, k)) *= k == 0 ? 0 : 0x1p-60f;
    for (std::int64_t i = 0; i < (across ? 140 : 60); ++i) (across ? p.a(i, 0) : p.b(0, i)) = 0x1p60f;
    (across ? p.b(149, 9) : p.a(5, 149)) = 0x1p-130f;
    AP_EXPECT_KEPT(narrowed(p, across ? 140 : 60), p);
  }
}
// As gradients have them: next to what the outputs are made of, their loss is nothing.
TEST_P(gemm_tf32, tiny_elements_of_large_outputs_are_not_computed_again) {
  for (const std::int64_t k : {50, 300}) {
    product p = product_of(positive(140, k, 1), positive(k, 70, 2));
    for (std::int64_t i = 0; i < 140; i += 3) p.a(i, i % k) = 0x1.8p-130f;
    for (std::int64_t j = 0; j < 70; j += 2) p.b(j % k, j) = -0x1.4p-128f;
    AP_EXPECT_KEPT(narrowed(p), p);
  }
}
// Outputs around the certificate's limit, of lines whose every element but one is lost.
TEST_P(gemm_tf32, outputs_are_certified_by_the_largest_element_that_a_tiny_one_meets) {
  const std::int64_t k = 70;
  const double limit = k * 0x1p-111;  // the largest element counts as the next power of two
  for (const double largest : {0x1p-10, 1., 0x1p30})
    for (const double times : {0.003, 0.99, 1.01, 3.}) {
      product p = product_of(
          made(140, k, [&](auto, auto at) { return at == 0   ? -largest * 0x1p-10
                                                   : at == 1 ? 0
                                                             : largest; }),
          made(k, 65, [&](auto at, auto j) {
            return at == 0   ? -times * limit * 0x1p10 * (j % 3 == 1 ? -1. : 1.)
                   : at == 1 ? 0x1p-60
                             : 0x1p-136 - 0x1p-149;
          }));
      SCOPED_TRACE(testing::Message() << times << " times the limit, the largest element " << largest);
      AP_EXPECT_KEPT(narrowed(p, times < 1 ? 140 * 65 : 0), p);
    }
}
// A thread sees only a part of a stage's k, such as some of the eight groups of four of a line of the short
// operand: what one has seen must not hide what another has.
TEST_P(gemm_tf32, lines_are_known_from_all_groups_of_a_stage) {
  constexpr std::int64_t lines = 64, groups = gemms::tf32_stage_k / 4;
  for (const major by : {major::row, major::column}) {
    product few = product_of(reals(150, 100, 1), dense{100, lines}), tiny = few;
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::int64_t first = line % groups, other = (first + 1 + line / groups) % groups;
      for (std::int64_t n = 0; n < 3; ++n)
        few.b(4 * first + n, line) = 1.f + static_cast<float>(line + n) * 0x1p-20f;
      for (std::int64_t n = 0; n < 4 && other != first; ++n)
        few.b(4 * other + n, line) = 3.f + static_cast<float>(line * n) * 0x1p-20f;
      for (std::int64_t n = 0; n < 8; ++n)
        tiny.b((4 * first + n) % gemms::tf32_stage_k, line) =
            0x1p-124f * (1.f + static_cast<float>(line + n) * 0x1p-20f);
    }
    for (float& x : tiny.a.value) x *= 0x1p100f;
    few.place_b = placed_in_packets(by, few.b), tiny.place_b = placed_in_packets(by, tiny.b);
    AP_EXPECT_KEPT(narrowed(few), few);
    AP_EXPECT_KEPT(narrowed(tiny, 150 * lines), tiny);
  }
}
TEST_P(gemm_tf32, identity_is_exact) {
  const product p =
      product_of(made(133, 133, [](auto i, auto j) { return i == j ? 1 : 0; }), reals(133, 50, 7, 60));
  EXPECT_TRUE(same_bits(narrowed(p), p.b));
}
TEST_P(gemm_tf32, infinities_and_nan_follow_ieee) {
  product p = product_of(reals(150, 40, 1), reals(40, 140, 2), 1, 0.5f);
  p.a(3, 1) = infinity;
  p.a(140, 3) = nan;
  p.a(77, 0) = -infinity;
  p.a(20, 5) = std::bit_cast<float>(0x7F800001u);  // a NaN that only the ignored bits tell from infinity
  p.b(2, 100) = infinity;
  p.b(7, 101) = std::bit_cast<float>(0xFF801000u);
  for (std::int64_t k = 0; k < 40; ++k) p.b(k, 50) = 0;  // a column of zeros: infinity times 0
  AP_EXPECT_KEPT(narrowed(p, 4 * 140 + 2 * 146), p);
}
TEST_P(gemm_tf32, ends_of_the_range) {
  struct range {
    int of_a, of_b;
    std::uint64_t again;
  };
  constexpr std::uint64_t all = 40 * 45, none = 0;
  for (const auto& [of_a, of_b, again] : {range{-149, 0, all},
                                          {-140, 20, all},
                                          {-100, -40, all},
                                          {127, -149, all},
                                          {60, 67, all},
                                          {-80, 0, none},
                                          {-40, -40, none},
                                          {100, -90, none}}) {
    product p = product_of(positive(40, 130, 1), positive(130, 45, 2));
    for (float& x : p.a.value) x = std::ldexp(x, of_a);
    for (float& x : p.b.value) x = std::ldexp(x, of_b);
    SCOPED_TRACE(testing::Message() << of_a << ", " << of_b);
    AP_EXPECT_KEPT(narrowed(p, again), p);
  }
}
// Next to the largest number, where rounding hi leads to infinity.
TEST_P(gemm_tf32, the_largest_numbers) {
  product p = product_of(filled(30, 40, 0.01f), filled(40, 20, 0.5f));
  p.a(3, 7) = p.a(4, 9) = std::numeric_limits<float>::max();
  p.b(5, 5) = -std::numeric_limits<float>::max();
  AP_EXPECT_KEPT(narrowed(p, 2 * 20), p);
}
// Single elements below 2^-112 lose bits that the rest of the line cannot hide where everything else cancels
// or is zero.
TEST_P(gemm_tf32, tiny_elements_are_not_lost) {
  for (const bool across : {false, true}) {
    product p = across ? product_of(reals(45, 70, 1), reals(70, 140, 2))
                       : product_of(reals(140, 70, 2), reals(70, 45, 1));
    for (std::int64_t k = 0; k < 70; ++k) {
      (across ? p.b(k, 99) : p.a(99, k)) *= k < 69 ? 0x1p-115f : 0x1p-140f;
      for (std::int64_t j = 0; j < 45; ++j) (across ? p.a(j, k) : p.b(k, j)) *= 0x1p100f;
    }
    AP_EXPECT_KEPT(narrowed(p, 45), p);
  }
}
// Each block knows of its own part of K alone: sizes of lines are put together. Small and large outputs, of
// which the same are computed again however K is divided.
TEST_P(gemm_tf32, tiny_elements_count_whatever_block_has_them) {
  const context where = any();
  product p = product_of(reals(140, 600, 1), reals(600, 70, 2));
  for (std::int64_t i = 0; i < 140; i += 4) {
    for (std::int64_t k = 0; k < 600; ++k) p.a(i, k) *= 0x1p-60f;
    p.a(i, (i * 151) % 600) = 0x1.8p-130f;
  }
  for (std::int64_t j = 0; j < 70; j += 3) p.b((j * 97) % 600, j) = 0x1p-128f;
  for (std::int64_t j = 0; j < 70; ++j) {
    const std::int64_t k = (j * 211 + 5) % 600;
    p.b(k, j) = 0x1.2p55f;
    for (std::int64_t i = 0; i < 140; i += 8) p.a(i, k) = 0;
  }
  p.place_a = placed_in_packets(major::row, p.a), p.place_b = placed_in_packets(major::column, p.b);
  std::optional<std::uint64_t> again;
  for (const tf32_instance& with : kernels()) {
    if (with.policy.kept_halves > 0 || with.policy.columns > 0 || !can(where, p, with, false)) continue;
    for (const tf32_division& how : {tf32_division{1, 1}, {2, 1}, {1, 3}, {4, 2}, {8, 1}}) {
      SCOPED_TRACE(testing::Message()
                   << with.code.name << ", cluster of " << how.cluster << ", " << how.parts << " parts");
      const outcome here = multiply(where, p, with, false, how);
      AP_EXPECT_KEPT(here.c, p);
      EXPECT_EQ(here.recomputed, again.value_or(here.recomputed));
      again = here.recomputed;
    }
  }
  EXPECT_GT(again.value_or(0), 0u);
  EXPECT_LT(again.value_or(0), 140u * 70u / 2);
}
// Results that cancel to nothing, or whose nonzeros meet only zeros, are certified unless their products may
// have been too small.
TEST_P(gemm_tf32, zeros_of_ordinary_lines_are_certain) {
  const auto half = [](bool first) {
    return [first](auto i, auto k) {
      return (k < 20) == first ? 1.f + static_cast<float>((i * 5 + k * 3) % 7) : 0;
    };
  };
  product p =
      product_of(made(140, 40, half(true)), made(40, 70, [&](auto k, auto j) { return half(false)(j, k); }));
  EXPECT_TRUE(same(narrowed(p), filled(140, 70, 0)));
  for (float& x : p.a.value) x *= 0x1p-60f;
  for (float& x : p.b.value) x *= 0x1p-60f;
  EXPECT_TRUE(same(narrowed(p, 140 * 70), filled(140, 70, 0)));
}
TEST_P(gemm_tf32, beta_of_0_leaves_c_unread) {
  for (const float beta : {0.f, -0.f})
    for (const std::int64_t n : {45, 64}) {
      product p = product_of(reals(131, 70, 5), reals(70, n, 6), 1, beta);
      p.c = filled(131, n, nan);
      AP_EXPECT_KEPT(narrowed(p), p);
    }
}

// Members further apart than a product's own elements, operands shared by all members, and operands that TMA
// does not take.
TEST_P(gemm_tf32, batches) {
  const context where = any();
  const std::int64_t m = 37, n = 20, k = 50, count = 5;
  for (const auto& [same_a, same_b] : {std::pair{false, false}, {false, true}, {true, false}})
    for (const int offset : {0, 1}) {
      std::vector<product> members;
      for (unsigned i = 0; i < count; ++i)
        members.push_back(
            product_of(reals(m, k, 10 + (same_a ? 0 : i)), reals(k, n, 20 + (same_b ? 0 : i)), 1, 0.5f));
      const std::int64_t apart_a = m * 52 + 4, apart_b = k * n + 4, apart_c = m * n + 7;
      std::vector<float> a(static_cast<std::size_t>(count * apart_a), nan),
          b(static_cast<std::size_t>(count * apart_b), nan),
          c(static_cast<std::size_t>(count * apart_c + 1), nan);
      for (std::int64_t i = 0; i < count; ++i) {
        const product& p = members[static_cast<std::size_t>(i)];
        for (std::int64_t r = 0; r < m; ++r) {
          for (std::int64_t s = 0; s < k; ++s)
            a[static_cast<std::size_t>(i * apart_a + r * 52 + s)] = p.a(r, s);
          for (std::int64_t s = 0; s < n; ++s)
            c[static_cast<std::size_t>(i * apart_c + r * n + s)] = p.c(r, s);
        }
        for (std::int64_t r = 0; r < k; ++r)
          for (std::int64_t s = 0; s < n; ++s)
            b[static_cast<std::size_t>(i * apart_b + r * n + s)] = p.b(r, s);
      }
      a.insert(a.begin(), static_cast<std::size_t>(offset), nan);
      device_array<float> on_a(where, a), on_b(where, b), on_c(where, c);
      const gemm_problem first{.a = {on_a.data() + offset, m, k, 52, 1},
                               .b = {on_b.data(), k, n, n, 1},
                               .c = {on_c.data(), m, n, n, 1},
                               .beta = 0.5f};
      const gemms::batch of{count, same_a ? 0 : apart_a, same_b ? 0 : apart_b, apart_c};
      const auto division = gemms::divide_tf32({m, n, k, count, true}, where.limits());
      const std::optional<tf32_plan> plan = gemms::plan_tf32(where, first, of, division.division);
      ASSERT_TRUE(plan.has_value());
      EXPECT_EQ(plan->instance->policy.loader, offset == 0 ? gemms::loader::tma : gemms::loader::cp_async);
      device_array<std::byte> workspace(where, plan->workspace() + 1);
      gemms::run(where, *plan, {workspace.data(), plan->workspace()}, nullptr, nullptr);
      where.runs_on().synchronize(nullptr);
      const std::vector<float> after = on_c.to_host();
      for (std::int64_t i = 0; i < count; ++i) {
        SCOPED_TRACE(testing::Message() << "member " << i << ", offset " << offset
                                        << (same_a   ? ", the same A"
                                            : same_b ? ", the same B"
                                                     : ""));
        AP_EXPECT_KEPT(
            made(m, n,
                 [&](auto r, auto s) { return after[static_cast<std::size_t>(i * apart_c + r * n + s)]; }),
            members[static_cast<std::size_t>(i)]);
        for (std::int64_t gap = m * n; gap < apart_c; ++gap)
          EXPECT_TRUE(std::isnan(after[static_cast<std::size_t>(i * apart_c + gap)]));
      }
    }
}

TEST_P(gemm_tf32, every_schedule_gives_the_same_bits) {
  const context where = any();
  for (const tf32_instance& with : kernels()) {
    const bool keeps = with.policy.kept_halves > 0;
    const std::int64_t all_k = keeps ? 16 * with.policy.kept_halves - 1 : 200, rows = keeps ? 420 : 100;
    product p = product_of(reals(rows, all_k, 1, 60), reals(all_k, 37, 2, 60), 1, 1);
    for (std::int64_t i = 0; i < 100; i += 7)
      for (std::int64_t k = 3; k < all_k; ++k) p.a(i, k) = 0;
    p.a(5, 1) = infinity;
    p.place_a = placed_in_packets(with.policy.long_along_k ? major::row : major::column, p.a);
    p.place_b = placed_in_packets(with.policy.short_along_k ? major::column : major::row, p.b);
    p.place_c = placed_in_packets(major::row, p.c);
    for (const tf32_division& how : {tf32_division{1, 1}, {2, 2}}) {
      if (keeps && how.parts > 1) continue;
      const dense first = multiply(where, p, with, false, how).c;
      for (const context& there : several())
        EXPECT_TRUE(same_bits(multiply(there, p, with, false, how).c, first)) << with.code.name;
    }
  }
}

AP_ON_BOTH_DEVICES(gemm_tf32);

// The workspace's bound is enough for the plan of any shape, and never shrinks. Blocks take no more of K than
// accuracy allows.
// The fastest of the three ways, as measured on an H200.
TEST(gemm_tf32_plans, few_rows_in_pieces_are_divided_as_is_fastest) {
  const device_limits h200 = gemm_test::an_h200();
  for (const std::int64_t rows : {1, 8, 16, 32})
    for (const auto& [columns, cluster, parts] :
         {std::tuple{1024, 4, 1}, {4096, 1, 4}, {6144, 4, 1}, {14336, 1, 1}, {28672, 1, 1}}) {
      const auto how = gemms::divide_tf32_in_pieces({rows, columns, 4096}, h200).division;
      EXPECT_EQ(std::pair(how.cluster, how.parts), std::pair(cluster, parts)) << rows << " x " << columns;
    }
}

TEST(gemm_tf32_plans, workspace_is_enough_and_grows) {
  const context where(make_cpu_executor({.limits = published_device("9.0")}));
  int divided = 0;
  for (const std::int64_t m : {1, 31, 64, 65, 260, 3000, 100'000})
    for (const std::int64_t n : {1, 33, 64, 300, 5000})
      for (const std::int64_t k : {1, 63, 128, 200, 700, 4096, 20'000, 70'000, 1'000'000}) {
        float* const data = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
        const gemm_problem p{.a = row_major<const float>(data, m, k),
                             .b = row_major<const float>(data, k, n),
                             .c = row_major(data, m, n)};
        const std::size_t most = gemms::most_tf32_workspace(m, n, k, 1);
        EXPECT_LE(most, gemms::most_tf32_workspace(m + 1, n, k, 1));
        EXPECT_LE(most, gemms::most_tf32_workspace(m, n + 1, k, 1));
        EXPECT_LE(most, gemms::most_tf32_workspace(m, n, k + 1, 1));
        if (!gemms::tf32_tiles_fit(p, {})) continue;
        const auto plan =
            gemms::plan_tf32(where, p, {}, gemms::divide_tf32({m, n, k}, where.limits()).division);
        ASSERT_TRUE(plan.has_value());
        divided += plan->workspace() > 0;
        EXPECT_LE(plan->workspace(), most) << m << " x " << n << " x " << k;
        EXPECT_LE(plan->k_of_part, gemms::k_of_tf32_share) << m << " x " << n << " x " << k;
      }
  EXPECT_GT(divided, 10);
}

}  // namespace
}  // namespace antiphase::gemm_test
