// SPDX-License-Identifier: Apache-2.0
// Test data for the ladders, and checks of results computed from them.
#include "tool/measure/verify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace antiphase::tool {
namespace {

constexpr double unit = 0x1p-24;       // of FP32: the largest relative error of one rounding
constexpr double sample_budget = 3e8;  // multiply-adds in FP64 that a sample may cost
constexpr std::int64_t smallest_sample = 8;

// A sum of k terms in the order of k has an error of about unit * sqrt(k) / 2.4 relative to its usual size.
// The bound is four to five times that; a missing term of 4096 would exceed the error a thousand times.
// Tensor Cores truncate the sum toward zero every 16 products, by a third of a unit of the result on average,
// and these errors add up. The bound is six times that; a missing term of 4096 would exceed it hundreds of
// times.
double bound(std::int64_t k, arithmetic how) {
  const double rounded = 2 * unit * (std::sqrt(static_cast<double>(k)) + 2);
  return how == arithmetic::fp32 ? rounded : rounded + 2 * unit * (static_cast<double>(k) / 16 + 1);
}

}  // namespace

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t position) {  // splitmix64, Steele et al. 2014
  std::uint64_t z = (seed << 40) + (position + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

std::vector<float> random_values(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(random_bits(seed, i) >> 40) * 0x1p-23f - 1;
  return values;
}

product_check::product_check(std::span<const float> a, std::span<const float> b, std::int64_t m,
                             std::int64_t n, std::int64_t k, arithmetic how)
    : m_{m}, n_{n}, k_{k}, how_{how} {
  const double per_row = std::max(1., static_cast<double>(n) * static_cast<double>(k));
  const std::int64_t count =
      std::min(m, std::max(smallest_sample, static_cast<std::int64_t>(sample_budget / per_row)));
  for (std::int64_t i = 0; i < count; ++i)
    rows_.push_back(count == 1 ? 0 : i * (m - 1) / (count - 1));  // includes the first and the last row
  compute_rows(a, b);
  compute_checksums(a, b);
}

void product_check::compute_rows(std::span<const float> a, std::span<const float> b) {
  expected_.assign(rows_.size() * static_cast<std::size_t>(n_), 0);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    double* const row = expected_.data() + r * static_cast<std::size_t>(n_);
    for (std::int64_t k = 0; k < k_; ++k) {
      const double factor = a[static_cast<std::size_t>(rows_[r] * k_ + k)];
      const float* const from = b.data() + k * n_;
      for (std::int64_t j = 0; j < n_; ++j) row[j] += factor * from[j];
    }
  }
}

void product_check::compute_checksums(std::span<const float> a, std::span<const float> b) {
  for (std::int64_t j = 0; j < n_; ++j)
    signs_.push_back(random_bits(77, static_cast<std::uint64_t>(j)) % 2 == 0 ? 1.f : -1.f);
  std::vector<double> b_signs(static_cast<std::size_t>(k_)), b_squares(static_cast<std::size_t>(k_));
  for (std::int64_t k = 0; k < k_; ++k)
    for (std::int64_t j = 0; j < n_; ++j) {
      const double value = b[static_cast<std::size_t>(k * n_ + j)];
      b_signs[static_cast<std::size_t>(k)] += value * signs_[static_cast<std::size_t>(j)];
      b_squares[static_cast<std::size_t>(k)] += value * value;
    }
  for (std::int64_t i = 0; i < m_; ++i) {
    double sum = 0, squares = 0;
    for (std::int64_t k = 0; k < k_; ++k) {
      const double value = a[static_cast<std::size_t>(i * k_ + k)];
      sum += value * b_signs[static_cast<std::size_t>(k)];
      squares += value * value * b_squares[static_cast<std::size_t>(k)];
    }
    checksum_.push_back(sum);
    size_.push_back(std::sqrt(squares));
  }
}

verdict product_check::operator()(std::span<const float> c) const {
  double wrong = 0, right = 0, usual = 0;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::size_t row = static_cast<std::size_t>(rows_[r]);
    usual += size_[row] * size_[row];
    for (std::size_t j = 0; j < static_cast<std::size_t>(n_); ++j) {
      const double expected = expected_[r * static_cast<std::size_t>(n_) + j];
      const double difference = c[row * static_cast<std::size_t>(n_) + j] - expected;
      wrong += difference * difference;
      right += expected * expected;
    }
  }
  bool rows_agree = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(m_); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < static_cast<std::size_t>(n_); ++j)
      sum += static_cast<double>(c[i * static_cast<std::size_t>(n_) + j]) * signs_[j];
    rows_agree = rows_agree && std::abs(sum - checksum_[i]) <= 8 * bound(k_, how_) * size_[i];
  }
  return {.error = right > 0 ? std::sqrt(wrong / right) : std::sqrt(wrong),
          .verified = rows_agree && std::sqrt(wrong) <= bound(k_, how_) * std::sqrt(usual)};
}

template <class T> verdict check_sums(std::span<const T> in, std::span<const T> out, std::int64_t tile) {
  using sum_type = std::conditional_t<std::is_floating_point_v<T>, long double, std::uint64_t>;
  verdict result{.error = 0, .verified = in.size() == out.size()};
  double wrong = 0, right = 0, squares = 0, largest = 0;
  sum_type sum = 0;
  for (std::size_t i = 0; i < std::min(in.size(), out.size()); ++i) {
    if (i % static_cast<std::size_t>(tile) == 0) {
      sum = 0;
      squares = largest = 0;
    }
    sum += static_cast<sum_type>(in[i]);
    if constexpr (std::is_floating_point_v<T>) {
      const double difference = static_cast<double>(static_cast<long double>(out[i]) - sum);
      squares += static_cast<double>(in[i]) * static_cast<double>(in[i]);
      largest = std::max({largest, std::abs(static_cast<double>(sum)), std::sqrt(squares)});
      wrong += difference * difference;
      right += static_cast<double>(sum * sum);
      // Tree sums have an error of some roundings per level, relative to the sums on the way; a missing
      // element causes a far larger one.
      const double rounding = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
      const double levels = 16 + 8 * std::log2(static_cast<double>(std::min<std::int64_t>(
                                                   tile, static_cast<std::int64_t>(in.size()))) +
                                               1);
      // false for a NaN
      result.verified = result.verified && std::abs(difference) <= rounding * levels * largest;
    } else {
      const bool same = out[i] == static_cast<T>(sum);
      result.verified = result.verified && same;
      if (!same) wrong += 1;
      right += 1;
    }
  }
  result.error = right > 0 ? std::sqrt(wrong / right) : std::sqrt(wrong);
  return result;
}
template verdict check_sums<float>(std::span<const float>, std::span<const float>, std::int64_t);
template verdict check_sums<double>(std::span<const double>, std::span<const double>, std::int64_t);
template verdict check_sums<std::int8_t>(std::span<const std::int8_t>, std::span<const std::int8_t>,
                                         std::int64_t);
template verdict check_sums<std::int16_t>(std::span<const std::int16_t>, std::span<const std::int16_t>,
                                          std::int64_t);
template verdict check_sums<std::int32_t>(std::span<const std::int32_t>, std::span<const std::int32_t>,
                                          std::int64_t);
template verdict check_sums<std::int64_t>(std::span<const std::int64_t>, std::span<const std::int64_t>,
                                          std::int64_t);
template verdict check_sums<std::uint8_t>(std::span<const std::uint8_t>, std::span<const std::uint8_t>,
                                          std::int64_t);
template verdict check_sums<std::uint16_t>(std::span<const std::uint16_t>, std::span<const std::uint16_t>,
                                           std::int64_t);
template verdict check_sums<std::uint32_t>(std::span<const std::uint32_t>, std::span<const std::uint32_t>,
                                           std::int64_t);
template verdict check_sums<std::uint64_t>(std::span<const std::uint64_t>, std::span<const std::uint64_t>,
                                           std::int64_t);

}  // namespace antiphase::tool
