// SPDX-License-Identifier: Apache-2.0
// The ladders' checks accept right results and reject wrong ones, even with a single wrong element.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tool/measure/attention/attention_check.hpp"
#include "tool/measure/verify.hpp"

namespace antiphase::tool {
namespace {

struct product {
  std::int64_t m, n, k;
  std::vector<float> a = random_values(static_cast<std::size_t>(m * k), 1),
                     b = random_values(static_cast<std::size_t>(k * n), 2);
  product_check check{a, b, m, n, k};

  // Computed in a kernel's order; `left_out` is an index along K that one row misses.
  std::vector<float> computed(std::int64_t row = -1, std::int64_t left_out = -1) const {
    std::vector<float> c(static_cast<std::size_t>(m * n));
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t t = 0; t < k; ++t) {
        if (i == row && t == left_out) continue;
        const float factor = a[static_cast<std::size_t>(i * k + t)];
        for (std::int64_t j = 0; j < n; ++j)
          c[static_cast<std::size_t>(i * n + j)] += factor * b[static_cast<std::size_t>(t * n + j)];
      }
    return c;
  }
};

TEST(ProductCheck, AcceptsWhatFp32Gives) {
  for (const auto& [m, n, k] :
       {std::tuple{1, 1, 1}, {70, 90, 300}, {3, 200, 5000}, {40, 1, 7}, {5, 5, 0}, {0, 3, 2}, {2, 0, 9}}) {
    const product p{.m = m, .n = n, .k = k};
    const verdict v = p.check(p.computed());
    EXPECT_TRUE(v.verified) << m << " x " << n << " x " << k << ", error " << v.error;
    EXPECT_LT(v.error, 3e-6);
  }
}

TEST(ProductCheck, RejectsOneWrongElement) {
  const product p{.m = 70, .n = 90, .k = 300};
  const std::vector<float> right = p.computed();
  for (const std::size_t place : {std::size_t{0}, std::size_t{89}, std::size_t{3000}, right.size() - 1})
    for (const float wrong :
         {0.f, right[place] + 0.05f, -right[place], std::numeric_limits<float>::quiet_NaN(), HUGE_VALF}) {
      std::vector<float> c = right;
      c[place] = wrong;
      EXPECT_FALSE(p.check(c).verified) << place << ": " << wrong << " for " << right[place];
    }
}

TEST(ProductCheck, RejectsAMissingTerm) {
  const product p{.m = 50, .n = 60, .k = 257};
  EXPECT_FALSE(p.check(p.computed(0, 256)).verified);
  EXPECT_FALSE(p.check(p.computed(33, 0)).verified);
}

// Sums truncated towards zero, 16 products at a time: too inaccurate for FP32 and as expected for Tensor
// Cores. For these a missing term is still an error.
TEST(ProductCheck, KnowsWhatCutsSumsOff) {
  const product p{.m = 20, .n = 30, .k = 8192};
  const product_check of_tensor_cores(p.a, p.b, p.m, p.n, p.k, arithmetic::tensor_cores);
  const auto cut_off = [&](std::int64_t left_out) {
    std::vector<float> c(static_cast<std::size_t>(p.m * p.n));
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        float& sum = c[static_cast<std::size_t>(i * p.n + j)];
        for (std::int64_t first = 0; first < p.k; first += 16) {
          double exact = sum;
          for (std::int64_t t = first; t < first + 16; ++t)
            if (i != 7 || t != left_out)
              exact += static_cast<double>(p.a[static_cast<std::size_t>(i * p.k + t)]) *
                       p.b[static_cast<std::size_t>(t * p.n + j)];
          sum = static_cast<float>(exact);
          if (std::abs(static_cast<double>(sum)) > std::abs(exact)) sum = std::nextafter(sum, 0.f);
        }
      }
    return c;
  };
  EXPECT_TRUE(of_tensor_cores(cut_off(-1)).verified);
  EXPECT_GT(p.check(cut_off(-1)).error, 2 * p.check(p.computed()).error);
  EXPECT_FALSE(of_tensor_cores(cut_off(5000)).verified);
}

// Large enough that most rows are checked by their checksum only.
TEST(ProductCheck, RejectsAWrongRowOutsideTheSample) {
  const product p{.m = 1500, .n = 800, .k = 800};
  const std::vector<float> right = p.computed();
  ASSERT_TRUE(p.check(right).verified);
  for (const std::size_t row :
       {std::size_t{1}, std::size_t{2}, std::size_t{700}, std::size_t{701}, std::size_t{1498}}) {
    std::vector<float> c = right;
    std::swap(c[row * 800], c[row * 800 + 1]);
    EXPECT_FALSE(p.check(c).verified) << row;
    c = right;
    for (std::size_t j = 0; j < 32; ++j) c[row * 800 + 64 + j] = 0;
    EXPECT_FALSE(p.check(c).verified) << row;
  }
}

template <class T> std::vector<T> sums(const std::vector<T>& in, std::size_t tile) {
  std::vector<T> out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    out[i] = i % tile == 0 ? in[i] : static_cast<T>(out[i - 1] + in[i]);
  return out;
}

TEST(SumCheck, FloatsMayBeRoundedButNotWrong) {
  const std::vector<float> in = random_values(20'000, 5);
  for (const std::size_t tile : {std::size_t{256}, std::size_t{4096}, in.size()}) {
    const std::vector<float> right = sums(in, tile);
    const std::int64_t length = static_cast<std::int64_t>(tile);
    if (tile <= 4096) {
      EXPECT_TRUE(check_sums<float>(in, right, length).verified);
    }
    for (const std::size_t place : {std::size_t{0}, std::size_t{300}, in.size() - 1})
      for (const float wrong : {right[place] + 0.25f, std::numeric_limits<float>::quiet_NaN(), HUGE_VALF}) {
        std::vector<float> out = right;
        out[place] = wrong;
        EXPECT_FALSE(check_sums<float>(in, out, length).verified) << tile << " " << place << " " << wrong;
      }
  }
}

TEST(SumCheck, IntegersAreExactAndWrapAround) {
  std::vector<std::uint32_t> in(5000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint32_t>(random_bits(9, i));
  std::vector<std::uint32_t> out = sums(in, 1000);
  EXPECT_TRUE(check_sums<std::uint32_t>(in, out, 1000).verified);
  EXPECT_FALSE(check_sums<std::uint32_t>(in, out, 5000).verified);
  out[4321] += 1;
  EXPECT_FALSE(check_sums<std::uint32_t>(in, out, 1000).verified);
}

TEST(AttentionCheck, RejectsWhatIsNotWithinTheBound) {
  const context where = context::on("cpu");
  for (const bool causal : {false, true}) {
    attention_operands data(where, 2, 3, 41, 41, 40, causal);
    attention_problem p = data.problem();
    const auto run = [&](std::string_view policy) { attention(where, p, {.policy = policy}); };
    data.forget_result();
    EXPECT_FALSE(data.check(false).verified);
    run("tiled");
    const verdict right = data.check(false);
    EXPECT_TRUE(right.verified) << right.error;
    EXPECT_GT(right.error, 0);
    EXPECT_LT(right.error, 1e-6);
    run("roles");
    EXPECT_TRUE(data.check(true).verified);
    float* const out = p.out.data;  // of the CPU executor, so on the host
    for (const std::int64_t row : {0, 40, 41, 200, 245}) {
      float& element = out[row * 40 + row % 40];
      const float before = element;
      element += 1e-4f;
      EXPECT_FALSE(data.check(false).verified) << row;
      element = before;
    }
    EXPECT_TRUE(data.check(true).verified);
    p.scale = 0.1f;
    run("tiled");
    EXPECT_FALSE(data.check(false).verified);
    p = data.problem();
    p.mask = causal ? antiphase::causal::no : antiphase::causal::top_left;
    run("tiled");
    EXPECT_FALSE(data.check(false).verified);
  }
}

}  // namespace
}  // namespace antiphase::tool
