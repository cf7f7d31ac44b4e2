// SPDX-License-Identifier: Apache-2.0
// Matrices between guards, and the reference product.
#include "tests/gemm/support.hpp"

#include <algorithm>
#include <bit>

namespace antiphase::gemm_test {
namespace {

std::uint32_t scattered(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}
std::uint32_t at_place(std::int64_t i, std::int64_t j, unsigned seed) {
  return scattered(static_cast<std::uint32_t>(i) * 65537U +
                   scattered(static_cast<std::uint32_t>(j) + seed * 1000003U));
}
// A quiet NaN whose payload is its place.
float nan_number(std::size_t i) {
  return std::bit_cast<float>(0x7fc00000U | static_cast<std::uint32_t>(i & 0xfffffU));
}

bool equal_bits(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
}

}  // namespace

dense filled(std::int64_t rows, std::int64_t columns, float value) {
  return made(rows, columns, [&](auto, auto) { return value; });
}
dense random_reals(std::int64_t rows, std::int64_t columns, unsigned seed) {
  return made(rows, columns, [&](auto i, auto j) {
    return (static_cast<double>(at_place(i, j, seed) >> 20) - 2047.5) / 2048;
  });
}
dense random_integers(std::int64_t rows, std::int64_t columns, unsigned seed) {
  return made(rows, columns, [&](auto i, auto j) { return static_cast<int>(at_place(i, j, seed) % 9) - 4; });
}

dense reals(std::int64_t rows, std::int64_t columns, unsigned seed, int spread) {
  const dense high = random_reals(rows, columns, seed), low = random_reals(rows, columns, seed + 1000);
  return made(rows, columns, [&](auto i, auto j) {
    return std::ldexp(high(i, j) + low(i, j) / 4096,
                      static_cast<int>((i * 7 + j * 13) % spread) - spread / 2);
  });
}
dense transposed(const dense& d) {
  return made(d.columns, d.rows, [&](auto i, auto j) { return d(j, i); });
}

placing placed(major by, const dense& d, std::int64_t padding, int offset) {
  if (by == major::row) return {std::max<std::int64_t>(d.columns, 1) + padding, 1, offset};
  return {1, std::max<std::int64_t>(d.rows, 1) + padding, offset};
}
placing placed_in_packets(major by, const dense& d) {
  const std::int64_t along = by == major::row ? d.columns : d.rows, distance = along / 4 * 4 + 4;
  return by == major::row ? placing{distance, 1} : placing{1, distance};
}

matrix::matrix(const context& where, const dense& values, placing how)
    : rows_(values.rows), columns_(values.columns), how_(how), memory_(where, 0) {
  std::int64_t low = 0, high = 0;
  for (const auto& [extent, stride] :
       {std::pair{rows_, how.row_stride}, std::pair{columns_, how.column_stride}}) {
    const std::int64_t reach = std::max<std::int64_t>(extent - 1, 0) * stride;
    (reach < 0 ? low : high) += reach;
  }
  origin_ = guard + how.offset - low;
  // on the CPU executor memory after it cannot be touched
  before_.resize(static_cast<std::size_t>(origin_ + high + 1 + (where.kind() == target::cuda ? guard : 0)));
  for (std::size_t i = 0; i < before_.size(); ++i) before_[i] = nan_number(i);
  for (std::int64_t i = 0; i < rows_; ++i)
    for (std::int64_t j = 0; j < columns_; ++j) before_[place(i, j)] = values(i, j);
  memory_ = device_array<float>(where, before_);
}

dense matrix::read() const {
  std::vector<float> now = memory_.to_host();
  dense values{rows_, columns_};
  for (std::int64_t i = 0; i < rows_; ++i)
    for (std::int64_t j = 0; j < columns_; ++j) values(i, j) = now[place(i, j)];
  for (std::int64_t i = 0; i < rows_; ++i)
    for (std::int64_t j = 0; j < columns_; ++j) now[place(i, j)] = before_[place(i, j)];
  for (std::size_t i = 0; i < now.size(); ++i)
    if (!equal_bits(now[i], before_[i])) {
      ADD_FAILURE() << "float " << static_cast<std::int64_t>(i) - origin_
                    << " from the start of the view lies outside it and was written: " << now[i];
      break;
    }
  return values;
}

product varied_product(std::int64_t m, std::int64_t n, std::int64_t k, unsigned seed) {
  return product_of(reals(m, k, seed, 9), reals(k, n, seed + 1, 5), seed % 4 == 3 ? -1.5f : 1,
                    seed % 6 == 5 ? 0.75f : 0);
}
product product_of_halves_that_cancel(std::int64_t m, std::int64_t n, std::int64_t k) {
  product p = product_of(reals(m, k, 1, 30), reals(k, n, 2, 30));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t at = 0; at < k / 2; ++at) p.a(i, at + k / 2) = -p.a(i, at);
  for (std::int64_t at = 0; at < k / 2; ++at)
    for (std::int64_t j = 0; j < n; ++j) p.b(at + k / 2, j) = p.b(at, j);
  return p;
}
product product_of_two_nonzeros(std::int64_t m, std::int64_t n, std::int64_t k) {
  product p = product_of(
      dense{m, k}, made(k, n, [](auto, auto j) { return 1 + static_cast<float>(2 * j + 1) * 0x1p-23f; }));
  for (std::int64_t i = 0; i < m; ++i) {
    const float first = 1 + static_cast<float>(16 * (i + 1)) * 0x1p-23f;
    p.a(i, i % k) = first + std::ldexp(1.f, -20 - static_cast<int>(i % 4));
    p.a(i, (i + k / 2) % k) = -first;
  }
  return p;
}
product product_of_general_strides(std::int64_t k) {
  product p = product_of(reals(70, k, 1), reals(k, 40, 2), -1.5f, 0.5f);
  p.place_a = {7, 70 * 7, 1};
  p.place_b = {3, k * 3 + 2, 2};
  p.place_c = {120, 3, 3};
  return p;
}
product product_with_infinities(std::int64_t k) {
  product p = product_of(reals(150, k, 1), reals(k, 140, 2), 1, 0.5f);
  p.a(3, 1) = infinity;
  p.a(140, k - 1) = nan;
  p.a(77, 0) = -infinity;
  p.b(2, 100) = infinity;
  p.b(1, 2) = 0;  // times infinity in C(3, 2)
  for (std::int64_t l = 0; l < k; ++l) p.a(20, l) = p.b(l, 50) = 0;
  return p;
}

sums expected(const product& p) {
  sums all{expected(p, {1, 1}), {}};
  for (const slicing& how : slicings) all.in_slices.push_back(expected(p, how));
  return all;
}

dense expected(const product& p, const slicing& how) {
  dense result{p.c.rows, p.c.columns};
  const std::int64_t steps = p.alpha == 0 ? 0 : p.a.columns, per_slice = how.tile_k / how.slices;
  std::vector<float> sum(static_cast<std::size_t>(result.columns));
  for (std::int64_t i = 0; i < result.rows; ++i) {
    for (int slice = 0; slice < how.slices; ++slice) {
      std::ranges::fill(sum, 0.0f);
      for (std::int64_t k = 0; k < steps; ++k) {
        if (k % how.tile_k / per_slice != slice) continue;
        for (std::int64_t j = 0; j < result.columns; ++j) {
          float& s = sum[static_cast<std::size_t>(j)];
          s = std::fma(p.a(i, k), p.b(k, j), s);
        }
      }
      for (std::int64_t j = 0; j < result.columns; ++j) {
        const float s = sum[static_cast<std::size_t>(j)];
        result(i, j) = slice == 0 ? s : result(i, j) + s;
      }
    }
    for (std::int64_t j = 0; j < result.columns; ++j) {
      const float scaled = steps == 0 ? 0 : p.alpha * result(i, j);
      result(i, j) = p.beta == 0 ? scaled : std::fma(p.beta, p.c(i, j), scaled);
    }
  }
  return result;
}

dense computed(const context& where, std::string_view step, const product& p, std::uint64_t* recomputed) {
  matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
  gemm(where, {.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta},
       {.accuracy = precision::strict, .policy = step, .recomputed = recomputed});
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(same_bits(a.read(), p.a)) << "A was changed";
  EXPECT_TRUE(same_bits(b.read(), p.b)) << "B was changed";
  return c.read();
}

testing::AssertionResult same(const dense& computed, const dense& expected) {
  std::int64_t wrong = 0;
  auto result = testing::AssertionFailure();
  for (std::int64_t i = 0; i < expected.rows; ++i)
    for (std::int64_t j = 0; j < expected.columns; ++j) {
      const float x = computed(i, j), y = expected(i, j);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (wrong++ == 0) result << "C(" << i << ", " << j << ") is " << x << ", expected " << y << "; ";
    }
  if (wrong == 0) return testing::AssertionSuccess();
  return result << wrong << " of " << expected.rows << " x " << expected.columns << " are wrong";
}

testing::AssertionResult same(const dense& computed, const sums& expected) {
  for (const dense& sliced : expected.in_slices)
    if (same(computed, sliced)) return testing::AssertionSuccess();
  return same(computed, static_cast<const dense&>(expected));
}

bool same_bits(const dense& one, const dense& other) {
  return std::ranges::equal(one.value, other.value, equal_bits);
}

}  // namespace antiphase::gemm_test
