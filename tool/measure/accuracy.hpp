// SPDX-License-Identifier: Apache-2.0
// How far a product is from the exact one, for operands of any kind.
#pragma once
#include <antiphase/core/view.hpp>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace antiphase::tool {

struct accuracy {
  double norm = 0;  // relative, in the Frobenius norm of the sample
  // the largest |C - AB| / (u |A||B|), u = 2^-24, but for errors that count as absolute
  double component = 0;
  double bias = 0;     // the mean of (|C| - |AB|) / (u |A||B|): below 0, results are too small
  bool finite = true;  // all of C, whether in the sample or not

  bool within(double allowed) const { return finite && component <= allowed; }
};

// Indices of a range: one of every 128, at least 64 of them, at most `most`, each somewhere in its part, the
// last index among them.
std::vector<std::int64_t> spread_over(std::int64_t extent, std::uint64_t seed,
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max());

// Compares products C = A B with FP64. The sample: a row of each 128, but at least 64 rows, and columns
// likewise, so that every tile of 128 x 128 has an output in it. Sums in FP64 are off by up to K 2^-53 |A||B|
// themselves, which is not held against C. Nothing may overflow FP32.
class sampled_product {
 public:
  sampled_product(const matrix_view<const float>& a, const matrix_view<const float>& b);
  // `c`: row-major, without gaps. `absolute`: what every output may be off by besides (gemm_bound).
  accuracy operator()(std::span<const float> c, double absolute) const;
  std::int64_t outputs() const { return static_cast<std::int64_t>(exact_.size()); }

 private:
  std::int64_t m_, n_, k_;
  std::vector<std::int64_t> rows_, columns_;
  std::vector<double> exact_, size_;  // AB and |A||B| of rows_ x columns_
};

}  // namespace antiphase::tool
