// SPDX-License-Identifier: Apache-2.0
// Shared by all tests of matrix products: devices, matrices between guards, values, and a reference product.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <antiphase/gemm.hpp>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sanitized.hpp"

namespace antiphase::gemm_test {

using test::sanitized;

// Where to run
// -----------------------------------------------------------------------------------------------------------
// A test on the device that its parameter names; those on a GPU are skipped where there is none.
template <class Parameter> class on_device_with : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    std::string why;
    if (is_cuda() && cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU to test on: " << why;
  }
  virtual std::string_view device() const = 0;
  bool is_cuda() const { return device() == "cuda"; }
  context any() const { return context::on(device()); }
  // On the CPU: several schedules, and completion of asynchronous copies late, early and mixed.
  std::vector<context> several() const {
    if (is_cuda()) return {any()};
    return {context(make_cpu_executor({.seed = 1, .copies = landing::late, .workers = 1})),
            context(make_cpu_executor({.seed = 77, .copies = landing::early, .workers = 1})),
            context(make_cpu_executor({.seed = 4242, .copies = landing::mixed, .workers = 2}))};
  }
};
class on_device : public on_device_with<const char*> {
  std::string_view device() const override { return GetParam(); }
};
#define AP_ON_BOTH_DEVICES(suite)                               \
  INSTANTIATE_TEST_SUITE_P(Cpu, suite, testing::Values("cpu")); \
  INSTANTIATE_TEST_SUITE_P(Cuda, suite, testing::Values("cuda"))

// Matrices
// -----------------------------------------------------------------------------------------------------------
// A row-major matrix on the host.
struct dense {
  std::int64_t rows = 0, columns = 0;
  std::vector<float> value = std::vector<float>(static_cast<std::size_t>(rows * columns));

  float& operator()(std::int64_t i, std::int64_t j) {
    return value[static_cast<std::size_t>(i * columns + j)];
  }
  float operator()(std::int64_t i, std::int64_t j) const {
    return value[static_cast<std::size_t>(i * columns + j)];
  }
};
template <class F> dense made(std::int64_t rows, std::int64_t columns, F f) {
  dense d{rows, columns};
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) d(i, j) = static_cast<float>(f(i, j));
  return d;
}
constexpr float infinity = std::numeric_limits<float>::infinity(),
                nan = std::numeric_limits<float>::quiet_NaN();
dense filled(std::int64_t rows, std::int64_t columns, float value);
dense transposed(const dense& d);
// In (-1, 1), of 12 significant bits: products are exact, so that a fused multiply-add and two roundings give
// the same sums.
dense random_reals(std::int64_t rows, std::int64_t columns, unsigned seed);
dense random_integers(std::int64_t rows, std::int64_t columns, unsigned seed);  // -4 ... 4
// Numbers of 24 significant bits and either sign, over `spread` powers of two.
dense reals(std::int64_t rows, std::int64_t columns, unsigned seed, int spread = 1);
dense scaled(dense d, auto power) {  // element (i, j) times 2^power(i, j)
  for (std::int64_t i = 0; i < d.rows; ++i)
    for (std::int64_t j = 0; j < d.columns; ++j) d(i, j) = std::ldexp(d(i, j), static_cast<int>(power(i, j)));
  return d;
}

// Layout of a matrix. `offset`: in floats, from an address that is a multiple of 256 bytes; for strides that
// are not negative.
struct placing {
  std::int64_t row_stride = 0, column_stride = 0;
  int offset = 0;
};
enum class major { row, column };
// `padding` floats lie between rows (or columns).
placing placed(major by, const dense& d, std::int64_t padding = 0, int offset = 0);
// The leading dimension is a multiple of 4 floats, with at least one float of padding: every row (or column)
// begins at a multiple of 16 bytes.
placing placed_in_packets(major by, const dense& d);

// A matrix on a device in memory that is otherwise full of NaN: before it, after it and between its rows.
class matrix {
 public:
  matrix(const context& where, const dense& values, placing how);

  matrix_view<float> view() {
    return {memory_.data() + origin_, rows_, columns_, how_.row_stride, how_.column_stride};
  }
  // The values now; a failed test if anything else has been written.
  dense read() const;

 private:
  static constexpr std::int64_t guard = 64;

  std::size_t place(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(origin_ + i * how_.row_stride + j * how_.column_stride);
  }
  std::int64_t rows_, columns_, origin_;
  placing how_;
  std::vector<float> before_;
  device_array<float> memory_;
};

// Products
// -----------------------------------------------------------------------------------------------------------
struct product {
  dense a, b, c;  // c: what C holds before
  placing place_a = placed(major::row, a), place_b = placed(major::row, b), place_c = placed(major::row, c);
  float alpha = 1, beta = 0;
};
inline product product_of(dense a, dense b, float alpha = 1, float beta = 0) {
  const std::int64_t rows = a.rows, columns = b.columns;
  return {.a = std::move(a),
          .b = std::move(b),
          .c = random_reals(rows, columns, 99),
          .alpha = alpha,
          .beta = beta};
}

// The reference: each output is one sum in the order of k (or of slices), then alpha and beta. alpha = 0: A
// and B are not read; beta = 0: C is not read. For operands whose products are exact, as kernels on the CPU
// executor may be compiled without fused multiply-adds.
struct sums : dense {
  std::vector<dense> in_slices;  // the results with each of slicings, which the ladder's last step has
};
sums expected(const product& p);
// An output is the sum of `slices` partial sums; each slice has its share of the k of every tile of `tile_k`.
struct slicing {
  int slices, tile_k;
};
constexpr slicing slicings[] = {{2, 32}, {8, 64}};
dense expected(const product& p, const slicing& how);
// Runs the public call and returns C; fails the test if anything else was written. recomputed: see
// gemm_options. step "auto": precision strict.
dense computed(const context& where, std::string_view step, const product& p,
               std::uint64_t* recomputed = nullptr);
// Whether every element is equal, or NaN in both.
testing::AssertionResult same(const dense& computed, const dense& expected);
testing::AssertionResult same(const dense& computed, const sums& expected);
// Whether all bits are equal, signs of zeros and NaN included.
bool same_bits(const dense& one, const dense& other);

// Cases that every policy has to get right
// -----------------------------------------------------------------------------------------------------------
// check(p) is called with each product.

// Products from make(m, n, k, seed), with operands and C row-major and column-major, at every alignment, with
// and without padding.
void in_all_layouts(std::initializer_list<std::array<int, 3>> shapes, auto make, auto check) {
  unsigned seed = 1;
  for (const auto& [m, n, k] : shapes)
    for (const major by_a : {major::row, major::column})
      for (const major by_b : {major::row, major::column})
        for (const major by_c : {major::row, major::column}) {
          seed += 2;
          if (sanitized && seed % 5 != 0) continue;
          product p = make(m, n, k, seed);
          p.place_a = placed(by_a, p.a, seed % 3, static_cast<int>(seed % 4));
          p.place_b = placed(by_b, p.b, seed % 5, static_cast<int>(seed / 4 % 4));
          p.place_c = placed(by_c, p.c, seed % 2, static_cast<int>(seed / 2 % 4));
          SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", seed " << seed);
          check(p);
        }
}
// Elements of several sizes; alpha and beta by the seed.
product varied_product(std::int64_t m, std::int64_t n, std::int64_t k, unsigned seed);
// Each term k is cancelled by term k + K/2 (K is even), so that only rounding errors are left: the order of
// additions shows, in FP64, too.
product product_of_halves_that_cancel(std::int64_t m, std::int64_t n, std::int64_t k);
// Rows of A have two nonzeros of opposite sign, all rows of B are alike, so the two products of an output
// cancel except for a few bits. sum_of_two_nonzeros(): the exact output.
product product_of_two_nonzeros(std::int64_t m, std::int64_t n, std::int64_t k);
inline float sum_of_two_nonzeros(const product& p, std::int64_t i, std::int64_t j) {
  return std::ldexp(p.b(0, j), -20 - static_cast<int>(i % 4));
}
// Neither rows nor columns are contiguous.
product product_of_general_strides(std::int64_t k);
// C with strides of either sign, at multiples of 16 bytes and not.
void written_backwards(product p, auto check) {
  const std::int64_t row = placed_in_packets(major::row, p.c).row_stride, odd = p.c.columns + 1,
                     column = p.c.rows + 2;
  for (const placing how : {placing{-row, 1}, placing{row, -1}, placing{-odd, 1}, placing{-1, column},
                            placing{1, -column}, placing{-2 * row, -2}}) {
    p.place_c = how;
    SCOPED_TRACE(testing::Message() << "C by " << how.row_stride << " and " << how.column_stride);
    check(p);
  }
}
// Infinities and NaN in A and B that meet numbers, zeros and whole lines of zeros. K is at least 3.
product product_with_infinities(std::int64_t k);
// Elements, and products, from the smallest subnormal numbers to beyond the largest.
void at_the_ends_of_the_range(std::int64_t k, auto check) {
  for (const std::array power :
       {std::array{-149, 0}, {-140, 20}, {-100, -40}, {127, -149}, {127, -3}, {60, 67}, {-70, -79}}) {
    SCOPED_TRACE(testing::Message() << power[0] << ", " << power[1]);
    check(product_of(scaled(reals(70, k, 1), [&](auto i, auto) { return power[0] + i % 3; }),
                     scaled(reals(k, 45, 2), [&](auto, auto j) { return power[1] - j % 5; })));
  }
}

}  // namespace antiphase::gemm_test
