// SPDX-License-Identifier: Apache-2.0
// What the cases of the library's kernels have in common: test data that depend on their place, and how
// results are checked.
#pragma once
#include <fmt/format.h>

#include <antiphase/checker.hpp>
#include <antiphase/core/view.hpp>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace antiphase::gemms {
struct product_policy;
struct fp64_policy;
struct tf32_policy;
}  // namespace antiphase::gemms
namespace antiphase::checker_detail {

// The cases of each family; each runs what the registry has for it. A case throws if a result is wrong.
#define AP_CASE_FAMILIES(FAMILY) \
  FAMILY(gemm_ladder_cases)      \
  FAMILY(split_cases)            \
  FAMILY(fp64_cases)             \
  FAMILY(tf32_cases)             \
  FAMILY(attention_cases) FAMILY(linear_cases) FAMILY(scan_cases) FAMILY(custom_scan_cases)
#define AP_DECLARE_CASES(family) std::vector<checked_case> family();
AP_CASE_FAMILIES(AP_DECLARE_CASES)
#undef AP_DECLARE_CASES

std::string case_of(const gemms::product_policy& how);
std::string case_of(const gemms::fp64_policy& how);
std::string case_of(const gemms::tf32_policy& how);

struct custom_scan;
struct transformed_scan;
namespace checked {
std::vector<custom_scan> custom_scans();  // of kernels_custom.cuh
transformed_scan transformed_scans();
}  // namespace checked

// Bits that depend on the seed and on the place, each on its own.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t x = (seed * 0x9E3779B97F4A7C15ull + place + 1) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 29) * 0x94D049BB133111EBull;
  return x ^ x >> 32;
}
// Numbers of few bits, from -most to most: sums of products are exact, in whatever order they are taken.
constexpr int digit(std::uint64_t seed, std::uint64_t place, int most) {
  return static_cast<int>(random_bits(seed, place) % static_cast<std::uint64_t>(2 * most + 1)) - most;
}
// Of 24 significant bits, in (-1, 1) and not 0.
constexpr float real(std::uint64_t seed, std::uint64_t place) {
  const std::uint64_t bits = random_bits(seed, place);
  return static_cast<float>((bits >> 40) | 1) * (bits % 2 == 0 ? 0x1p-24f : -0x1p-24f);
}

void require_same(const std::string& what, std::size_t at, auto found, auto expected) {
  if (!(found == expected))
    throw std::runtime_error(fmt::format("{}: element {} is {}, expected {}", what, at, found, expected));
}

// How a matrix lies: contiguous along one of its indices, or along none.
enum class storage_order { rows, columns, neither };

// A matrix in host memory that is otherwise full of NaN: reading padding spoils a result, writing it shows.
// It ends with its last element and begins `offset` floats after an address that is a multiple of 256 bytes,
// so that the checker sees what touches other memory. Lines are `packet` floats, or a multiple, apart, and
// never touch.
struct placed {
  std::int64_t rows, columns;
  std::int64_t row_stride, column_stride;
  std::int64_t origin;
  std::vector<float> memory;

  placed(std::int64_t m, std::int64_t n, storage_order how, int offset, std::int64_t packet = 4)
      : rows(m), columns(n), origin(offset) {
    const auto apart = [&](std::int64_t extent) { return (extent / packet + 2) * packet; };
    row_stride = how == storage_order::columns ? 1 : how == storage_order::rows ? apart(n) : 2 * apart(n);
    column_stride = how == storage_order::columns ? apart(m) : how == storage_order::rows ? 1 : 2;
    memory.assign(rows > 0 && columns > 0 ? at(rows - 1, columns - 1) + 1 : 0, std::nanf(""));
  }
  std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(origin + i * row_stride + j * column_stride);
  }
  float& operator()(std::int64_t i, std::int64_t j) { return memory[at(i, j)]; }
  float operator()(std::int64_t i, std::int64_t j) const { return memory[at(i, j)]; }
  template <class T> matrix_view<T> view(T* device) const {
    return {device + origin, rows, columns, row_stride, column_stride};
  }
  void fill(auto value) {  // of the element's number, row by row
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        (*this)(i, j) = value(static_cast<std::uint64_t>(i * columns + j));
  }
  void fill_with_digits(std::uint64_t seed) {
    fill([&](std::uint64_t place) { return static_cast<float>(digit(seed, place, 4)); });
  }
};

// Bit for bit, padding included.
inline void require_same(const std::string& what, const std::vector<float>& found, const placed& expected) {
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!std::isnan(expected.memory[i]) || !std::isnan(found[i]))
      require_same(what, i, found[i], expected.memory[i]);
}

}  // namespace antiphase::checker_detail
