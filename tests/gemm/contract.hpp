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

inline judged judge(const dense& c, const product& p) {
  constexpr double u = 0x1p-24;
  judged j;
  const double allowed_units = 80 + static_cast<double>(p.a.columns) / 59;
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
        const double allowed =
            allowed_units * u * std::abs(p.alpha) * magnitude +
            (p.alpha == 1 && p.beta == 0 ? 0 : u * (std::abs(p.alpha) * magnitude + 2 * (std::abs(p.alpha * sum) + std::abs(rest)))) +
            0x1p-150 * (1 + std::abs(p.alpha)) * (p.alpha == 1 && p.beta == 0 ? 0.5 : 1.5);
        ratio = std::abs(is - exact) / allowed;
      }
      if (!(ratio <= j.worst)) j = {ratio, r, s};
    }
  return j;
}

#define AP_EXPECT_KEPT(computed, product)                                                        \
  do {                                                                                           \
    const ::antiphase::gemm_test::judged j = ::antiphase::gemm_test::judge(computed, product);   \
    EXPECT_LE(j.worst, 1) << "the contract is broken at C(" << j.row << ", " << j.column << ")"; \
  } while (false)

}  // namespace antiphase::gemm_test
