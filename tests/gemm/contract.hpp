// SPDX-License-Identifier: Apache-2.0
// The error bound that precision fp32 guarantees for every output, and how much of it a result uses up
// (docs/use/accuracy.md).
#pragma once
#include <algorithm>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {

// The output of a result with the largest error, against a sum in FP64.
struct contract_result {
  // |error| / bound. Above 1: the guarantee is broken. Infinite: NaN or infinity where there should be none,
  // or the reverse.
  double worst = 0;
  std::int64_t row = -1, column = -1;
};

// `guaranteed`: by default, that of products of split operands on 9.0 and the CPU executor.
inline contract_result compare_with_exact(const dense& c, const product& p, const gemm_bound& promised) {
  contract_result j;
  for (std::int64_t r = 0; r < c.rows; ++r)
    for (std::int64_t s = 0; s < c.columns; ++s) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < p.a.columns; ++k) {
        const double term = static_cast<double>(p.a(r, k)) * p.b(k, s);
        sum += term;
        magnitude += std::abs(term);
      }
      const double rest = p.beta == 0 ? 0 : static_cast<double>(p.beta) * p.c(r, s),
                   exact = p.alpha * sum + rest;
      const float is = c(r, s);
      double ratio = 0;
      if (!std::isfinite(sum)) {  // must be what IEEE FP32 gives in any order
        const float must = static_cast<float>(exact);
        ratio = (std::isnan(must) && std::isnan(is)) || must == is ? 0 : INFINITY;
      } else if (!std::isfinite(is)) {
        ratio = std::abs(exact) > 0x1.fffffcp127 && is == std::copysign(INFINITY, static_cast<float>(exact))
                    ? 0
                    : INFINITY;
      } else {
        const double allowed =
            p.alpha == 1 && p.beta == 0
                ? promised.allowed(magnitude)
                : promised.allowed(magnitude, p.alpha, std::abs(p.alpha * sum), std::abs(rest));
        ratio = std::abs(is - exact) / allowed;
      }
      if (!(ratio <= j.worst)) j = {ratio, r, s};
    }
  return j;
}
inline contract_result compare_with_exact(const dense& c, const product& p) {
  return compare_with_exact(c, p, bound_of(gemm_sums::hopper, p.a.columns));
}

// Outputs whose scaled magnitude is `times` the least that the certificate would need without its factor of
// 1.12 (docs/use/accuracy.md), with losses near the most that there can be. Numbers are those of lines as
// they are scaled, times a power of two for each line.
//   k = 0        2^14, which makes 1 the scale of a row of A, meets 0
//   k = 1        the product that the output consists of, with all that split operands lose of it; then 62
//                others that are cut off
//   k = 64       the row's one tiny element, 2^-24 + (1022 + 1/2) 2^-35, of which FP16 parts lose the 1/2.
//                It meets the column's largest, which has a low part, too; the product of the two low parts
//                is left out. Then 15 others, which are cut off because this product is aligned as if its
//                high parts were 2^-14 and 2^14
// All that is lost is positive. The bound of the tiny element is the column's norm, (16392 + 78) / 2^15. At
// 0.52 times that the guarantee is broken, by a tenth, unless the output is computed again.
inline product product_at_the_certificate(double times) {
  constexpr std::int64_t k = 80, m = 21, n = 13;
  constexpr double cut_off_a = 0x1p-12 - 0x1p-23, cut_off_b = 0x1p-13, large_b = 16392,
                   uncertain_below = (large_b + 78) / 32768;
  constexpr double large_a = 0.5 * (1 + 2046.5 * 0x1p-22);
  const auto row = [](std::int64_t i) {
    return std::ldexp(i % 3 == 1 ? -1. : 1., static_cast<int>(i % 5) * 3 - 6);
  };
  const auto column = [](std::int64_t j) {
    return std::ldexp(j % 4 == 2 ? -1. : 1., static_cast<int>(j % 7) * 2 - 5);
  };
  return product_of(made(m, k,
                         [&](auto i, auto at) {
                           return row(i) * (at == 0    ? 0x1p14
                                            : at == 1  ? large_a
                                            : at == 64 ? 0x1p-24 + 1022.5 * 0x1p-35
                                                       : cut_off_a);
                         }),
                    made(k, n, [&](auto at, auto j) {
                      return column(j) * (at == 0    ? 0.
                                          : at == 1  ? times * uncertain_below / large_a
                                          : at == 64 ? large_b
                                                     : cut_off_b);
                    }));
}

#define AP_EXPECT_KEPT(computed, product)                                                        \
  do {                                                                                           \
    const ::antiphase::gemm_test::contract_result j =                                            \
        ::antiphase::gemm_test::compare_with_exact(computed, product);                           \
    EXPECT_LE(j.worst, 1) << "the contract is broken at C(" << j.row << ", " << j.column << ")"; \
  } while (false)

// Around the certificate's threshold: outputs that it rejects are recomputed, and those that it accepts keep
// the guarantee.
inline void expect_kept_at_the_certificate(const context& where, std::string_view policy) {
  for (const double times : {0.52, 0.75, 1.08, 1.15, 2.0})
    for (const bool tiny_in_a : {true, false}) {
      product p = product_at_the_certificate(times);
      if (!tiny_in_a) p = product_of(transposed(p.b), transposed(p.a));
      device_array<std::uint64_t> again(where, std::vector<std::uint64_t>(1));
      SCOPED_TRACE(testing::Message()
                   << times << " times what is certain, the tiny elements in " << (tiny_in_a ? "A" : "B"));
      AP_EXPECT_KEPT(computed(where, policy, p, again.data()), p);
      EXPECT_EQ(again.to_host()[0], times < 1.12 ? static_cast<std::uint64_t>(p.c.rows * p.c.columns) : 0);
    }
}

}  // namespace antiphase::gemm_test
