// SPDX-License-Identifier: Apache-2.0
// Error of a product against FP64, for operands of any kind.
#pragma once
#include <antiphase/core/view.hpp>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace antiphase::tool {

struct accuracy {
  double norm = 0;  // relative, in the Frobenius norm of the sample
  // largest |C - AB| / (u |A||B|), u = 2^-24, after subtraction of absolute errors
  double component = 0;
  double bias = 0;     // mean of (|C| - |AB|) / (u |A||B|); below 0: results are too small
  bool finite = true;  // all of C, not only the sample

  bool within(double allowed) const { return finite && component <= allowed; }
};

// A sample of a range's indices: one at random from each part of 128, at least 64, at most `most`; the last
// index is always included.
std::vector<std::int64_t> spread_over(std::int64_t extent, std::uint64_t seed,
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max());

// Compares products C = A B with FP64. The sample has one row of each 128, at least 64, and columns likewise,
// so every 128 x 128 tile contains an output of it. The FP64 sums may be off by up to K 2^-53 |A||B|
// themselves; that much is not counted as an error of C. Nothing may overflow FP32.
class sampled_product {
 public:
  sampled_product(const matrix_view<const float>& a, const matrix_view<const float>& b);
  // `c`: row-major, contiguous. `absolute`: additional error allowed for every output (gemm_bound).
  accuracy operator()(std::span<const float> c, double absolute) const;
  std::int64_t outputs() const { return static_cast<std::int64_t>(exact_.size()); }

 private:
  std::int64_t m_, n_, k_;
  std::vector<std::int64_t> rows_, columns_;
  std::vector<double> exact_, size_;  // AB and |A||B| of rows_ x columns_
};

}  // namespace antiphase::tool
