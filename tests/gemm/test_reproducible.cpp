// SPDX-License-Identifier: Apache-2.0
// Reproducible products: an output has the same bits whatever else is computed with it.
#include <antiphase/gemm/policies.hpp>
#include <bit>
#include <cmath>

#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::HasSubstr;

constexpr auto invariant = reproducibility::batch_invariant;

// The part of a whole product that is computed at once.
struct part {
  std::int64_t first = 0, rows = 1, count = 1;  // members of so many rows
  std::int64_t left = 0, columns = 0;           // columns, 0: all
};
struct layouts {
  major a = major::row, b = major::column, c = major::row;
};

class gemm_reproducible : public on_device {
 protected:
  // The operands on the device, and products of parts of them.
  class operands {
   public:
    operands(const context& where, const product& whole, const layouts& lie = {})
        : where_(where),
          none_(filled(whole.a.rows, whole.b.columns, 0)),
          of_c_(lie.c),
          a_(where, whole.a, placed_in_packets(lie.a, whole.a)),
          b_(where, whole.b, placed_in_packets(lie.b, whole.b)) {}
    dense computed(const part& of, std::string_view policy) {
      matrix c(where_, none_, placed_in_packets(of_c_, none_));
      gemm_problem p{.a = a_.view(), .b = b_.view(), .c = c.view()};
      p.a.data += of.first * p.a.row_stride, p.c.data += of.first * p.c.row_stride;
      p.b.data += of.left * p.b.column_stride, p.c.data += of.left * p.c.column_stride;
      p.a.rows = p.c.rows = of.rows;
      if (of.columns > 0) p.b.columns = p.c.columns = of.columns;
      gemm(where_, p,
           {.policy = policy,
            .batch = {of.count, of.rows * p.a.row_stride, 0, of.rows * p.c.row_stride},
            .reproducible = invariant});
      where_.runs_on().synchronize(nullptr);
      return c.read();
    }

   private:
    context where_;
    dense none_;
    major of_c_;
    matrix a_, b_;
  };
  static void expect_part(const dense& found, const dense& all, const part& of) {
    const std::int64_t end = of.columns > 0 ? of.left + of.columns : all.columns;
    std::int64_t differ = 0;
    for (std::int64_t i = of.first; i < of.first + of.rows * of.count; ++i)
      for (std::int64_t j = of.left; j < end; ++j)
        differ += std::bit_cast<std::uint32_t>(found(i, j)) != std::bit_cast<std::uint32_t>(all(i, j)) &&
                  !(std::isnan(found(i, j)) && std::isnan(all(i, j)));
    EXPECT_EQ(differ, 0) << of.count << " x " << of.rows << " rows from " << of.first << " on, columns from "
                         << of.left << " to " << end;
  }
  bool has(std::string_view policy) const {
    return policy == "auto" ? features_of(any().limits()).fast_fp64
                            : !lacks(any().limits(), gemms::find_policy(policy)->needs);
  }
};

// Rows that are ordinary, and those that are computed in another way: of one or two nonzeros, with elements
// that vanish next to others, of zeros, and with what is not finite.
product with_all_kinds_of_rows(std::int64_t rows, std::int64_t n, std::int64_t k) {
  product whole = product_of(reals(rows, k, 1), reals(k, n, 2));
  for (std::int64_t i = 5; i < rows; i += 11)
    for (std::int64_t l = 0; l < k; ++l) {
      float& x = whole.a(i, l);
      switch (i / 11 % 5) {
        case 0: x = l == i % k ? x : 0; break;
        case 1: x = l < 2 ? 1 - 2.f * static_cast<float>(l) : std::ldexp(x, -120); break;
        case 2: x = l == i % k || l == k / 2 ? x : 0; break;
        case 3: x = 0; break;
        default: x = l == i % k ? (i % 2 == 0 ? nan : infinity) : x;
      }
    }
  for (std::int64_t j = 3; j < n; j += 17) whole.b(0, j) = whole.b(1, j);
  return whole;
}

// Rows alone, in batches of any size, at every place, in members of a batch, and columns without others.
TEST_P(gemm_reproducible, an_output_has_the_same_bits_anywhere) {
  const std::int64_t rows = is_cuda() ? 600 : 135, n = is_cuda() ? 264 : 36;
  struct of_policy {
    const char* name;
    std::vector<std::int64_t> k;
  };
  std::vector<of_policy> policies{
      {"auto", {9, 300}}, {"tf32", {1100}}, {"fp16", {200}}, {"fp16-mma", {72}}, {"fp64", {40}}};
  if (is_cuda())
    for (of_policy& one : policies) one.k = {9, 300, 1100, 2100, 7168};
  for (const auto& [policy, some] : policies)
    for (const std::int64_t k : some) {
      if (!has(policy)) continue;
      SCOPED_TRACE(testing::Message() << policy << ", K = " << k);
      operands whole(any(), with_all_kinds_of_rows(rows, n, k));
      const dense all = whole.computed({.rows = rows}, policy);
      std::vector<part> parts{{.first = 17, .rows = 3},
                              {.first = 5, .rows = 1},
                              {.first = 16, .rows = 1},
                              {.first = 27, .rows = 8},
                              {.first = 64, .rows = 33},
                              {.first = rows - 65, .rows = 65},
                              {.first = 0, .rows = 13, .count = 10},
                              {.rows = rows, .left = 8, .columns = 20},
                              {.first = 40, .rows = 9, .left = 4, .columns = 1}};
      if (is_cuda())
        for (const std::int64_t count : {2, 7, 9, 16, 31, 32, 63, 64, 100, 127, 128, 129, 255, 257, 511, 599})
          for (const std::int64_t first : {std::int64_t{0}, (rows - count) / 2, rows - count})
            parts.push_back({.first = first, .rows = count});
      for (const part& of : parts) expect_part(whole.computed(of, policy), all, of);
    }
}
// However the operands and C lie.
TEST_P(gemm_reproducible, an_output_has_the_same_bits_in_any_layout) {
  constexpr major both[] = {major::row, major::column};
  for (const char* const policy : {"tf32", "fp16"})
    for (const std::int64_t m : {5, 70}) {
      if (!has(policy)) continue;
      const product whole = with_all_kinds_of_rows(m, 36, policy[0] == 't' ? 1030 : 100);
      const dense all = operands(any(), whole).computed({.rows = m}, policy);
      for (const major a : both)
        for (const major b : both)
          for (const major c : both)
            expect_part(operands(any(), whole, {a, b, c}).computed({.rows = m}, policy), all, {.rows = m});
    }
}
TEST_P(gemm_reproducible, what_does_not_keep_it_is_refused) {
  std::vector<float> memory(2000);
  const gemm_problem p{.a = {memory.data(), 8, 50, 50, 1},
                       .b = {memory.data() + 500, 50, 8, 8, 1},
                       .c = {memory.data() + 1500, 8, 8, 8, 1}};
  const auto said = [&](gemm_options how) -> std::string {
    how.reproducible = invariant;
    try {
      explain(any(), p, how);
    } catch (const error& e) {
      return e.what();
    }
    return "";
  };
  for (const char* const policy : {"auto", "fp64", "tf32", "fp16", "fp16-mma"})
    EXPECT_EQ(has(policy) ? said({.policy = policy}) : "", "") << policy;
  EXPECT_THAT(said({.policy = "fp64-dots"}),
              HasSubstr("policy fp64-dots does not keep reproducible batch_invariant: expected"));
  EXPECT_THAT(said({.accuracy = precision::strict}),
              HasSubstr("precision strict adds up small C in slices of K"));
}

AP_ON_BOTH_DEVICES(gemm_reproducible);

}  // namespace
}  // namespace antiphase::gemm_test
