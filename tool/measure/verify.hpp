// SPDX-License-Identifier: Apache-2.0
// Test data for the ladders, and checks of results computed from them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace antiphase::tool {

// Values in [-1, 1), each a function of the seed and its position only.
std::vector<float> random_values(std::size_t count, std::uint64_t seed);
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t position);

struct verdict {
  double error = 0;  // relative, Frobenius norm, against FP64
  bool verified = false;
};

// How the products are summed: FP32 rounded to nearest, or Tensor Cores, which truncate.
enum class arithmetic { fp32, tensor_cores };

// Checks products C = A * B of row-major matrices of random_values(). A sample of rows is compared with FP64
// element by element. All rows are checked by multiplication with a random vector of signs, C x = A (B x),
// which exposes a wrong row.
class product_check {
 public:
  product_check(std::span<const float> a, std::span<const float> b, std::int64_t m, std::int64_t n,
                std::int64_t k, arithmetic how = arithmetic::fp32);
  verdict operator()(std::span<const float> c) const;

 private:
  std::int64_t m_, n_, k_;
  arithmetic how_;
  std::vector<std::int64_t> rows_;  // the sample
  std::vector<double> expected_;    // rows_ x n
  std::vector<float> signs_;        // n
  std::vector<double> checksum_;    // m: A (B signs)
  std::vector<double> size_;        // m: expected length (2-norm) of row i of C for such data

  void compute_rows(std::span<const float> a, std::span<const float> b);
  void compute_checksums(std::span<const float> a, std::span<const float> b);
};

// Checks prefix sums: each tile of `tile` elements (the last may be shorter) is summed separately, in order
// of position. Integers must be exact.
template <class T> verdict check_sums(std::span<const T> in, std::span<const T> out, std::int64_t tile);
extern template verdict check_sums<float>(std::span<const float>, std::span<const float>, std::int64_t);
extern template verdict check_sums<double>(std::span<const double>, std::span<const double>, std::int64_t);
extern template verdict check_sums<std::int8_t>(std::span<const std::int8_t>, std::span<const std::int8_t>,
                                                std::int64_t);
extern template verdict check_sums<std::int16_t>(std::span<const std::int16_t>, std::span<const std::int16_t>,
                                                 std::int64_t);
extern template verdict check_sums<std::int32_t>(std::span<const std::int32_t>, std::span<const std::int32_t>,
                                                 std::int64_t);
extern template verdict check_sums<std::int64_t>(std::span<const std::int64_t>, std::span<const std::int64_t>,
                                                 std::int64_t);
extern template verdict check_sums<std::uint8_t>(std::span<const std::uint8_t>, std::span<const std::uint8_t>,
                                                 std::int64_t);
extern template verdict check_sums<std::uint16_t>(std::span<const std::uint16_t>,
                                                  std::span<const std::uint16_t>, std::int64_t);
extern template verdict check_sums<std::uint32_t>(std::span<const std::uint32_t>,
                                                  std::span<const std::uint32_t>, std::int64_t);
extern template verdict check_sums<std::uint64_t>(std::span<const std::uint64_t>,
                                                  std::span<const std::uint64_t>, std::int64_t);

}  // namespace antiphase::tool
