// SPDX-License-Identifier: Apache-2.0
// Random products against FP64 and against OpenBLAS, within the bound for K roundings.
#include <cblas.h>

#include <algorithm>
#include <span>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

using gemm_accuracy = on_device;

struct exact_product {
  // bound: for a sum of K products in any order, scaled and added to beta * C
  std::vector<double> value, bound;
};
exact_product in_fp64(const product& p) {
  exact_product e;
  for (std::int64_t i = 0; i < p.c.rows; ++i)
    for (std::int64_t j = 0; j < p.c.columns; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < p.a.columns; ++k) {
        const double term = static_cast<double>(p.a(i, k)) * p.b(k, j);
        sum += term;
        magnitude += std::abs(term);
      }
      const double rest = static_cast<double>(p.beta) * p.c(i, j);
      e.value.push_back(p.alpha * sum + rest);
      const gemm_bound promised = bound_of(gemm_sums::multiply_adds, p.a.columns);
      e.bound.push_back(p.alpha == 1 && p.beta == 0
                            ? promised.allowed(magnitude)
                            : promised.allowed(magnitude, p.alpha, std::abs(p.alpha * sum), std::abs(rest)));
    }
  return e;
}
dense by_openblas(const product& p) {
  dense c = p.c;
  const auto narrow = [](std::int64_t x) { return static_cast<blasint>(x); };
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, narrow(c.rows), narrow(c.columns),
              narrow(p.a.columns), p.alpha, p.a.value.data(), narrow(p.a.columns), p.b.value.data(),
              narrow(c.columns), p.beta, c.value.data(), narrow(c.columns));
  return c;
}
// The largest distance in units of `bounds` times the bound: 2 if `other` is rounded, too.
double distance(const dense& c, const std::vector<double>& other, const exact_product& e, double bounds) {
  double largest = 0;
  for (std::size_t i = 0; i < c.value.size(); ++i)
    largest = std::max(largest, std::abs(c.value[i] - other[i]) / (bounds * e.bound[i]));
  return largest;
}

// Numbers of 24 significant bits, so that every product is rounded or fused.
dense long_reals(std::int64_t rows, std::int64_t columns, unsigned seed) {
  const dense high = random_reals(rows, columns, seed), low = random_reals(rows, columns, seed + 1000);
  return made(rows, columns, [&](auto i, auto j) { return high(i, j) + low(i, j) / 4096; });
}
product random_product(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta) {
  return product_of(long_reals(m, k, 21), long_reals(k, n, 22), alpha, beta);
}
void expect_accurate(const context& where, const product& p,
                     std::span<const gemms::step> steps = gemms::steps) {
  const exact_product e = in_fp64(p);
  const dense blas = by_openblas(p);
  const std::vector<double> blas_value(blas.value.begin(), blas.value.end());
  EXPECT_LE(distance(blas, e.value, e, 1), 1) << "OpenBLAS itself";
  for (const gemms::step& s : steps) {
    SCOPED_TRACE(testing::Message() << s.name << ", K = " << p.a.columns << ", alpha " << p.alpha << ", beta "
                                    << p.beta);
    const dense c = computed(where, s.name, p);
    EXPECT_LE(distance(c, e.value, e, 1), 1);
    EXPECT_LE(distance(c, blas_value, e, 2), 1);
  }
}
TEST_P(gemm_accuracy, within_the_bound) {
  const context where = any();
  expect_accurate(where, random_product(67, 71, 1, 1, 0));
  expect_accurate(where, random_product(67, 71, 129, -1.5, 1));
  expect_accurate(where, random_product(131, 70, 251, 1, -1.5));
  if (!sanitized) expect_accurate(where, random_product(5, 9, 4099, 1, 0));
}
// Monotonically growing sums: rounding errors must not drift beyond the bound.
product of_positive(product p) {
  for (dense* d : {&p.a, &p.b})
    for (float& x : d->value) x = std::abs(x);
  return p;
}
TEST_P(gemm_accuracy, of_positive_numbers) {
  expect_accurate(any(), of_positive(random_product(33, 34, 2047, 1, 0)));
}
// On the CPU only by the first step, whose tiles are not padded; all steps add up in the same order.
TEST_P(gemm_accuracy, of_a_million_positive_numbers) {
  const std::span<const gemms::step> all = gemms::steps;
  expect_accurate(any(), of_positive(random_product(2, 3, 1'000'000, 1, 0)), is_cuda() ? all : all.first(1));
}
// Denormal results and partial sums: their rounding errors are absolute, and need the bound's absolute term.
TEST_P(gemm_accuracy, of_denormal_results) {
  product p = random_product(131, 70, 83, 1, 0);
  for (float& x : p.a.value) x *= 0x1p-70f;
  for (float& x : p.b.value) x *= 0x1p-79f;
  expect_accurate(any(), p);
  const exact_product e = in_fp64(p);
  const double absolute = bound_of(gemm_sums::multiply_adds, 83).absolute, once = gemm_bound::underflow;
  const dense c = computed(any(), "strict", p);
  int beyond = 0;
  for (std::size_t i = 0; i < c.value.size(); ++i)
    beyond += std::abs(c.value[i] - e.value[i]) > e.bound[i] - absolute + once;
  EXPECT_GT(beyond, 1000) << "these results need no more than one rounding of a denormal number";
}
// Tensor Cores cut off toward zero: lower parts have the mean loss, else tf32 would lack 2 to 4 units.
TEST_P(gemm_accuracy, sums_on_tensor_cores_are_not_smaller_on_average) {
  for (const std::int64_t k : {20, 40, 64, 230})
    for (const char* const policy : {"tf32", "fp16", "fp16-mma"}) {
      const product p = product_of(reals(150, k, 31), reals(k, 140, 32));
      const exact_product e = in_fp64(p);
      const dense c = computed(any(), policy, p);
      double lost = 0, size = 0;
      for (std::size_t i = 0; i < c.value.size(); ++i) {
        lost += (e.value[i] - c.value[i]) * (e.value[i] < 0 ? -1 : 1);
        size += std::abs(e.value[i]);
      }
      EXPECT_LE(std::abs(lost), 1.5 * gemm_bound::u * size) << policy << ", K = " << k;
    }
}
// The bound is tight enough that one missing product breaks it.
TEST(gemm_accuracy_bound, finds_one_missing_product) {
  product p = random_product(40, 41, 251, 1, 0);
  for (float& x : p.a.value)
    if (std::abs(x) < 0.25f) x = 0.5;
  const exact_product right = in_fp64(p);
  for (std::int64_t i = 0; i < 40; ++i) p.a(i, 250) = 0;
  const dense short_of_one = expected(p);
  int found = 0, large = 0;
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t j = 0; j < 41; ++j) {
      const auto at = static_cast<std::size_t>(i * 41 + j);
      if (std::abs(p.b(250, j)) < 0.1f) continue;
      ++large;
      found += std::abs(short_of_one.value[at] - right.value[at]) > right.bound[at];
    }
  EXPECT_EQ(found, large);
  EXPECT_GT(large, 1000);
}

AP_ON_BOTH_DEVICES(gemm_accuracy);

}  // namespace
}  // namespace antiphase::gemm_test
