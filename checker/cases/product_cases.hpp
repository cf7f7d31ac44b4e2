// SPDX-License-Identifier: Apache-2.0
// What the cases of products within precision fp32 have in common: operands, and how results are checked.
#pragma once
#include <antiphase/gemm.hpp>
#include <antiphase/gemm/policies.hpp>
#include <cstddef>
#include <limits>
#include <vector>

#include "checker/cases/cases.hpp"

namespace antiphase::checker_detail {

// A product of 24-bit numbers and where its operands lie. C begins as NaN if beta is 0: then no thread may
// read it.
struct product {
  placed a, b, c;
  float alpha, beta;

  product(std::int64_t m, std::int64_t n, std::int64_t k, float of_product, float of_c,
          storage_order of_a = storage_order::rows, storage_order of_b = storage_order::rows,
          std::int64_t packet_of_c = 4, int offset_by_columns = 1)
      : a(m, k, of_a, 0),
        b(k, n, of_b, of_b == storage_order::rows ? 0 : offset_by_columns),
        c(m, n, storage_order::rows, packet_of_c == 4 ? 0 : 1, packet_of_c),
        alpha(of_product),
        beta(of_c) {
    a.fill([](std::uint64_t place) { return real(1, place); });
    b.fill([](std::uint64_t place) { return real(2, place); });
    if (beta != 0) c.fill([](std::uint64_t place) { return real(3, place); });
  }
};
// Lines of zero to four nonzeros, an infinity and a NaN.
inline product with_odd_lines(product p) {
  for (std::int64_t i = 0; i < p.a.rows; i += 5)
    for (std::int64_t k = 0; k < p.a.columns; ++k)
      if (k % 13 != i % 13 || k > 13 * (i / 5 % 5)) p.a(i, k) = 0;
  for (std::int64_t k = 2; k < p.b.rows && p.b.columns > 3; ++k) p.b(k, 3) = 0;
  p.a(1, 1) = std::numeric_limits<float>::infinity();
  p.b(p.b.rows - 1, p.b.columns - 1) = std::numeric_limits<float>::quiet_NaN();
  return p;
}

// A workspace that may hold anything: parts look there for a number that is not there yet.
inline std::vector<std::byte> anything(std::size_t bytes) {
  return std::vector<std::byte>(bytes, std::byte{0x5A});
}

struct on_device {
  device_array<float> a, b, c;
  gemms::problem problem;

  on_device(const context& where, const product& p)
      : a(where, p.a.memory), b(where, p.b.memory), c(where, p.c.memory) {
    problem = {.a = p.a.view(a.data()),
               .b = p.b.view(b.data()),
               .c = p.c.view(c.data()),
               .alpha = p.alpha,
               .beta = p.beta};
  }
};
// Within the contract; what lies between C's rows is as it was.
inline void require_kept(const context& where, const char* kernel, const product& p,
                         const std::vector<float>& result) {
  const gemm_bound bound = bound_of(precision::fp32, where.limits(), p.a.columns);
  std::vector<bool> inside(result.size());
  for (std::int64_t i = 0; i < p.c.rows; ++i)
    for (std::int64_t j = 0; j < p.c.columns; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < p.a.columns; ++k) {
        sum += static_cast<double>(p.a(i, k)) * p.b(k, j);
        size += std::fabs(static_cast<double>(p.a(i, k)) * p.b(k, j));
      }
      const double c = p.beta != 0 ? static_cast<double>(p.beta) * p.c(i, j) : 0,
                   expected = p.alpha * sum + c;
      constexpr double u = 0x1p-24;
      const double off = std::fabs(p.alpha) * (bound.units * u * size + bound.absolute) +
                         3 * u * (std::fabs(p.alpha * sum) + std::fabs(c));
      const float found = result[p.c.at(i, j)];
      inside[p.c.at(i, j)] = true;
      const bool right = std::isfinite(expected) ? std::fabs(found - expected) <= off
                         : std::isnan(expected)  ? std::isnan(found)
                                                 : found == expected;
      if (!right)
        throw std::runtime_error(
            fmt::format("{}: C({}, {}) is {}, expected {} within {}", kernel, i, j, found, expected, off));
    }
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!inside[i] && !std::isnan(result[i]))
      throw std::runtime_error(fmt::format("{}: wrote between the rows of C", kernel));
}

}  // namespace antiphase::checker_detail
