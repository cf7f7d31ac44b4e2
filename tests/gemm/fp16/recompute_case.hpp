// SPDX-License-Identifier: Apache-2.0
// Recomputed outputs against sums in higher precision.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <set>

#include "tests/gemm/fp16/recompute_kernels.hpp"
#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {

// Which outputs a case expects to be written.
using marks = std::vector<bool>;  // row by row

// Numbers that depend on their place: signs, exponents over 2^-spread ... 2^spread, all 24 bits.
inline dense scattered_reals(std::int64_t rows, std::int64_t columns, unsigned seed, int spread) {
  return made(rows, columns, [&](auto i, auto j) {
    std::uint64_t x =
        (static_cast<std::uint64_t>(i) << 32 | static_cast<std::uint64_t>(j)) + seed * 0x9E3779B97F4A7C15ull;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    x ^= x >> 31;
    const double significand = 1 + static_cast<double>(x & 0x7FFFFF) * 0x1p-23;
    const int exponent = static_cast<int>(x >> 24 & 0xFFFF) % (2 * spread + 1) - spread;
    return std::ldexp((x >> 63) != 0 ? -significand : significand, exponent);
  });
}

// Runs one of the kernels on all tiles. `where` decides whose kernels.
struct recompute_run {
  const product* p;
  std::vector<int> count;
  std::vector<std::uint16_t> places;
  std::vector<gemms::split_line> row, column;
  std::vector<gemms::sparse_indices> row_sparse, column_sparse;

  explicit recompute_run(const product& of) : p(&of) {
    const std::size_t tiles = static_cast<std::size_t>(tiles_m() * tiles_n());
    count.resize(tiles);
    places.resize(tiles * gemms::uncertain_limit);
  }
  std::int64_t tiles_m() const { return (p->c.rows + gemms::split_tile - 1) / gemms::split_tile; }
  std::int64_t tiles_n() const { return (p->c.columns + gemms::split_tile - 1) / gemms::split_tile; }

  dense operator()(const context& where, const kernel& what) const {
    matrix a(where, p->a, p->place_a), b(where, p->b, p->place_b), c(where, p->c, p->place_c);
    const device_array<int> counts(where, std::span<const int>(count));
    const device_array<std::uint16_t> all_places(where, std::span<const std::uint16_t>(places));
    device_array<gemms::split_line> rows(where, std::span<const gemms::split_line>(row)),
        columns(where, std::span<const gemms::split_line>(column));
    device_array<gemms::sparse_indices> sparse_rows(where,
                                                    std::span<const gemms::sparse_indices>(row_sparse)),
        sparse_columns(where, std::span<const gemms::sparse_indices>(column_sparse));
    const gemms::recompute_params params{
        {a.view(), b.view(), c.view(), p->alpha, p->beta},
        counts.data(),
        all_places.data(),
        {nullptr, nullptr, rows.data(), sparse_rows.data(), p->a.rows, p->a.columns},
        {nullptr, nullptr, columns.data(), sparse_columns.data(), p->b.columns, p->b.rows}};
    where.runs_on().launch(what, {static_cast<unsigned>(tiles_n()), static_cast<unsigned>(tiles_m()), 1},
                           &params, nullptr);
    where.runs_on().synchronize(nullptr);
    EXPECT_TRUE(same_bits(a.read(), p->a)) << "A was changed";
    EXPECT_TRUE(same_bits(b.read(), p->b)) << "B was changed";
    return c.read();
  }

  marks all() const { return marks(p->c.value.size(), true); }
  // As many places in every tile as it has outputs, at most `wanted`; `turn` changes their order, not which.
  marks list(int wanted, int turn = 0) {
    marks marked(p->c.value.size());
    for (std::int64_t t = 0; t < tiles_m() * tiles_n(); ++t) {
      const std::int64_t top = t / tiles_n() * gemms::split_tile, left = t % tiles_n() * gemms::split_tile;
      const std::int64_t rows = std::min<std::int64_t>(p->c.rows - top, gemms::split_tile);
      const std::int64_t columns = std::min<std::int64_t>(p->c.columns - left, gemms::split_tile);
      const int n = static_cast<int>(std::min<std::int64_t>(wanted, rows * columns));
      count[static_cast<std::size_t>(t)] = n;
      for (int i = 0; i < n; ++i) {
        // 7919 is prime: no place comes twice.
        const std::int64_t place =
            rows * columns % 7919 == 0 ? i : (i * std::int64_t{7919} + t * 31) % (rows * columns);
        const std::int64_t row_in = place / columns, column_in = place % columns;
        const std::size_t slot = static_cast<std::size_t>(t * gemms::uncertain_limit + (i + turn) % n);
        places[slot] = static_cast<std::uint16_t>(row_in * gemms::split_tile + column_in);
        marked[static_cast<std::size_t>((top + row_in) * p->c.columns + left + column_in)] = true;
      }
    }
    return marked;
  }
  // What the split pass finds, as far as recompute_sparse looks.
  marks sparse() {
    const auto look = [](std::int64_t lines, std::int64_t k, auto at, auto& line, auto& indices) {
      line.assign(static_cast<std::size_t>(lines), {});
      // not looked at for lines that are not few
      indices.assign(static_cast<std::size_t>(lines), {{-7, -7, -7, -7}});
      for (std::int64_t l = 0; l < lines; ++l) {
        auto& found = line[static_cast<std::size_t>(l)];
        gemms::sparse_indices at_k{{-1, -1, -1, -1}};
        bool finite = true;
        int n = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          const float x = at(l, i);
          finite &= std::isfinite(x);
          if (x == 0) continue;
          if (n < gemms::sparse_nonzeros) at_k.k[n] = static_cast<std::int32_t>(i);
          ++n;
        }
        found.nonzeros = finite ? n : static_cast<std::int32_t>(k);
        found.tiny = found.norm = finite ? 3 : std::numeric_limits<float>::infinity();
        if (finite && n <= gemms::sparse_nonzeros) indices[static_cast<std::size_t>(l)] = at_k;
      }
    };
    look(
        p->a.rows, p->a.columns, [&](auto l, auto k) { return p->a(l, k); }, row, row_sparse);
    look(
        p->b.columns, p->b.rows, [&](auto l, auto k) { return p->b(k, l); }, column, column_sparse);
    marks marked(p->c.value.size());
    const auto finite = [](const gemms::split_line& l) { return !std::isinf(l.tiny); };
    for (std::size_t i = 0; i < row.size(); ++i)
      for (std::size_t j = 0; j < column.size(); ++j)
        marked[i * column.size() + j] =
            finite(row[i]) && finite(column[j]) && row[i].nonzeros > 0 && column[j].nonzeros > 0 &&
            (row[i].nonzeros <= gemms::sparse_nonzeros || column[j].nonzeros <= gemms::sparse_nonzeros);
    return marked;
  }
};

// The first output that is wrong, or nothing. Marked ones: within the bound of sums in FP64, and what IEEE
// says about infinities and NaN; the others: as they were, bit for bit.
inline std::string first_wrong(const product& p, const dense& out, const marks& marked) {
  for (std::int64_t i = 0; i < out.rows; ++i)
    for (std::int64_t j = 0; j < out.columns; ++j) {
      const float got = out(i, j), before = p.c(i, j);
      const auto report = [&](long double expected) {
        return "C(" + std::to_string(i) + ", " + std::to_string(j) + ") is " + std::to_string(got) +
               ", expected " + std::to_string(expected);
      };
      if (!marked[static_cast<std::size_t>(i * out.columns + j)]) {
        if (std::bit_cast<std::uint32_t>(got) != std::bit_cast<std::uint32_t>(before))
          return report(before) + " as before";
        continue;
      }
      long double sum = 0, size = 0;
      for (std::int64_t k = 0; k < p.a.columns; ++k) {
        const long double product = static_cast<long double>(p.a(i, k)) * p.b(k, j);
        sum += product;
        size += std::abs(product);
      }
      const long double added = p.beta == 0 ? 0 : static_cast<long double>(p.beta) * before,
                        expected = p.alpha * sum + added;
      if (std::isnan(expected) || std::isinf(static_cast<float>(expected))) {
        if (std::isnan(expected) ? !std::isnan(got) : got != static_cast<float>(expected))
          return report(expected);
        continue;
      }
      const gemm_bound promised = bound_of(gemm_sums::doubles, p.a.columns);
      const auto magnitudes = static_cast<double>(size);
      const double allowed =
          p.alpha == 1 && p.beta == 0
              ? promised.allowed(magnitudes)
              : promised.allowed(magnitudes, p.alpha, static_cast<double>(std::abs(p.alpha * sum)),
                                 static_cast<double>(std::abs(added)));
      if (!(std::abs(got - expected) <= allowed))
        return report(expected) + ", allowed " + std::to_string(allowed / gemm_bound::u) + " u";
    }
  return {};
}

}  // namespace antiphase::gemm_test
