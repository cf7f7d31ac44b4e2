// SPDX-License-Identifier: Apache-2.0
// Sums of columns and rows as products with ones, and gradients of a bias after an activation's gradient.
#include <antiphase/gemm/sums.hpp>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

class line_sums : public on_device {
 protected:
  // Compares with sums in FP64, within the library's error bound.
  void expect_sums(const dense& values, const placing& how, std::string_view policy, float alpha = 1,
                   float beta = 0) {
    const context where = any();
    matrix c(where, values, how);
    // A one, and padding that must not be used: compute-sanitizer counts a cp.async of 16 bytes with a source
    // size of 4 as a read of 16.
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const device_array<float> one(where, std::vector<float>{1, nan, nan, nan});
    for (const bool of_columns : {true, false}) {
      const std::int64_t count = of_columns ? values.columns : values.rows,
                         terms = of_columns ? values.rows : values.columns;
      const dense before = random_reals(1, count, 8);
      device_array<float> to(where, before.value);
      gemm_problem p = of_columns ? gemms::column_sums(c.view(), one.data(), to.data())
                                  : gemms::row_sums(c.view(), one.data(), to.data());
      p.alpha = alpha, p.beta = beta;
      gemm_choice ran;
      gemm(where, p, {.policy = policy, .ran = &ran});
      const std::vector<float> sums = to.to_host();
      for (std::int64_t i = 0; i < count; ++i) {
        double sum = 0, size = 0;
        for (std::int64_t t = 0; t < terms; ++t) {
          const double term = of_columns ? values(t, i) : values(i, t);
          sum += term, size += std::abs(term);
        }
        const double added = beta * before(0, i), right = alpha * sum + added;
        ASSERT_LE(std::abs(sums[static_cast<std::size_t>(i)] - right),
                  ran.bound.allowed(size, alpha, std::abs(alpha * sum), std::abs(added)))
            << (of_columns ? "column " : "row ") << i << " of " << values.rows << " x " << values.columns
            << " by " << ran.kernel;
      }
      device_array<float> again(where, before.value);
      p.c.data = again.data();
      gemm(where, p, {.policy = policy});
      EXPECT_EQ(again.to_host(), sums) << "not the same in every run";
    }
  }
};
AP_ON_BOTH_DEVICES(line_sums);

TEST_P(line_sums, of_any_shape_and_layout) {
  unsigned seed = 1;
  for (const auto& [rows, columns] : std::initializer_list<std::array<std::int64_t, 2>>{
           {1, 1}, {1, 70}, {70, 1}, {33, 130}, {257, 31}, {900, 5}, {4, 700}}) {
    const dense values = reals(rows, columns, ++seed, 9);
    for (const placing& how : {placed(major::row, values), placed(major::column, values, 3, 1),
                               placing{7 * columns, 5}, placing{-columns, 1}})
      expect_sums(values, how, "auto");
  }
  expect_sums(reals(40, 60, 5), placed(major::row, reals(40, 60, 5)), "auto", -1.5f, 1);
}
TEST_P(line_sums, by_any_policy) {
  const dense values = reals(129, 67, 3, 5);
  for (const char* policy : {"fp64", "fp64-dots", "tf32", "fp16", "fp16-mma", "tiled", "strict"})
    expect_sums(values, placed(major::row, values), policy);
}

// The gradient of an activation's input, and of its bias: a sum over the examples.
TEST_P(line_sums, are_gradients_of_biases) {
  const context where = any();
  const std::int64_t examples = 61, outputs = 43, inputs = 30;
  const dense gradient = random_integers(examples, inputs, 1), weights = random_integers(inputs, outputs, 2),
              input = random_reals(examples, outputs, 3);
  matrix on_g(where, gradient, placed(major::row, gradient)),
      on_w(where, weights, placed(major::row, weights)), on_x(where, input, placed(major::row, input)),
      on_c(where, input, placed(major::row, input));
  const device_array<float> one(where, std::vector<float>{1});
  device_array<float> bias(where, static_cast<std::size_t>(outputs));
  gemm(where, {.a = on_g.view(), .b = on_w.view(), .c = on_c.view()},
       {.epilogue = {.function = activation::relu_gradient, .input = on_x.view()}});
  gemm(where, gemms::column_sums(on_c.view(), one.data(), bias.data()));
  const std::vector<float> found = bias.to_host();
  for (std::int64_t j = 0; j < outputs; ++j) {
    float sum = 0;  // exact, of integers
    for (std::int64_t i = 0; i < examples; ++i)
      for (std::int64_t k = 0; k < inputs; ++k)
        if (input(i, j) > 0) sum += gradient(i, k) * weights(k, j);
    ASSERT_EQ(found[static_cast<std::size_t>(j)], sum) << j;
  }
}

}  // namespace
}  // namespace antiphase::gemm_test
