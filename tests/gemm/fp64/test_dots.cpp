// SPDX-License-Identifier: Apache-2.0
// Dot products: few lines of either operand, every division of K, every layout of operands and results.
#include <fmt/format.h>

#include <antiphase/core/tile.hpp>
#include <antiphase/executor/published.hpp>
#include <optional>
#include <utility>

#include "library/gemm/fp64/dots/dots_plan.hpp"
#include "tests/gemm/an_h200.hpp"
#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

using gemms::dots_division;
using gemms::dots_plan;
using gemms::vector_form;

constexpr dots_division by_lanes[] = {gemms::divided_by_lanes(4, 1), gemms::divided_by_lanes(16, 1),
                                      gemms::divided_by_lanes(128, 1), gemms::divided_by_lanes(8, 2),
                                      gemms::divided_by_lanes(64, 2)};
constexpr dots_division of_vectors[] = {gemms::divided_for_vector(32), gemms::divided_for_vector(64),
                                        gemms::divided_for_vector(128), gemms::divided_for_vector(256)};
// The divisions that a product can have whose shorter side has that length.
std::vector<dots_division> divisions_for(std::int64_t few) {
  std::vector<dots_division> all(std::begin(by_lanes), std::end(by_lanes));
  if (few == 1) all.insert(all.end(), std::begin(of_vectors), std::end(of_vectors));
  return all;
}
// Whether to take the kernel for operands across k: all values to test.
std::vector<bool> kernels_of(const dots_division& how) {
  return how.for_vector() || how.slots >= gemms::dots_least_across ? std::vector{false, true}
                                                                   : std::vector{false};
}
std::string told(const dots_division& how) {
  if (how.for_vector()) return fmt::format("{} slots for a vector", how.slots);
  return fmt::format("{} lanes for {} x {}", how.slots, how.square, how.square);
}

std::vector<std::pair<dots_division, bool>> with_kernels(const std::vector<dots_division>& all) {
  std::vector<std::pair<dots_division, bool>> pairs;
  for (const dots_division& how : all)
    for (const bool across : kernels_of(how)) pairs.emplace_back(how, across);
  return pairs;
}

std::vector<vector_form> forms_of_vector(bool across, int slots) {
  std::vector<vector_form> all;
  for (int threads = std::max(slots, gemms::dots_vector_least_threads);
       threads <= gemms::dots_vector_threads(across); threads *= 2)
    for (int lines = gemms::dots_vector_least_rows(across); lines <= gemms::dots_vector_most_rows(across);
         lines *= 2)
      all.push_back({threads, lines});
  return all;
}

class gemm_dots : public on_device {
 protected:
  // With the kernel that is planned. Where there are two kernels, the other one gives the same bits, and so
  // do all forms for a vector.
  dense divided(const context& where, const product& p, const dots_division& how) const {
    const auto by = [&](std::optional<bool> across, std::optional<vector_form> form = std::nullopt) {
      matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
      const auto plan = gemms::plan_dots(
          where, {.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta}, {}, {}, how,
          across, form);
      EXPECT_TRUE(plan.has_value());
      EXPECT_EQ(plan->instance->across, across.value_or(plan->instance->across));
      gemms::run(where, *plan, nullptr);
      where.runs_on().synchronize(nullptr);
      return c.read();
    };
    const dense planned = by(std::nullopt);
    for (const bool across : kernels_of(how))
      EXPECT_TRUE(same_bits(by(across), planned)) << (across ? "across k" : "along k");
    for (const bool across : {false, true}) {
      if (!how.for_vector()) break;
      for (const vector_form& form : forms_of_vector(across, how.slots))
        EXPECT_TRUE(same_bits(by(across, form), planned))
            << form.threads << " threads, each " << form.lines_of_thread << " lines";
    }
    return planned;
  }
  dense computed_dots(const product& p) const { return computed(any(), "fp64-dots", p); }
};
void expect_kept(const dense& c, const product& p) {
  const contract_result j = compare_with_exact(c, p, bound_of(gemm_sums::doubles, p.a.columns));
  EXPECT_LE(j.worst, 1) << "at C(" << j.row << ", " << j.column << ")";
}

TEST_P(gemm_dots, layouts_alignments_and_divisions) {
  const context where = any();
  unsigned seed = 1;
  for (const auto& [m, n, k] : {std::array{1, 300, 45},
                                {270, 2, 291},
                                {3, 70, 130},
                                {131, 5, 37},
                                {8, 133, 1060},
                                {1, 1, 2000},
                                {1, 11, 9004},
                                {37, 1, 2101},
                                {2, 9, 1500},
                                {7, 7, 1},
                                {19, 23, 210},
                                {45, 12, 77},
                                {9, 130, 1060}})
    for (const major by_a : {major::row, major::column})
      for (const major by_b : {major::row, major::column}) {
        seed += 2;
        product p = product_of(reals(m, k, seed, 9), reals(k, n, seed + 1, 5), seed % 4 == 3 ? -1.5f : 1,
                               seed % 6 == 5 ? 0.75f : 0);
        p.place_a = seed % 3 == 0 ? placed_in_packets(by_a, p.a)
                                  : placed(by_a, p.a, seed % 3, static_cast<int>(seed % 4));
        p.place_b = seed % 5 < 3 ? placed_in_packets(by_b, p.b)
                                 : placed(by_b, p.b, seed % 5, static_cast<int>(seed / 4 % 4));
        p.place_c = placed(seed % 7 < 3 ? major::row : major::column, p.c, seed % 2);
        for (const dots_division& how : divisions_for(std::min(m, n))) {
          SCOPED_TRACE(testing::Message()
                       << m << " x " << n << " x " << k << ", seed " << seed << ", " << told(how));
          expect_kept(divided(where, p, how), p);
        }
      }
}
TEST_P(gemm_dots, general_strides) {
  product p = product_of(reals(70, 90, 1), reals(90, 4, 2), -1.5f, 0.5f);
  p.place_a = {7, 70 * 7, 1};
  p.place_b = {3, 90 * 3 + 2, 2};
  for (const placing how :
       {placing{12, 3, 3}, placing{-8, 1}, placing{8, -1}, placing{-1, 72}, placing{1, -72}}) {
    p.place_c = how;
    expect_kept(computed_dots(p), p);
  }
}
// The order of additions shows in FP64: each product comes a second time with the other sign, so that nothing
// but roundings is left.
TEST_P(gemm_dots, bits_follow_from_the_division_alone) {
  const context where = any();
  for (const auto& [m, n, k] : {std::array{70, 3, 260}, {35, 1, 1300}, {21, 14, 300}}) {
    product p = product_of_halves_that_cancel(m, n, k);
    for (const dots_division& how : divisions_for(n)) {
      std::vector<dense> results;
      for (const major by_a : {major::row, major::column})
        for (const major by_b : {major::row, major::column})
          for (const int odd : {0, 1}) {
            p.place_a = placed(by_a, p.a, 4 * odd + odd, odd), p.place_b = placed(by_b, p.b, odd, odd);
            results.push_back(divided(where, p, how));
            EXPECT_TRUE(same_bits(results.back(), results.front())) << told(how);
          }
      EXPECT_TRUE(std::ranges::any_of(results.front().value, [](float x) { return x != 0; }))
          << "nothing is left that could differ";
    }
  }
}
// Two products that all but cancel, in one thread's part of K or in two: FP64 loses nothing, FP32 would. Such
// lines are rows of A, columns of B, few of them, and a vector.
TEST_P(gemm_dots, lines_of_two_nonzeros_are_exact) {
  const context where = any();
  for (const std::int64_t k : {3, 13, 300}) {
    product p = product_of_two_nonzeros(75, 5, k);
    p.a(7, 0) = infinity;  // such a line gives what IEEE says
    const auto exact = [&](const product& of) {
      return made(of.c.rows, of.c.columns,
                  [&](auto i, auto j) { return i == 7 ? infinity : sum_of_two_nonzeros(of, i, j); });
    };
    const auto part = [&](const dense& of, std::int64_t rows, std::int64_t columns) {
      return made(rows, columns, of);
    };
    product one = product_of(p.a, part(p.b, k, 1)), vector = product_of(part(p.a, 1, k), p.b);
    for (const major by : {major::row, major::column}) {
      p.place_a = one.place_a = placed(by, p.a), p.place_b = placed(by, p.b);
      const product turned = product_of(transposed(p.b), transposed(p.a)),
                    turned_vector = product_of(transposed(vector.b), transposed(vector.a));
      for (const dots_division& how : divisions_for(5)) {
        SCOPED_TRACE(testing::Message() << "K = " << k << ", " << told(how));
        EXPECT_TRUE(same(divided(where, p, how), exact(p)));
        EXPECT_TRUE(same(divided(where, turned, how), transposed(exact(p))));
      }
      for (const dots_division& how : of_vectors) {
        SCOPED_TRACE(testing::Message() << "K = " << k << ", " << told(how));
        EXPECT_TRUE(same(divided(where, one, how), exact(one)));
        EXPECT_TRUE(same(divided(where, turned_vector, how), transposed(exact(vector))));
      }
    }
  }
}
TEST_P(gemm_dots, infinities_and_nan_follow_ieee) {
  product p = product_of(reals(150, 40, 1), reals(40, 6, 2), 1, 0.5f);
  p.a(3, 1) = infinity;
  p.a(140, 3) = nan;
  p.a(77, 0) = -infinity;
  p.b(2, 4) = infinity;
  for (std::int64_t k = 0; k < 40; ++k) p.b(k, 5) = 0;  // a column of zeros: infinity times 0
  expect_kept(computed_dots(p), p);
}
TEST_P(gemm_dots, beta_of_0_leaves_c_unread) {
  for (const float beta : {0.f, -0.f}) {
    product p = product_of(reals(131, 70, 5), reals(70, 4, 6), 1, beta);
    p.c = filled(131, 4, nan);
    expect_kept(computed_dots(p), p);
  }
}
TEST_P(gemm_dots, every_schedule_gives_the_same_bits) {
  const product p = product_of(reals(70, 1330, 1, 60), reals(1330, 3, 2, 60), 1, 1);
  for (const dots_division how : {gemms::divided_by_lanes(16, 1), gemms::divided_by_lanes(128, 2)}) {
    const dense first = divided(any(), p, how);
    for (const context& there : several()) EXPECT_TRUE(same_bits(divided(there, p, how), first)) << told(how);
  }
}
// Whole numbers, so that sums are exact whatever their order: a batch that shares B, and each member's
// epilogue.
TEST_P(gemm_dots, members_and_epilogues) {
  const context where = any();
  constexpr std::int64_t count = 3;
  const auto whole = [](std::int64_t rows, std::int64_t columns, unsigned seed) {
    return made(rows, columns, [=](auto i, auto j) {
      return static_cast<float>((i * 37 + j * 11 + i * j * seed) % 17 - 8);
    });
  };
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{70, 1, 900}, {2, 133, 133}, {90, 7, 300}, {19, 23, 70}, {23, 33, 9}}) {
    const dense of_a = whole(count * m, k, 3), of_b = whole(k, n, 5), of_c = whole(count * m, n, 7),
                of_rows = whole(1, count * m, 2);
    for (const bool pointers : {false, true})
      for (const bool finishes : {false, true})
        for (const auto& [how, across] : with_kernels(divisions_for(std::min(m, n)))) {
          if (how.square > 1 && finishes) continue;
          SCOPED_TRACE(testing::Message()
                       << m << " x " << n << " x " << k << ", " << told(how) << (finishes ? ", finished" : "")
                       << (pointers ? ", by pointers" : ""));
          matrix a(where, of_a, placed(major::row, of_a)), b(where, of_b, placed(major::row, of_b)),
              c(where, of_c, placed(major::row, of_c)), bias(where, of_rows, placed(major::row, of_rows));
          const auto first = [&](matrix& all, std::int64_t rows) {
            auto view = all.view();
            view.rows = rows;
            return view;
          };
          const std::int64_t a_stride = m * a.view().row_stride, c_stride = m * c.view().row_stride;
          std::vector<const float*> at_a, at_b;
          std::vector<float*> at_c;
          for (std::int64_t i = 0; i < count; ++i) {
            at_a.push_back(a.view().data + i * a_stride), at_b.push_back(b.view().data);
            at_c.push_back(c.view().data + i * c_stride);
          }
          const device_array<const float*> to_a(where, at_a), to_b(where, at_b);
          const device_array<float*> to_c(where, at_c);
          gemms::batch of{.count = count, .a_stride = a_stride, .b_stride = 0, .c_stride = c_stride};
          if (pointers) of = {.count = count, .a = to_a.data(), .b = to_b.data(), .c = to_c.data()};
          gemms::epilogue after;
          if (finishes)
            after = {
                .function = activation::relu, .scale = 2, .row_bias = bias.view().data, .row_bias_stride = m};
          const auto plan = gemms::plan_dots(
              where, {.a = first(a, m), .b = b.view(), .c = first(c, m), .alpha = -1, .beta = 2}, of, after,
              how, across);
          ASSERT_TRUE(plan.has_value());
          gemms::run(where, *plan, nullptr);
          where.runs_on().synchronize(nullptr);
          EXPECT_TRUE(same(c.read(), made(count * m, n, [&](auto i, auto j) {
                             float sum = 0;
                             for (std::int64_t l = 0; l < k; ++l) sum += of_a(i, l) * of_b(l, j);
                             const float v = 2 * of_c(i, j) - sum + (finishes ? of_rows(0, i) : 0);
                             return finishes ? 2 * std::max(v, 0.f) : v;
                           })));
        }
  }
}
TEST(gemm_dots_policy, takes_few_lines_and_small_products) {
  const context where = context::on("cpu");
  const auto why_not = [&](std::int64_t m, std::int64_t k) -> std::string {
    std::vector<float> memory(static_cast<std::size_t>((m + 9) * k + 9 * m));
    float* const b = memory.data() + m * k;
    const gemm_problem p{
        .a = {memory.data(), m, k, k, 1}, .b = {b, k, 9, 9, 1}, .c = {b + 9 * k, m, 9, 9, 1}};
    try {
      explain(where, p, {.policy = "fp64-dots"});
      return "";
    } catch (const not_supported& e) {
      return e.what();
    }
  };
  EXPECT_EQ(why_not(9, 50), "");
  EXPECT_EQ(why_not(8, 9000), "");
  EXPECT_THAT(why_not(9, 8193), testing::HasSubstr("it is for up to 8 rows or columns of C or up to 4 "
                                                   "million multiply-adds, and C is 9 x 9 with K = 8193"));
  EXPECT_THAT(why_not(900, 500), testing::HasSubstr("and C is 900 x 9 with K = 500"));
}

// The kernel for operands across k has a large block. Where none fits, the other one gives the same bits.
// A matrix that the L2 cache does not hold: by lanes it takes 1.1 to 3 times as long
// (bench/results/experiments, 20261127-long-vectors).
TEST(gemm_dots_plan, large_matrices_times_a_vector_go_to_the_kernels_for_it) {
  const context where(make_cpu_executor({.limits = an_h200()}));
  for (const auto& [lines, k] : {std::pair<std::int64_t, std::int64_t>{14336, 4096},
                                 {16384, 1024},
                                 {32000, 2048},
                                 {128256, 4096},
                                 {8192, 16384},
                                 {16384, 16384},
                                 {4096, 14336}})
    for (const bool row : {true, false}) {
      float* const data = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
      const std::int64_t m = row ? 1 : lines, n = row ? lines : 1;
      const gemm_problem p{.a = row_major<const float>(data, m, k),
                           .b = row_major<const float>(data, k, n),
                           .c = row_major(data, m, n)};
      EXPECT_TRUE(gemms::divide_dots(where, p, {}, false).division.for_vector())
          << m << " x " << n << " x " << k;
    }
}
TEST(gemm_dots_plan, of_two_kernels_takes_one_that_fits) {
  device_limits small = published_device("9.0");
  small.shared_per_block = small.shared_opt_in = 8 << 10;
  std::vector<float> memory(300 * 400);
  const gemms::problem p{.a = {memory.data(), 12, 400, 1, 12},
                         .b = {memory.data(), 400, 300, 300, 1},
                         .c = {memory.data(), 12, 300, 300, 1}};
  for (const auto& [limits, across] : {std::pair(published_device("9.0"), true), std::pair(small, false)}) {
    const auto plan = gemms::plan_dots(context(make_cpu_executor({.limits = limits})), p, {}, {},
                                       gemms::divided_by_lanes(32, 1));
    ASSERT_TRUE(plan.has_value());
    EXPECT_EQ(plan->instance->across, across);
    EXPECT_EQ(plan->tiles, ceil_div(300, plan->instance->code.threads / 32));
  }
}

AP_ON_BOTH_DEVICES(gemm_dots);

}  // namespace
}  // namespace antiphase::gemm_test
