// SPDX-License-Identifier: Apache-2.0
// Operands of any size at little cost for the host, and products of them checked by a sample.
#include "tool/measure/products/spot_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tool/base/parallel.hpp"
#include "tool/measure/products/distributions.hpp"

namespace antiphase::tool {
namespace {

constexpr std::int64_t period = 262139;                          // prime
constexpr std::int64_t most_rows = 2048, most_values = 1 << 23;  // of C that are copied to the host
constexpr std::int64_t budget = 10'000'000;                      // multiply-adds in FP64

// Start and stride of the elements of one line, modulo the period.
struct walk {
  std::int64_t position, step;
  walk(std::int64_t first, std::int64_t distance, std::int64_t length)
      : position(first % length), step(distance % length) {}
  void next(std::int64_t length) {
    position += step;
    if (position >= length) position -= length;
  }
};

}  // namespace

void repeated_values::fill(const context& where, float* device, std::int64_t count) const {
  const executor& on = where.runs_on();
  const auto bytes = [](std::int64_t values) { return static_cast<std::size_t>(values) * sizeof(float); };
  std::int64_t filled = std::min(count, length());
  if (filled > 0) on.copy_in(device, period_.data(), bytes(filled), nullptr);
  while (filled < count) {  // multiples of the period, so that the sequence stays periodic
    const std::int64_t more = std::min(filled, count - filled);
    on.copy(device + filled, device, bytes(more), nullptr);
    filled += more;
  }
  on.synchronize(nullptr);
}

operand_values normal_operands() {
  const distribution& normal = find_distribution("normal");
  const std::vector<float> left = left_operand(normal, 2, period, true);
  const auto second = left.begin() + static_cast<std::ptrdiff_t>(period);
  return {.a = repeated_values({left.begin(), second}),
          .b = repeated_values(right_operand(normal, period, 1, true)),
          .c = repeated_values({second, left.end()})};
}

spot_check::spot_check(const listed_product& of, const operand_values& values)
    : n_(of.size.n), k_(of.size.k), beta_(of.beta) {
  const std::int64_t m = of.size.m, n = of.size.n, k = of.size.k;
  if (of.of_c() == 0) return;
  rows_ = spread_over(of.count * m, 31, std::clamp<std::int64_t>(most_values / n, 8, most_rows));
  const std::vector<std::int64_t> columns = spread_over(n, 32, most_rows);
  const auto height = static_cast<std::int64_t>(rows_.size()),
             width = static_cast<std::int64_t>(columns.size());
  const std::int64_t most =
      std::min(height * width, std::max(budget / std::max<std::int64_t>(k, 1), std::int64_t{64}));
  // period after which the pairs of row and column would repeat
  const std::int64_t turn = std::lcm(height, width);
  for (std::int64_t i = 0; i < most; ++i)
    points_.push_back({.row = static_cast<std::size_t>(i % height),
                       .column = columns[static_cast<std::size_t>((i + i / turn) % width)],
                       .exact = 0,
                       .product = 0,
                       .size = 0,
                       .added = 0});
  const bool a_rows = a_by_rows(of.layout), b_rows = b_by_rows(of.layout);
  const auto compute = [&](point& p) {
    const std::int64_t member = rows_[p.row] / m, row = rows_[p.row] % m;
    walk a(member * m * k + (a_rows ? row * k : row), a_rows ? 1 : m, values.a.length());
    walk b(member * k * n + (b_rows ? p.column : p.column * k), b_rows ? n : 1, values.b.length());
    for (std::int64_t i = 0; i < k; ++i) {
      const double product = static_cast<double>(values.a.data()[a.position]) * values.b.data()[b.position];
      p.product += product;
      p.size += std::abs(product);
      a.next(values.a.length());
      b.next(values.b.length());
    }
    if (beta_ != 0) p.added = static_cast<double>(beta_) * values.c[rows_[p.row] * n + p.column];
    p.exact = p.product + p.added;
  };
  const auto some = [&](std::size_t first, std::size_t last) {
    std::for_each(&points_[first], &points_[0] + last, compute);
  };
  in_parallel(points_.size(), some, static_cast<std::size_t>((1 << 18) / (k + 1) + 1));
}

double spot_check::component(const point& at, double difference, const gemm_bound& promised) const {
  constexpr double u = gemm_bound::u;
  const double units = promised.units * u * at.size;
  const double besides =  // allowed error other than that of the sum
      beta_ == 0 ? promised.absolute
                 : promised.allowed(at.size, 1, std::abs(at.product), std::abs(at.added)) - units;
  const double own = (static_cast<double>(k_) * at.size + std::abs(at.exact)) * 0x1p-53;
  const double beyond = std::abs(difference) - own - besides;
  return beyond > 0 ? beyond / (u * at.size) : 0;
}

accuracy spot_check::operator()(const context& where, const float* c, const gemm_bound& promised) const {
  const auto n = static_cast<std::size_t>(n_);
  device_array<float> gathered(where, rows_.size() * n);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    where.runs_on().copy(gathered.data() + i * n, c + rows_[i] * n_, n * sizeof(float), nullptr);
  const std::vector<float> found = gathered.to_host();
  accuracy result;
  result.finite = std::ranges::all_of(found, [](float x) { return std::isfinite(x); });
  double wrong = 0, right = 0, bias = 0;
  for (const point& p : points_) {
    const double value = found[p.row * n + static_cast<std::size_t>(p.column)], difference = value - p.exact;
    if (!std::isfinite(value)) result.component = std::numeric_limits<double>::infinity();
    result.component = std::max(result.component, component(p, difference, promised));
    if (p.size > 0) bias += (std::abs(value) - std::abs(p.exact)) / (gemm_bound::u * p.size);
    wrong += difference * difference;
    right += p.exact * p.exact;
  }
  result.norm = right > 0 ? std::sqrt(wrong / right) : std::sqrt(wrong);
  result.bias = points_.empty() ? 0 : bias / static_cast<double>(points_.size());
  return result;
}

}  // namespace antiphase::tool
