// SPDX-License-Identifier: Apache-2.0
// Error of a product against FP64, for operands of any kind.
#include "tool/measure/products/accuracy.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "tool/base/parallel.hpp"
#include "tool/measure/verify.hpp"

namespace antiphase::tool {
namespace {

constexpr double unit = 0x1p-24;

}  // namespace

std::vector<std::int64_t> spread_over(std::int64_t extent, std::uint64_t seed, std::int64_t most) {
  constexpr std::int64_t part = 128, least = 64;
  const std::int64_t count = std::min({extent, most, std::max(least, (extent + part - 1) / part)});
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = extent * i / count, end = extent * (i + 1) / count;
    const auto inside = static_cast<std::int64_t>(random_bits(seed, static_cast<std::uint64_t>(i)) %
                                                  static_cast<std::uint64_t>(end - first));
    chosen.push_back(i + 1 == count ? extent - 1 : first + inside);
  }
  return chosen;
}

sampled_product::sampled_product(const matrix_view<const float>& a, const matrix_view<const float>& b)
    : m_(a.rows), n_(b.columns), k_(a.columns), rows_(spread_over(m_, 31)), columns_(spread_over(n_, 32)) {
  const std::size_t width = columns_.size();
  exact_.assign(rows_.size() * width, 0);
  size_ = exact_;
  constexpr std::int64_t block = 1024;  // along k: its elements of B stay cached
  std::vector<double> of_b(width * static_cast<std::size_t>(block));
  for (std::int64_t first = 0; first < a.columns; first += block) {
    const std::int64_t end = std::min(a.columns, first + block);
    for (std::int64_t k = first; k < end; ++k)
      for (std::size_t j = 0; j < width; ++j)
        of_b[static_cast<std::size_t>(k - first) * width + j] = b(k, columns_[j]);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      double* const exact = exact_.data() + r * width;
      double* const size = size_.data() + r * width;
      for (std::int64_t k = first; k < end; ++k) {
        const double left = a(rows_[r], k);
        const double* const right = of_b.data() + static_cast<std::size_t>(k - first) * width;
        for (std::size_t j = 0; j < width; ++j) {
          const double product = left * right[j];
          exact[j] += product;
          size[j] += std::abs(product);
        }
      }
    }
  }
}

accuracy sampled_product::operator()(std::span<const float> c, double absolute) const {
  accuracy result;
  double wrong = 0, right = 0, bias = 0;
  for (std::size_t i = 0; i < exact_.size(); ++i) {
    const std::int64_t row = rows_[i / columns_.size()], column = columns_[i % columns_.size()];
    const double found = c[static_cast<std::size_t>(row * n_ + column)], difference = found - exact_[i];
    if (!std::isfinite(found)) result.component = std::numeric_limits<double>::infinity();
    const double own = static_cast<double>(k_) * 0x1p-53 * size_[i];
    if (const double beyond = std::abs(difference) - own - absolute; beyond > 0)
      result.component = std::max(result.component, beyond / (unit * size_[i]));
    if (size_[i] > 0) bias += (std::abs(found) - std::abs(exact_[i])) / (unit * size_[i]);
    wrong += difference * difference;
    right += exact_[i] * exact_[i];
  }
  result.norm = right > 0 ? std::sqrt(wrong / right) : std::sqrt(wrong);
  result.bias = exact_.empty() ? 0 : bias / static_cast<double>(exact_.size());
  std::atomic<bool> finite{true};
  in_parallel(c.size(), [&](std::size_t first, std::size_t last) {
    if (!std::ranges::all_of(c.subspan(first, last - first), [](float x) { return std::isfinite(x); }))
      finite = false;
  });
  result.finite = finite;
  return result;
}

}  // namespace antiphase::tool
