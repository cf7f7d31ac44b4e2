// SPDX-License-Identifier: Apache-2.0
// Batches and epilogues by every policy: in the product's launch and in launches of their own.
#include <cmath>
#include <memory>

#include "tests/gemm/activations.hpp"
#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// The matrices of a batch, in one allocation that is otherwise full of NaN.
class matrices {
 public:
  // `how`: layout of a member; `apart`: stride between members in elements, 0 if all share one matrix.
  matrices(const context& where, const std::vector<dense>& values, placing how, std::int64_t apart)
      : values_(values),
        how_(how),
        apart_(apart),
        before_(static_cast<std::size_t>(64 + extent()), nan),
        memory_(where, fill()) {}

  template <class T = float> matrix_view<T> view() {
    return {memory_.data() + origin(), values_[0].rows, values_[0].columns, how_.row_stride,
            how_.column_stride};
  }
  std::int64_t apart() const { return apart_; }
  // The members' values; fails the test if anything else was written.
  std::vector<dense> read() const {
    std::vector<float> now = memory_.to_host(), expected = before_;
    std::vector<dense> all = values_;
    for (std::size_t n = 0; n < all.size(); ++n)
      for (std::int64_t i = 0; i < all[n].rows; ++i)
        for (std::int64_t j = 0; j < all[n].columns; ++j) {
          all[n](i, j) = now[place(n, i, j)];
          now[place(n, i, j)] = expected[place(n, i, j)] = 0;
        }
    for (std::size_t i = 0; i < now.size(); ++i)
      if (!std::isnan(expected[i]) || !std::isnan(now[i])) {
        EXPECT_EQ(now[i], expected[i]) << "element " << i << " belongs to no matrix";
      }
    return all;
  }

 private:
  std::int64_t origin() const { return 64 + how_.offset; }
  std::size_t place(std::size_t n, std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(origin() + static_cast<std::int64_t>(n) * apart_ + i * how_.row_stride +
                                    j * how_.column_stride);
  }
  std::int64_t extent() const {
    const dense& d = values_[0];
    return how_.offset + static_cast<std::int64_t>(values_.size() - 1) * apart_ +
           std::max<std::int64_t>(d.rows - 1, 0) * how_.row_stride +
           std::max<std::int64_t>(d.columns - 1, 0) * how_.column_stride + 1;
  }
  const std::vector<float>& fill() {
    for (std::size_t n = 0; n < values_.size(); ++n)
      for (std::int64_t i = 0; i < values_[n].rows; ++i)
        for (std::int64_t j = 0; j < values_[n].columns; ++j) before_[place(n, i, j)] = values_[n](i, j);
    return before_;
  }

  std::vector<dense> values_;
  placing how_;
  std::int64_t apart_;
  std::vector<float> before_;
  device_array<float> memory_;
};

std::vector<product> members_of(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k,
                                bool same_b, float alpha, float beta) {
  std::vector<product> all;
  for (unsigned i = 0; i < count; ++i) {
    all.push_back(product_of(reals(m, k, 100 + i), reals(k, n, 200 + (same_b ? 0 : i)), alpha, beta));
    all.back().c = reals(m, n, 300 + i);
  }
  return all;
}
std::vector<dense> each(const std::vector<product>& all, dense product::*which) {
  std::vector<dense> values;
  for (const product& p : all) values.push_back(p.*which);
  return values;
}
std::int64_t dense_distance(const dense& d, const placing& how) {
  return (d.rows - 1) * how.row_stride + (d.columns - 1) * how.column_stride + 1;
}

// Policies that can run products with this K, on any device; and the bound of each.
std::vector<std::string> policies_for(std::int64_t k) {
  std::vector<std::string> all{"auto", "tf32", "fp16", "fp16-mma", "naive", "warp-tile", "fp64"};
  if (k <= 4) all.emplace_back("fp64-short");
  return all;
}
gemm_bound bound_by(const context& where, const gemm_problem& p, const gemm_options& options) {
  return explain(where, p, options).bound;
}

class gemm_batches : public on_device {};

TEST_P(gemm_batches, members_are_products_of_their_own) {
  const context where = any();
  for (const std::int64_t k : {2, 4, 45}) {
    const std::int64_t m = 37, n = 22, count = 4;
    for (const bool same_b : {false, true})
      for (const int odd : {0, 1}) {
        const std::vector<product> all = members_of(count, m, n, k, same_b, -1.5f, 0.5f);
        const placing at_a = placed(major::row, all[0].a, 4 - k % 4 + 4 * odd, odd),
                      at_b = placed(major::row, all[0].b, 4 - n % 4, odd),
                      at_c = placed(odd ? major::column : major::row, all[0].c, odd ? 3 : 2, odd);
        const auto apart = [&](const dense& d, const placing& how) {
          return (dense_distance(d, how) + 7) / 4 * 4 + odd;
        };
        for (const std::string& policy : policies_for(k)) {
          SCOPED_TRACE(testing::Message()
                       << policy << ", K = " << k << (same_b ? ", one B" : "") << (odd ? ", unaligned" : ""));
          matrices a(where, each(all, &product::a), at_a, apart(all[0].a, at_a)),
              b(where, each(all, &product::b), at_b, same_b ? 0 : apart(all[0].b, at_b)),
              c(where, each(all, &product::c), at_c, apart(all[0].c, at_c));
          const gemm_problem what{.a = a.view(), .b = b.view(), .c = c.view(), .alpha = -1.5f, .beta = 0.5f};
          const gemm_options how{.policy = policy, .batch = {count, a.apart(), b.apart(), c.apart()}};
          gemm(where, what, how);
          where.runs_on().synchronize(nullptr);
          const std::vector<dense> results = c.read();
          for (std::size_t i = 0; i < results.size(); ++i) {
            const contract_result j = compare_with_exact(results[i], all[i], bound_by(where, what, how));
            EXPECT_LE(j.worst, 1) << "member " << i << " at C(" << j.row << ", " << j.column << ")";
          }
        }
      }
  }
}

TEST_P(gemm_batches, by_pointers) {
  const context where = any();
  for (const auto& [policy, k] :
       {std::pair<const char*, std::int64_t>{"fp64-short", 3}, {"fp64", 70}, {"fp64-dots", 70}})
    for (const int odd : {0, 1}) {
      SCOPED_TRACE(testing::Message() << policy << (odd ? ", unaligned" : ""));
      const std::int64_t m = 67, n = 36, count = 3;
      const std::vector<product> all = members_of(count, m, n, k, false, 1, 0.5f);
      std::vector<std::unique_ptr<matrix>> a, b, c;
      std::vector<const float*> at_a, at_b;
      std::vector<float*> at_c;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const int offset = odd ? static_cast<int>(i) : 0;  // each member has an alignment of its own
        a.push_back(
            std::make_unique<matrix>(where, all[i].a, placed(major::row, all[i].a, 4 - k % 4, offset)));
        b.push_back(
            std::make_unique<matrix>(where, all[i].b, placed(major::column, all[i].b, 4 - k % 4, offset)));
        c.push_back(std::make_unique<matrix>(where, all[i].c, placed(major::row, all[i].c, 0, 2 * offset)));
        at_a.push_back(a[i]->view().data), at_b.push_back(b[i]->view().data),
            at_c.push_back(c[i]->view().data);
      }
      const device_array<const float*> of_a(where, at_a), of_b(where, at_b);
      const device_array<float*> of_c(where, at_c);
      const gemm_problem one{
          .a = a[0]->view(), .b = b[0]->view(), .c = c[0]->view(), .alpha = 1, .beta = 0.5f};
      gemm_problem what = one;
      what.a.data = what.b.data = what.c.data = nullptr;  // unused
      const gemm_options how{.policy = policy,
                             .batch = {.count = count, .a = of_a.data(), .b = of_b.data(), .c = of_c.data()}};
      gemm(where, what, how);
      where.runs_on().synchronize(nullptr);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const contract_result j = compare_with_exact(c[i]->read(), all[i], bound_of(gemm_sums::doubles, k));
        EXPECT_LE(j.worst, 1) << "member " << i << " at C(" << j.row << ", " << j.column << "), K = " << k;
      }
      try {
        gemm(where, what, {.policy = "fp16", .batch = how.batch});
        ADD_FAILURE() << "fp16 took arrays of pointers";
      } catch (const not_supported& e) {
        EXPECT_THAT(e.what(), HasSubstr("policy fp16: it takes no arrays of pointers"));
      }
    }
}

// No members, one, nothing to multiply: C is scaled in all of them.
TEST_P(gemm_batches, with_nothing_to_multiply) {
  const context where = any();
  for (const auto& [count, k, alpha, beta] : {std::tuple{0, 5, 1.f, 0.5f},
                                              {3, 0, 1.f, 0.5f},
                                              {3, 5, 0.f, 0.5f},
                                              {3, 5, 0.f, 0.f},
                                              {1, 0, nan, 2.f}}) {
    const std::vector<product> all = members_of(std::max(count, 1), 9, 150, k, false, alpha, beta);
    matrices c(where, each(all, &product::c), placed(major::row, all[0].c, 3), 9 * 160);
    std::vector<float> unread(1, nan);  // must not be read
    gemm(where,
         {.a = {unread.data(), 9, k, k, 1},
          .b = {unread.data(), k, 150, 150, 1},
          .c = c.view(),
          .alpha = alpha,
          .beta = beta},
         {.batch = {count, 9 * k, k * 150, c.apart()}});
    where.runs_on().synchronize(nullptr);
    const std::vector<dense> results = c.read();
    for (std::size_t i = 0; i < results.size(); ++i)
      EXPECT_TRUE(same(
          results[i], count == 0
                          ? all[i].c
                          : made(9, 150, [&, beta = beta](auto r, auto s) { return beta * all[i].c(r, s); })))
          << "count " << count << ", K = " << k << ", alpha = " << alpha;
  }
}

// The same by pointers: there is no other way to reach C.
TEST_P(gemm_batches, by_pointers_with_nothing_to_multiply) {
  const context where = any();
  const dense c0 = reals(9, 150, 1), c1 = reals(9, 150, 2);
  matrix one(where, c0, placed(major::row, c0, 3)), other(where, c1, placed(major::row, c1, 3));
  const device_array<float*> of_c(where, std::vector<float*>{one.view().data, other.view().data});
  const gemm_problem what{
      .a = {nullptr, 9, 0, 0, 1}, .b = {nullptr, 0, 150, 150, 1}, .c = one.view(), .beta = 0.5f};
  const gemm_options how{.batch = {.count = 2, .c = of_c.data()}};
  gemm(where, what, how);
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(same(one.read(), made(9, 150, [&](auto i, auto j) { return c0(i, j) / 2; })));
  EXPECT_TRUE(same(other.read(), made(9, 150, [&](auto i, auto j) { return c1(i, j) / 2; })));
  EXPECT_EQ(explain(where, what, how).kernel, "finish");
  EXPECT_GT(explain(where, what, how).predicted, 0);
}
TEST_P(gemm_batches, what_makes_no_sense_is_refused) {
  const context where = any();
  device_array<float> memory(where, std::vector<float>(4000, 1.f));
  float* const x = memory.data();
  const gemm_problem p{.a = {x, 8, 4, 4, 1}, .b = {x + 1000, 4, 8, 8, 1}, .c = {x + 2000, 8, 8, 8, 1}};
  const auto said = [&](const gemm_batch& of, const gemm_problem& what) -> std::string {
    try {
      gemm(where, what, {.batch = of});
    } catch (const error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(said({-1, 32, 32, 64}, p), HasSubstr("the batch has -1 members"));
  EXPECT_THAT(
      said({3, 32, 32, 0}, p),
      HasSubstr("C is 8 x 8 with strides 8 and 1, 3 times, 0 elements apart: its elements would overlap"));
  EXPECT_THAT(said({3, 32, 32, 63}, p), HasSubstr("its elements would overlap"));
  EXPECT_EQ(said({3, 32, 32, -64}, p), "");
  EXPECT_THAT(said({40, 32, 32, -64}, p), HasSubstr("overlaps"));  // it runs into B, then A
  EXPECT_THAT(said({40, 100, 0, 64}, p), HasSubstr("overlaps A"));
  gemm_problem interleaved = p;
  interleaved.c.row_stride = 24;  // member after member in each row
  EXPECT_EQ(said({3, 32, 32, 8}, interleaved), "");
  EXPECT_THAT(said({4, 32, 32, 8}, interleaved), HasSubstr("its elements would overlap"));
  EXPECT_THAT(said({2, 0, 0, 0, reinterpret_cast<const float* const*>(x), nullptr, nullptr}, p),
              HasSubstr("the batch has no array of pointers to B: expected 2 pointers"));
  EXPECT_THAT(said({2, 32, 0, 0, reinterpret_cast<const float* const*>(x), nullptr, nullptr}, p),
              HasSubstr("arrays of pointers and strides"));
  const std::vector<float> after = memory.to_host();
  EXPECT_EQ(after[0], 1) << "an operand was changed";
}

// Epilogues
// -----------------------------------------------------------------------------------------------------------
struct epilogue_case {
  activation function;
  bool row_bias, column_bias, residual, before;
  float alpha, beta, scale;
};
constexpr epilogue_case epilogue_cases[] = {
    {activation::none, true, false, false, false, 1, 0, 1},
    {activation::none, false, true, true, false, 1, 1, 1},
    {activation::relu, false, true, false, true, -2, 0, 1},
    {activation::gelu, true, true, true, true, 3, -0.5f, 2},
    {activation::gelu_tanh, false, true, false, false, 3, 2, 1},
    {activation::relu_gradient, false, false, false, false, 1, 0, 0.5f},
    {activation::gelu_gradient, false, false, true, true, 1, 2, 1},
    {activation::gelu_tanh_gradient, true, false, false, false, 1, 1, -1},
    {activation::none, false, false, false, false, 1, 0.5f, 3},
};

class gemm_epilogues : public on_device {
 protected:
  // Runs the product with its epilogue and checks every output.
  void expect_finished(const std::string& policy, const epilogue_case& one, std::int64_t m, std::int64_t n,
                       std::int64_t k, std::int64_t count, major by_c, int odd) {
    const context where = any();
    const std::vector<product> all = members_of(count, m, n, k, false, one.alpha, one.beta);
    std::vector<dense> residual, input, nothing, row_bias, column_bias;
    for (unsigned i = 0; i < count; ++i) {
      residual.push_back(reals(m, n, 400 + i)), nothing.push_back(filled(m, n, nan));
      input.push_back(
          made(m, n, [&](auto r, auto s) { return static_cast<float>((r * 7 + s * 3 + i) % 41 - 20) / 4; }));
      row_bias.push_back(reals(1, m, 500 + i)), column_bias.push_back(reals(1, n, 600 + i));
    }
    const auto lay = [&](const std::vector<dense>& d, major by, std::int64_t padding, int offset) {
      const placing how = placed(by, d[0], padding, offset);
      return matrices(where, d, how,
                      dense_distance(d[0], how) + (4 - dense_distance(d[0], how) % 4) + offset);
    };
    matrices a = lay(each(all, &product::a), major::row, (4 - k % 4) % 4, odd),
             b = lay(each(all, &product::b), major::row, (4 - n % 4) % 4, odd),
             c = lay(each(all, &product::c), by_c, (4 - (by_c == major::row ? n : m) % 4) % 4, odd),
             r = lay(residual, major::column, 1, 1), x = lay(input, major::row, 2, 0),
             before = lay(nothing, major::row, 1, 3), of_rows = lay(row_bias, major::row, 0, 1),
             of_columns = lay(column_bias, major::row, 0, 0);
    gemm_epilogue after{.function = one.function, .scale = one.scale};
    if (one.row_bias) after.row_bias = of_rows.view().data, after.row_bias_stride = of_rows.apart();
    if (one.column_bias)
      after.column_bias = of_columns.view().data, after.column_bias_stride = of_columns.apart();
    if (one.residual) after.residual = r.view<const float>(), after.residual_stride = r.apart();
    if (gemms::is_gradient(one.function)) after.input = x.view<const float>(), after.input_stride = x.apart();
    if (one.before) after.before = before.view(), after.before_stride = before.apart();
    const gemm_problem what{
        .a = a.view(), .b = b.view(), .c = c.view(), .alpha = one.alpha, .beta = one.beta};
    const gemm_options how{
        .policy = policy, .batch = {count, a.apart(), b.apart(), c.apart()}, .epilogue = after};
    gemm(where, what, how);
    where.runs_on().synchronize(nullptr);
    const gemm_bound bound = k == 0 ? gemm_bound{} : bound_by(where, what, how);
    const std::vector<dense> results = c.read(), stored = before.read();
    for (std::size_t i = 0; i < results.size(); ++i) {
      const product& p = all[i];
      for (std::int64_t row = 0; row < m; ++row)
        for (std::int64_t column = 0; column < n; ++column) {
          double sum = 0, magnitude = 0;
          for (std::int64_t at = 0; at < k; ++at) {
            const double term = static_cast<double>(p.a(row, at)) * p.b(at, column);
            sum += term, magnitude += std::abs(term);
          }
          const double added =
              one.beta == 0 ? 0
                            : static_cast<double>(one.beta) * (one.residual ? residual[i] : p.c)(row, column);
          const double of_row = one.row_bias ? row_bias[i](0, row) : 0.,
                       of_column = one.column_bias ? column_bias[i](0, column) : 0.;
          const double v = one.alpha * sum + added + of_row + of_column,
                       y = by_definition(one.function, v, input[i](row, column));
          const double off = bound.allowed(magnitude, one.alpha, std::abs(one.alpha * sum), std::abs(added)) +
                             0x1p-22 * (std::abs(one.alpha * sum) + std::abs(of_row) + std::abs(of_column) +
                                        std::abs(added));
          // Slopes are at most 1.13. Values are accurate within a few of their own units in the last place;
          // in slopes terms may cancel.
          const double of_function =
              0x1p-20 * (std::abs(y) + (gemms::is_gradient(one.function) ? std::abs(v) : 0));
          ASSERT_NEAR(results[i](row, column), one.scale * y, std::abs(one.scale) * (1.2 * off + of_function))
              << "member " << i << ", C(" << row << ", " << column << ")";
          if (one.before) {
            ASSERT_NEAR(stored[i](row, column), v, off)
                << "before, member " << i << ", (" << row << ", " << column << ")";
          } else {
            ASSERT_TRUE(std::isnan(stored[i](row, column)));
          }
        }
    }
  }
};

TEST_P(gemm_epilogues, every_policy_finishes) {
  for (const std::int64_t k : {0, 4, 50})
    for (const std::string& policy : policies_for(k))
      for (std::size_t i = 0; i < std::size(epilogue_cases); ++i) {
        if (sanitized && policy.starts_with("fp16") && i % 3 != 0) continue;
        SCOPED_TRACE(testing::Message() << policy << ", K = " << k << ", case " << i);
        expect_finished(policy, epilogue_cases[i], 70, 37, k, i % 2 == 0 ? 1 : 2,
                        i % 3 == 0 ? major::column : major::row, 0);
      }
}
// fp16 applies brief epilogues in the product's kernel: to whole tiles in pairs, to edges and unaligned rows
// one by one, to recomputed outputs and those of sparse lines. All have the bits of the plain product's sum,
// with the epilogue applied in the order of its definition.
TEST_P(gemm_epilogues, in_the_product_with_the_bits_of_its_sum) {
  const context where = any();
  struct lie {
    major by_c, by_residual;
    std::int64_t padding;
    int odd_c, odd_residual;
  };
  const lie lies[] = {{major::row, major::row, 2, 0, 0},
                      {major::row, major::row, 2, 0, 1},
                      {major::row, major::row, 1, 1, 0},
                      {major::row, major::column, 2, 0, 0},
                      {major::column, major::column, 3, 0, 0}};
  for (const std::string policy : {"fp16", "fp16-mma"}) {
    if (policy == "fp16-mma" ? false : is_cuda() && where.limits().major != 9) continue;
    for (const bool difficult : {false, true})
      for (std::size_t i = 0; i < std::size(lies); ++i)
        for (const epilogue_case& one :
             {epilogue_case{activation::relu, true, true, false, false, -1.5f, 0.75f, 2},
              {activation::none, false, true, true, false, 1, -0.5f, 1},
              {activation::none, true, true, false, false, 1, 0, 1}}) {
          if ((!is_cuda() && policy != "fp16" && i % 2 != 0) || (difficult && i % 2 != 0)) continue;
          SCOPED_TRACE(testing::Message() << policy << ", lie " << i << (difficult ? ", difficult" : "")
                                          << ", alpha " << one.alpha);
          constexpr int m = 133, n = 150, k = 100;
          product p = product_of(reals(m, k, 1), reals(k, n, 2), one.alpha, one.beta);
          if (difficult) {
            for (int at = 0; at < k; ++at) p.a(5, at) = at == 40 ? 3.f : 0.f;  // sparse
            // tiny elements: certificates fail where sums cancel
            p.a(77, 3) = 0x1p-60f, p.a(131, 4) = 0x1p-70f;
            for (int at = 0; at < k; ++at)
              p.b(at, 9) = p.b(at, 8) * 0x1p-20f, p.a(90, at) = at < 50 ? 1.f : -1.f;
            for (int at = 0; at < k; ++at) p.b(at, 11) = at % 50 == 7 ? 0x1p-50f : 1.f;
          }
          const dense r = reals(m, n, 3), of_rows = reals(1, m, 4), of_columns = reals(1, n, 5);
          const lie& at = lies[i];
          matrix a(where, p.a, placed_in_packets(major::row, p.a)), b(where, p.b, p.place_b),
              c(where, p.c, placed(at.by_c, p.c, at.padding, at.odd_c)),
              sums(where, p.c, placed(at.by_c, p.c, at.padding, at.odd_c)),
              residual(where, r, placed(at.by_residual, r, at.padding, at.odd_residual)),
              rows(where, of_rows, placed(major::row, of_rows)),
              columns(where, of_columns, placed(major::row, of_columns));
          gemm_epilogue after{.function = one.function, .scale = one.scale};
          if (one.row_bias) after.row_bias = rows.view().data;
          if (one.column_bias) after.column_bias = columns.view().data;
          if (one.residual) after.residual = residual.view();
          const gemm_problem what{
              .a = a.view(), .b = b.view(), .c = c.view(), .alpha = one.alpha, .beta = one.beta};
          const gemm_options how{.policy = policy, .epilogue = after};
          EXPECT_THAT(explain(where, what, how).why, Not(Contains(HasSubstr("launch of its own"))));
          gemm(where, what, how);
          gemm(where, {.a = a.view(), .b = b.view(), .c = sums.view()}, {.policy = policy});
          where.runs_on().synchronize(nullptr);
          const dense sum = sums.read();
          const dense expected = made(m, n, [&](auto row, auto column) {
            float v = one.alpha * sum(row, column);
            if (one.beta != 0) v = std::fma(one.beta, one.residual ? r(row, column) : p.c(row, column), v);
            v += (one.row_bias ? of_rows(0, row) : 0) + (one.column_bias ? of_columns(0, column) : 0);
            return one.scale * (one.function == activation::relu && !(v > 0) ? 0.f : v);
          });
          EXPECT_TRUE(same(c.read(), expected));
        }
  }
}
// fp64: whole tiles, edges, vector and scalar stores. fp64-short: narrow and wide C.
TEST_P(gemm_epilogues, of_streams_and_short_products) {
  for (std::size_t i = 0; i < std::size(epilogue_cases); ++i)
    for (const auto& [m, n, k] :
         {std::array{128, 64, 33}, {64, 8, 300}, {9, 130, 40}, {128, 256, 3}, {300, 3, 4}, {5, 77, 4}})
      for (const major by_c : {major::row, major::column})
        for (const int odd : {0, 1}) {
          SCOPED_TRACE(testing::Message()
                       << m << " x " << n << " x " << k << ", case " << i << (odd ? ", unaligned" : ""));
          expect_finished(k > 4 ? "fp64" : "fp64-short", epilogue_cases[i], m, n, k, 2, by_c, odd);
        }
}
// fp64-dots: with one or two lines of the short operand, a thread has more lines of the long one than with
// eight.
TEST_P(gemm_epilogues, of_inner_products) {
  for (std::size_t i = 0; i < std::size(epilogue_cases); ++i)
    for (const auto& [m, n, k] : {std::array{1, 1, 1},
                                  {1, 300, 70},
                                  {270, 1, 900},
                                  {2, 530, 33},
                                  {130, 2, 2000},
                                  {3, 140, 50},
                                  {90, 7, 6}}) {
      SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", case " << i);
      expect_finished("fp64-dots", epilogue_cases[i], m, n, k, 2, i % 2 == 0 ? major::row : major::column,
                      i % 3 == 0);
    }
}
// C itself as the residual and as the gradient's input: each element reads what it replaces. Policies that
// store sums in C before the epilogue refuse the latter.
TEST_P(gemm_epilogues, in_place) {
  const context where = any();
  for (const int k : {4, 9})
    for (const std::string& policy : policies_for(k))
      for (const bool gradient : {false, true}) {
        SCOPED_TRACE(testing::Message() << policy << ", K = " << k << (gradient ? ", gradient" : ""));
        const product p = product_of(reals(70, k, 1), reals(k, 45, 2), 1, 1);
        matrix a(where, p.a, placed_in_packets(major::row, p.a)), b(where, p.b, p.place_b),
            c(where, p.c, p.place_c), plain(where, p.c, p.place_c);
        const gemm_problem what{.a = a.view(), .b = b.view(), .c = c.view(), .beta = 1};
        gemm_options how{.policy = policy, .epilogue = {.residual = c.view()}};
        if (gradient) how.epilogue.function = activation::relu_gradient, how.epilogue.input = c.view();
        const bool at_once = policy == "auto" || policy == "fp64-short" || policy == "fp64";
        std::string refusal;
        try {
          gemm(where, what, how);
        } catch (const not_supported& e) {
          refusal = e.what();
        }
        gemm_problem other = what;
        other.c = plain.view();
        if (refusal.empty()) gemm(where, other, {.policy = policy});
        where.runs_on().synchronize(nullptr);
        if (gradient && !at_once) {
          EXPECT_THAT(refusal, HasSubstr("whose gradient reads C"));
          EXPECT_TRUE(same(c.read(), p.c));
          continue;
        }
        EXPECT_EQ(refusal, "");
        const dense sums = plain.read();
        EXPECT_TRUE(same(c.read(), made(70, 45, [&](auto i, auto j) {
                           return !gradient || p.c(i, j) > 0 ? sums(i, j) : 0;
                         })));
      }
}
// Large products are left to policies that store sums in C first, unless a gradient is in place there: then
// auto takes another one, which is not the faster.
TEST_P(gemm_epilogues, in_place_of_large_products) {
  float* const memory = reinterpret_cast<float*>(std::uintptr_t{1} << 32);  // never accessed
  const matrix_view<float> c{memory + (std::int64_t{1} << 26), 1024, 1024, 1024, 1};
  const gemm_problem p{
      .a = {memory, 1024, 1024, 1024, 1}, .b = {memory + (1 << 20), 1024, 1024, 1024, 1}, .c = c};
  const auto seconds = [&](const matrix_view<const float>& input) {
    return explain(any(), p, {.epilogue = {.function = activation::gelu_gradient, .input = input}}).predicted;
  };
  matrix_view<const float> apart = c;
  apart.data += 1 << 22;
  EXPECT_GE(seconds(c), seconds(apart));
}
TEST_P(gemm_epilogues, infinities_and_nan) {
  const context where = any();
  const std::array special{infinity, -infinity, nan, 1e20f, -1e20f, -12.f, 0.f};
  const dense v = made(7, 1, [&](auto i, auto) { return special[static_cast<std::size_t>(i)]; }),
              one = filled(1, 1, 1);
  const auto finished = [&](activation f) {
    matrix a(where, v, placed(major::row, v)), b(where, one, placed(major::row, one)),
        c(where, v, placed(major::row, v));
    gemm(where, {.a = a.view(), .b = b.view(), .c = c.view()}, {.epilogue = {.function = f}});
    where.runs_on().synchronize(nullptr);
    return c.read();
  };
  for (const activation f : {activation::relu, activation::gelu, activation::gelu_tanh}) {
    const dense y = finished(f);
    EXPECT_EQ(y(0, 0), infinity);
    EXPECT_EQ(y(1, 0), 0);
    EXPECT_TRUE(std::isnan(y(2, 0)));
    EXPECT_EQ(y(3, 0), 1e20f);
    EXPECT_EQ(y(4, 0), 0);
    EXPECT_NEAR(y(5, 0), 0, 1e-30);
    EXPECT_EQ(y(6, 0), 0);
  }
}
TEST_P(gemm_epilogues, what_makes_no_sense_is_refused) {
  const context where = any();
  device_array<float> memory(where, std::vector<float>(1000, 1.f));
  float* const x = memory.data();
  const gemm_problem p{
      .a = {x, 8, 4, 4, 1}, .b = {x + 100, 4, 8, 8, 1}, .c = {x + 200, 8, 8, 8, 1}, .beta = 1};
  const auto said = [&](const gemm_epilogue& after) -> std::string {
    try {
      gemm(where, p, {.epilogue = after});
    } catch (const error& e) {
      return e.what();
    }
    return "";
  };
  const matrix_view<const float> c = p.c;
  const matrix_view<const float> shifted{x + 201, 8, 8, 8, 1}, small{x + 300, 8, 7, 8, 1};
  EXPECT_THAT(said({.function = activation::gelu_gradient}),
              HasSubstr("the epilogue's input has no address"));
  EXPECT_THAT(said({.function = static_cast<activation>(9)}), HasSubstr("the activation is 9"));
  EXPECT_THAT(said({.residual = small}), HasSubstr("the residual is 8 x 7, C is 8 x 8: they must agree"));
  EXPECT_THAT(said({.residual = shifted}), HasSubstr("overlaps the residual"));
  EXPECT_EQ(said({.residual = c}), "");
  EXPECT_THAT(said({.row_bias = x + 205}), HasSubstr("overlaps the bias of rows"));
  EXPECT_THAT(said({.column_bias = x + 257}), HasSubstr("overlaps the bias of columns"));
  EXPECT_THAT(said({.before = p.c}), HasSubstr("the values before the activation"));
  EXPECT_THAT(said({.before = {x + 4, 8, 8, 8, 1}}), HasSubstr("overlaps A"));
  EXPECT_THAT(said({.before = {x + 400, 8, 8, 4, 1}}), HasSubstr("its elements would overlap"));
}

AP_ON_BOTH_DEVICES(gemm_batches);
AP_ON_BOTH_DEVICES(gemm_epilogues);

}  // namespace
}  // namespace antiphase::gemm_test
