// SPDX-License-Identifier: Apache-2.0
// What precision fp32 promises of every output, and by how much a result keeps it (docs/accuracy.md).
#pragma once
#include <algorithm>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {

// C before, after, and what it should be: an exact enough sum in FP64, and |A||B|.
struct judged {
  double worst = 0;  // |error| / what is allowed; more than 1: broken; infinite: NaN or infinity where there should be none, or the reverse
  std::int64_t row = -1, column = -1;
};

// `promised`: of products of split operands on compute capability 9.0 and the CPU executor, unless said.
inline judged judge(const dense& c, const product& p, const gemm_bound& promised) {
  judged j;
  for (std::int64_t r = 0; r < c.rows; ++r)
    for (std::int64_t s = 0; s < c.columns; ++s) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < p.a.columns; ++k) {
        const double term = static_cast<double>(p.a(r, k)) * p.b(k, s);
        sum += term;
        magnitude += std::abs(term);
      }
      const double rest = p.beta == 0 ? 0 : static_cast<double>(p.beta) * p.c(r, s), exact = p.alpha * sum + rest;
      const float is = c(r, s);
      double ratio = 0;
      if (!std::isfinite(sum)) {  // what IEEE FP32 gives, whatever the order
        const float must = static_cast<float>(exact);
        ratio = (std::isnan(must) && std::isnan(is)) || must == is ? 0 : INFINITY;
      } else if (!std::isfinite(is)) {
        ratio = std::abs(exact) > 0x1.fffffcp127 && is == std::copysign(INFINITY, static_cast<float>(exact)) ? 0 : INFINITY;
      } else {
        const double allowed = p.alpha == 1 && p.beta == 0 ? promised.allowed(magnitude)
                                                           : promised.allowed(magnitude, p.alpha, std::abs(p.alpha * sum), std::abs(rest));
        ratio = std::abs(is - exact) / allowed;
      }
      if (!(ratio <= j.worst)) j = {ratio, r, s};
    }
  return j;
}
inline judged judge(const dense& c, const product& p) { return judge(c, p, bound_of(gemm_sums::hopper, p.a.columns)); }

#define AP_EXPECT_KEPT(computed, product)                                                        \
  do {                                                                                           \
    const ::antiphase::gemm_test::judged j = ::antiphase::gemm_test::judge(computed, product);   \
    EXPECT_LE(j.worst, 1) << "the contract is broken at C(" << j.row << ", " << j.column << ")"; \
  } while (false)

}  // namespace antiphase::gemm_test
