// SPDX-License-Identifier: Apache-2.0
// The bits of a product depend on its shape, the data, the device and the options, not on layouts and
// addresses of its operands.
#include <algorithm>

#include "tests/gemm/support.hpp"

namespace antiphase::gemm_test {
namespace {

// Operands for which the order of summation shows in nearly every output, in FP32 and in FP64. Term k is
// cancelled by term k + K/2, so that only rounding errors are left; exponents are so far apart that no
// certificate holds. With beta, since an output that is recomputed then still needs C's old value.
product cancelling(std::int64_t m, std::int64_t n, std::int64_t k, float beta = 1) {
  const std::int64_t half = k / 2;
  const auto spread = [](std::int64_t line, std::int64_t at) {
    return static_cast<int>((line * 29 + at * 13) % 41) - 20;
  };
  const dense high = random_reals(m + n, k, 61), low = random_reals(m + n, k, 62);
  const auto value = [&](std::int64_t line, std::int64_t at) {
    return std::ldexp(high(line, at % half) + low(line, at % half) / 4096, spread(line, at % half));
  };
  return product_of(made(m, k, value),
                    made(k, n, [&](auto at, auto j) { return (at < half ? 1 : -1) * value(m + j, at); }), 1,
                    beta);
}

// Numbers of recomputed outputs that take each path of the code, up to a whole tile; and edges of tiles.
constexpr std::array<std::int64_t, 3> shapes[] = {{1, 1, 64},   {2, 2, 32},   {2, 3, 70},   {4, 4, 32},
                                                  {5, 5, 66},   {7, 9, 300},  {10, 10, 96}, {15, 15, 64},
                                                  {24, 24, 66}, {131, 3, 130}};

class gemm_bits : public on_device {
 protected:
  dense run(const product& p, const gemm_options& options) const {
    const context where = any();
    matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
    gemm(where, {.a = a.view(), .b = b.view(), .c = c.view(), .alpha = p.alpha, .beta = p.beta}, options);
    where.runs_on().synchronize(nullptr);
    return c.read();
  }
  bool runs(const gemm_options& options) const {
    const device_limits device = any().limits();
    return device.major == 9 || (device.major > 7 && options.policy != "fp16");
  }
  // Every precision and fp16 policy that takes operands of any layout. (Steps of the ladder:
  // test_layouts.cpp.)
  template <class Each> void each_policy(Each each) const {
    std::vector<gemm_options> all{
        {}, {.accuracy = precision::strict}, {.policy = "fp16"}, {.policy = "fp16-mma"}};
    for (const gemm_options& options : all) {
      if (!runs(options)) continue;
      SCOPED_TRACE(testing::Message() << "policy " << options.policy
                                      << (options.accuracy == precision::strict ? ", strict" : ", fp32"));
      each(options);
    }
  }
  // Row-major and column-major, aligned to 16 bytes and not, with padding and with negative strides.
  template <class Each> void each_placing(product p, Each each) const {
    const auto places = [](const dense& d) {
      return std::vector<placing>{placed_in_packets(major::row, d), placed_in_packets(major::column, d),
                                  placed(major::row, d, 1, 1),      placed(major::column, d, 2, 3),
                                  {2 * d.columns + 1, 2},           {-1, d.rows + 1}};
    };
    const std::vector<placing> of_a = places(p.a), of_b = places(p.b);
    for (std::size_t i = 0; i < of_a.size(); ++i)
      for (std::size_t j = 0; j < of_b.size(); ++j) {
        const bool few = i < 2 && j < 2;
        if (!few && (sanitized || (i > 0 && j > 0 && i != j))) continue;
        p.place_a = of_a[i], p.place_b = of_b[j];
        SCOPED_TRACE(testing::Message() << "A lies in way " << i << ", B in way " << j);
        each(p);
      }
  }
};

TEST_P(gemm_bits, do_not_depend_on_how_the_operands_lie) {
  for (const auto& [m, n, k] : shapes)
    each_policy([&, m = m, n = n, k = k](const gemm_options& options) {
      for (const float beta : {1.f, 0.f}) {
        if (beta == 0 && m * n <= 128) continue;  // all outputs are a list, either way
        SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", beta " << beta);
        const product as_usual = cancelling(m, n, k, beta);
        const dense expected = run(as_usual, options);
        each_placing(as_usual, [&](const product& p) { EXPECT_TRUE(same_bits(run(p, options), expected)); });
      }
    });
}
TEST_P(gemm_bits, of_short_products_do_not_depend_on_how_anything_lies) {
  const product longer = cancelling(70, 131, 8);
  constexpr std::int64_t taken[] = {0, 5, 2, 1};  // the second and the last cancel
  const product as_usual = product_of(made(70, 4, [&](auto i, auto at) { return longer.a(i, taken[at]); }),
                                      made(4, 131, [&](auto at, auto j) { return longer.b(taken[at], j); }));
  for (const gemm_options& options : {gemm_options{}, gemm_options{.policy = "fp64-short"}}) {
    const dense expected = run(as_usual, options);
    each_placing(as_usual, [&](product p) {
      for (const major by_c : {major::row, major::column}) {
        p.place_c = placed(by_c, p.c, 1);
        EXPECT_TRUE(same_bits(run(p, options), expected));
      }
    });
  }
}
// The number of slices of K depends on the size of C alone: here eight, two and one.
TEST_P(gemm_bits, of_strict_do_not_depend_on_how_anything_lies) {
  for (const auto& [m, n, k] : {std::array{40, 70, 70}, {1, 128 * 65 + 1, 20}, {1, 256 * 99 + 1, 20}}) {
    const product as_usual = cancelling(m, n, k);
    const dense expected = run(as_usual, {.accuracy = precision::strict});
    int turn = 0;
    each_placing(as_usual, [&](product p) {
      if (n > 1000 && turn++ % 4 != 1) return;
      for (const major by_c : {major::row, major::column}) {
        p.place_c = placed(by_c, p.c, 1);
        EXPECT_TRUE(same_bits(run(p, {.accuracy = precision::strict}), expected)) << m << " x " << n;
      }
    });
  }
}
// A column-major C is computed as its transpose, with the bits of that product.
TEST_P(gemm_bits, of_a_column_major_c_are_those_of_the_transposed_product) {
  for (const gemm_options& options : {gemm_options{}, {.policy = "fp16"}, {.policy = "fp16-mma"}}) {
    if (!runs(options)) continue;
    for (const auto& [m, n, k] : {std::array{4, 4, 32}, {133, 9, 200}}) {
      product p = cancelling(m, n, k);
      product turned = product_of(made(n, k, [&](auto j, auto at) { return p.b(at, j); }),
                                  made(k, m, [&](auto at, auto i) { return p.a(i, at); }), 1, 1);
      turned.c = made(n, m, [&](auto j, auto i) { return p.c(i, j); });
      p.place_c = placed(major::column, p.c, 1);
      const dense straight = run(p, options), across = run(turned, options);
      EXPECT_TRUE(same_bits(straight, made(m, n, [&](auto i, auto j) { return across(j, i); })))
          << options.policy;
    }
  }
}
// The products above do have recomputed outputs: lists of them, and a whole tile.
TEST_P(gemm_bits, are_looked_at_where_outputs_are_recomputed) {
  if (!runs({.policy = "fp16"})) GTEST_SKIP() << any().limits().name << " is not for it";
  for (const auto& [m, n, k] : shapes) {
    device_array<std::uint64_t> recomputed(any(), std::vector<std::uint64_t>{0});
    run(cancelling(m, n, k), {.policy = "fp16", .recomputed = recomputed.data()});
    EXPECT_GE(recomputed.to_host()[0], static_cast<std::uint64_t>(m * n) * 4 / 5)
        << m << " x " << n << " x " << k;
  }
}
TEST_P(gemm_bits, do_not_depend_on_who_brings_the_workspace) {
  const product p = cancelling(30, 40, 100, 0);
  const context where = any();
  matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
  const gemms::problem what{a.view(), b.view(), c.view()};
  device_array<std::byte> memory(where, gemm_workspace(where, what) + 4096);
  gemm(where, what, {.workspace = {memory.data(), memory.size()}});
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(same_bits(c.read(), run(p, {})));
}

AP_ON_BOTH_DEVICES(gemm_bits);

}  // namespace
}  // namespace antiphase::gemm_test
