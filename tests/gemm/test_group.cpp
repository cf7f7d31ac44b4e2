// SPDX-License-Identifier: Apache-2.0
// Groups of products of different shapes: the bits of single calls, members of all kinds, and invalid groups.
#include <algorithm>
#include <antiphase/gemm/policies.hpp>
#include <antiphase/gemm_group.hpp>
#include <memory>
#include <span>

#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::HasSubstr;

// Members on a device, with guards around each matrix.
struct on_the_device {
  on_the_device(const context& where, const std::vector<product>& products) : all(products) {
    for (const product& p : all) {
      for (const auto& [values, how] : {std::pair{&p.a, p.place_a}, {&p.b, p.place_b}, {&p.c, p.place_c}})
        memory.push_back(std::make_unique<matrix>(where, *values, how));
      const std::size_t i = memory.size();
      problems.push_back({.a = memory[i - 3]->view(),
                          .b = memory[i - 2]->view(),
                          .c = memory[i - 1]->view(),
                          .alpha = p.alpha,
                          .beta = p.beta});
    }
  }
  dense result(std::size_t i) const { return memory[3 * i + 2]->read(); }

  const std::vector<product>& all;
  std::vector<std::unique_ptr<matrix>> memory;
  std::vector<gemm_problem> problems;
};

// Shapes from empty to several tiles, changing layouts, alpha and beta, sparse lines and infinities.
std::vector<product> various(int count, unsigned seed) {
  constexpr int sizes[] = {1, 33, 0, 70, 16, 129, 5, 64, 31, 2},
                depths[] = {70, 1, 32, 4, 131, 0, 33, 17, 2, 3, 64};
  std::vector<product> all;
  for (int i = 0; i < count; ++i) {
    const unsigned at = seed + static_cast<unsigned>(i);
    const int m = sizes[at % 10], n = sizes[(at / 2 + 3) % 10], k = depths[at % 11];
    product p = product_of(reals(m, k, at, 4), reals(k, n, at + 100, 4), at % 3 == 0 ? -1.5f : 1,
                           at % 2 == 0 ? 0 : 0.5f);
    if (at % 4 == 1 && m > 0 && k > 5)
      for (int l = 0; l < k; ++l) p.a(m / 2, l) = l % (k / 3) == 1 ? p.a(m / 2, l) : 0;
    if (at % 7 == 2 && n > 0 && k > 0) p.b(k / 2, n - 1) = infinity;
    p.place_a = placed(at % 2 ? major::row : major::column, p.a, at % 3, static_cast<int>(at % 4));
    p.place_b = placed(at % 4 < 2 ? major::row : major::column, p.b, at % 5, static_cast<int>(at / 3 % 4));
    p.place_c = placed(at % 5 ? major::row : major::column, p.c, at % 4, static_cast<int>(at / 5 % 4));
    all.push_back(std::move(p));
  }
  return all;
}

class gemm_groups : public on_device {
 protected:
  static dense alone(const context& where, const product& p, const gemm_options& how) {
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    gemm(where, {.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta}, how);
    where.runs_on().synchronize(nullptr);
    return c.read();
  }
  bool runs() const { return features_of(any().limits()).fast_fp64; }
};

// In the common launch the bits are those of batch_invariant calls, elsewhere those of plain ones. Whether
// auto takes it follows from predictions; by name all members run in it that it takes.
TEST_P(gemm_groups, the_bits_are_those_of_single_calls) {
  for (const context& where : several())
    for (const auto& [policy, count] :
         {std::pair{"fp64", 1}, {"fp64", 2}, {"fp64", 11}, {"fp64", sanitized ? 12 : 140}, {"auto", 11}}) {
      std::vector<product> all = various(count, static_cast<unsigned>(count));
      all.push_back(product_of_general_strides(33));
      on_the_device d(where, all);
      gemm_group_choice ran;
      gemm_group(where, d.problems, {.policy = policy, .ran = &ran});
      where.runs_on().synchronize(nullptr);
      ASSERT_EQ(ran.kernels.size(), all.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool together = ran.kernels[i] == "group";
        EXPECT_FALSE(together && i == all.size() - 1) << "its strides do not fit";
        const dense right =
            alone(where, all[i],
                  {.policy = together ? "fp64" : policy,
                   .reproducible = together ? reproducibility::batch_invariant : reproducibility::by_shape});
        EXPECT_TRUE(same_bits(d.result(i), right))
            << "product " << i << " of " << count << ", by " << ran.kernels[i];
      }
      if (runs() && count > 2 && policy != std::string_view("auto")) {
        EXPECT_GT(ran.together, all.size() / 4);
        EXPECT_EQ(ran.launches, ran.together > 63 ? 1 + (ran.together + 62) / 63 : 1);
        EXPECT_EQ(std::ranges::count(ran.kernels, "group"), static_cast<std::ptrdiff_t>(ran.together));
      }
    }
}
// Every kernel of groups, with tiles of many members in one block.
TEST_P(gemm_groups, by_name) {
  const context where = any();
  if (!runs()) GTEST_SKIP() << where.limits().name << " has no fast FP64";
  std::vector<product> all;
  for (const auto& [m, n, k] :
       {std::array{300, 40, 70}, {7, 260, 33}, {150, 150, 5}, {64, 64, 300}, {1, 1, 1000}})
    all.push_back(product_of(reals(m, k, 7), reals(k, n, 8), 1, 0.5f));
  on_the_device d(where, all);
  gemm_group(where, d.problems, {.policy = "fp64"});
  where.runs_on().synchronize(nullptr);
  EXPECT_EQ(explain(where, d.problems, {.policy = "fp64"}).together, all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(
        same_bits(d.result(i),
                  alone(where, all[i], {.policy = "fp64", .reproducible = reproducibility::batch_invariant})))
        << i;
}
// A member's bits do not depend on the other members.
TEST_P(gemm_groups, invariant) {
  const context where = any();
  if (!runs()) GTEST_SKIP() << where.limits().name << " has no fast FP64";
  const std::vector<product> few = various(6, 40);
  std::vector<product> many = few;
  for (product& p : various(20, 11)) many.push_back(std::move(p));
  on_the_device one(where, few), other(where, many);
  const gemm_group_options how{.reproducible = reproducibility::batch_invariant};
  gemm_group(where, one.problems, how);
  gemm_group(where, other.problems, how);
  where.runs_on().synchronize(nullptr);
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_TRUE(same_bits(one.result(i), other.result(i))) << i;
}
TEST_P(gemm_groups, other_policies_run_one_by_one) {
  const context where = any();
  const std::vector<product> all = various(5, 30);
  for (const auto& how : {gemm_group_options{.policy = "tiled"}, {.accuracy = precision::strict}}) {
    on_the_device d(where, all);
    gemm_group(where, d.problems, how);
    where.runs_on().synchronize(nullptr);
    EXPECT_EQ(explain(where, d.problems, how).together, 0u);
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(
          same_bits(d.result(i), alone(where, all[i], {.accuracy = how.accuracy, .policy = how.policy})))
          << i;
  }
}
TEST_P(gemm_groups, nothing_at_all) {
  EXPECT_EQ(gemm_group(any(), {}, {}).switches, 0u);
  EXPECT_EQ(gemm_group_workspace(any(), {}, {}), 0u);
  const gemm_problem empty{
      .a = {nullptr, 0, 5, 5, 1}, .b = {nullptr, 5, 7, 7, 1}, .c = {nullptr, 0, 7, 7, 1}};
  const std::vector<gemm_problem> three(3, empty);
  EXPECT_EQ(gemm_group(any(), three, {}).switches, 0u);
}
// In the caller's workspace of exactly the size asked for; the table of many members is written there.
TEST_P(gemm_groups, with_a_workspace) {
  const context where = any();
  const std::vector<product> all = various(sanitized ? 12 : 160, 5);
  on_the_device d(where, all);
  const std::size_t bytes = gemm_group_workspace(where, d.problems);
  EXPECT_EQ(explain(where, d.problems).workspace, bytes);
  std::vector<std::byte> before(bytes / 256 * 256 + 512, std::byte{0x77});
  device_array<std::byte> workspace(where, before);
  gemm_group(where, d.problems, {.workspace = {workspace.data(), bytes}});
  where.runs_on().synchronize(nullptr);
  const std::vector<std::byte> after = workspace.to_host();
  EXPECT_TRUE(std::equal(after.begin() + static_cast<std::ptrdiff_t>(bytes), after.end(), before.begin()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].a.columns == 0) continue;
    const judged j = judge(d.result(i), all[i]);
    EXPECT_LE(j.worst, 1) << "product " << i << " at C(" << j.row << ", " << j.column << ")";
  }
  if (bytes > 0) {
    EXPECT_THROW(gemm_group(where, d.problems, {.workspace = {workspace.data(), bytes - 1}}), bad_request);
  }
}

TEST_P(gemm_groups, what_makes_no_sense_is_refused) {
  const context where = any();
  device_array<float> memory(where, std::vector<float>(6016, 1.f));
  float* const x = memory.data();
  const auto at = [&](std::int64_t a, std::int64_t b, std::int64_t c) {
    return gemm_problem{
        .a = {x + a, 8, 5, 5, 1}, .b = {x + b, 5, 6, 6, 1}, .c = {x + c, 8, 6, 6, 1}, .beta = 1};
  };
  const auto said = [&](const std::vector<gemm_problem>& all,
                        const gemm_group_options& how = {}) -> std::string {
    try {
      gemm_group(where, all, how);
    } catch (const error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(said({at(0, 100, 200), at(0, 100, 248), at(32, 100, 296)}), "");  // operands may be the same
  EXPECT_THAT(
      said({at(0, 100, 200), at(0, 100, 300), at(0, 100, 247)}),
      testing::AllOf(HasSubstr("C of product 0"), HasSubstr("C of product 2"), HasSubstr("must lie apart")));
  EXPECT_THAT(said({at(0, 100, 200), at(0, 100, 200)}), HasSubstr("has the same address as"));
  EXPECT_THAT(said({at(0, 100, 200), at(0, 230, 300)}),
              testing::AllOf(HasSubstr("C of product 0"), HasSubstr("overlaps B of product 1")));
  EXPECT_THAT(said({at(240, 100, 300), at(0, 100, 200)}),
              testing::AllOf(HasSubstr("C of product 1"), HasSubstr("overlaps A of product 0")));
  EXPECT_THAT(said({at(0, 100, 200), at(0, 190, 300)}),
              testing::AllOf(HasSubstr("C of product 0"), HasSubstr("overlaps B of product 1")));
  gemm_problem wrong = at(0, 100, 200);
  wrong.a.columns = 6;
  EXPECT_THAT(said({at(0, 100, 300), wrong}), HasSubstr("product 1: A has 6 columns, B has 5 rows"));
  wrong = at(0, 100, 200), wrong.c.data = nullptr;
  EXPECT_THAT(said({wrong}), HasSubstr("product 0: C is a null pointer"));
  EXPECT_THAT(said({at(0, 100, 200), at(0, 310, 300)}), HasSubstr("product 1: C at"));
  EXPECT_THAT(said({at(0, 100, 200)}, {.policy = "fast"}), HasSubstr("'fast'"));
  // Two interleaved halves of one buffer, and columns side by side.
  gemm_problem left = at(0, 100, 1000), right = at(0, 100, 1001);
  left.c = {x + 1000, 8, 6, 12, 2}, right.c = {x + 1001, 8, 6, 12, 2};
  EXPECT_EQ(said({left, right}), "");
  right.c = {x + 1006, 8, 6, 12, 1}, left.c = {x + 1000, 8, 6, 12, 1};
  EXPECT_EQ(said({right, left}), "");
  const std::size_t bytes = 4000;
  if (runs()) {
    std::vector<gemm_problem> many;
    for (std::int64_t i = 0; i < 70; ++i) many.push_back(at(0, 100, 2000 + 48 * i));
    float* const inside =
        reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(x + 2000) + 255) / 256 * 256);
    EXPECT_THAT(
        said(many, {.policy = "fp64", .workspace = {reinterpret_cast<std::byte*>(inside), 2 * bytes}}),
        HasSubstr(": the workspace"));
  }
}

AP_ON_BOTH_DEVICES(gemm_groups);

}  // namespace
}  // namespace antiphase::gemm_test
