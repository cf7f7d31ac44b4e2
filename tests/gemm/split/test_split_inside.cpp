// SPDX-License-Identifier: Apache-2.0
// Products that split an operand themselves, tile by tile, with scales that change on the way: the contract holds, whatever comes when.
#include <random>

#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

constexpr const char* policy = "split-inside";

// Where, and with how many blocks to a tile.
struct inside_on {
  const char* device;
  int cluster;
};
void PrintTo(const inside_on& s, std::ostream* out) { *out << s.device << ", cluster " << s.cluster; }

class split_inside : public on_device_with<inside_on> {
 protected:
  void SetUp() override {
    on_device_with::SetUp();
    if (!IsSkipped() && is_cuda() && any().limits().major != 9) GTEST_SKIP() << any().limits().name << " is not for policy " << policy;
  }
  std::string_view device() const override { return GetParam().device; }
  // A few tiles are shared by that many blocks.
  context here(unsigned seed = 1, landing copies = landing::mixed, int workers = 1) const {
    if (is_cuda()) return any();
    device_limits device = simulated_device();
    device.multiprocessors = GetParam().cluster == 1 ? 1 : GetParam().cluster == 2 ? 4 : GetParam().cluster == 4 ? 16 : 64;
    return context(make_cpu_executor({.seed = seed, .copies = copies, .workers = workers, .limits = device}));
  }
  dense inside(const product& p) const { return computed(here(), policy, p); }
};

// A as the copy engine takes it.
product product_of_rows(dense a, dense b, float alpha = 1, float beta = 0) {
  product p = product_of(std::move(a), std::move(b), alpha, beta);
  p.place_a = placed_in_packets(major::row, p.a);
  return p;
}

// shapes and layouts ----------------------------------------------------------------------------------------------------------------
TEST_P(split_inside, shapes_and_layouts) {
  unsigned seed = 1;
  for (const auto& [m, n, k] : {std::array{1, 1, 1}, {5, 3, 17}, {129, 127, 65}, {137, 30, 331}, {260, 131, 200}})
    for (const major by_b : {major::row, major::column})
      for (const major by_c : {major::row, major::column}) {
        seed += 2;
        product p = product_of_rows(reals(m, k, seed), reals(k, n, seed + 1), seed % 3 ? 1.f : -1.5f, seed % 4 == 1 ? 0.f : 0.75f);
        p.place_b = placed(by_b, p.b, seed % 5, static_cast<int>(seed / 4 % 4));
        p.place_c = placed(by_c, p.c, seed % 2, static_cast<int>(seed / 2 % 4));
        SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", seed " << seed);
        AP_EXPECT_KEPT(inside(p), p);
      }
}
// Few rows, many columns, which lie along k: then those are what the product splits itself.
TEST_P(split_inside, operands_that_change_places) {
  for (const major by_a : {major::row, major::column})
    for (const major by_c : {major::row, major::column}) {
      product p = product_of(reals(21, 150, 3), reals(150, 140, 4), 1.5f, -1);
      p.place_a = placed(by_a, p.a, 1, 1);
      p.place_b = placed_in_packets(major::column, p.b);
      p.place_c = placed(by_c, p.c, 3, 1);
      AP_EXPECT_KEPT(inside(p), p);
    }
}
TEST_P(split_inside, general_strides) {
  product p = product_of(reals(70, 90, 1), reals(90, 40, 2), -1.5f, 0.5f);
  p.place_a = {100, 1, 4};
  p.place_b = {3, 90 * 3 + 2, 2};
  p.place_c = {120, 3, 3};
  AP_EXPECT_KEPT(inside(p), p);
  p.place_c = {-44, 1, 0};  // written backwards
  AP_EXPECT_KEPT(inside(p), p);
}
TEST_P(split_inside, k_in_pieces) {
  if (sanitized) GTEST_SKIP() << "minutes of it under AddressSanitizer, for one more turn of a loop";
  if (!is_cuda() && GetParam().cluster != 2) GTEST_SKIP() << "half a minute of it, for a loop on the host";
  product p =
      product_of_rows(scaled(reals(3, 65536 + 100, 1), [](auto, auto k) { return k / 9000; }), reals(65536 + 100, 2, 2), 1.25f, 0.5f);
  AP_EXPECT_KEPT(inside(p), p);
}

// As many tiles as there are multiprocessors, half as many, a quarter ...: blocks of their own, clusters of two, of four.
TEST_P(split_inside, all_numbers_of_blocks_to_a_tile) {
  const context where = here();
  const int multiprocessors = where.limits().multiprocessors;
  if (!is_cuda() && multiprocessors != 4) GTEST_SKIP() << "many tiles for the CPU executor";
  for (const int divisor : {1, 2, 8, 32}) {
    if (divisor > multiprocessors) break;
    const std::int64_t m = multiprocessors / divisor * 128 - 5, k = 777;
    product p = product_of_rows(scaled(reals(m, k, 1), [](auto i, auto l) { return i % 4 == 0 ? 3 * ((l + i) / 64) : 0; }), reals(k, 50, 2),
                                1.5f, 0.5f);
    for (std::int64_t i = 0; i < m; i += 50) p.a(i, i % k) = 0x1p-60f;  // uncertain here and there
    for (std::int64_t i = 7; i < m; i += 90)
      for (std::int64_t l = 0; l < k; ++l) p.a(i, l) = l % 300 == 7 ? 1.25f : 0.f;
    p.a(m - 3, k - 1) = nan;
    SCOPED_TRACE(m);
    AP_EXPECT_KEPT(computed(where, policy, p), p);
  }
}

// scales that change ---------------------------------------------------------------------------------------------------------------
// Where the first element of a row has its largest exponent no scale ever changes, and the parts of A are those of the split pass.
TEST_P(split_inside, gives_the_bits_of_the_split_pass) {
  if (is_cuda() || GetParam().cluster != 1) GTEST_SKIP() << "the other product may share its tiles among other blocks";
  product p = product_of_rows(reals(150, 333, 1), reals(333, 45, 2), 1.5f, 0.5f);
  for (std::int64_t i = 0; i < 150; ++i) p.a(i, 0) = i % 2 ? 1.5f : -1.25f;
  EXPECT_TRUE(same_bits(inside(p), computed(here(), "split", p)));
  for (std::int64_t i = 0; i < 150; i += 7) p.a(i, (i * 31) % 300 + 5) = 0x1p-60f;  // certificates
  EXPECT_TRUE(same_bits(inside(p), computed(here(), "split", p)));
}
TEST_P(split_inside, rows_that_grow_in_every_stage) {
  for (int by = 1; by <= 12; ++by) {
    const product p = product_of_rows(scaled(reals(140, 333, 1), [&](auto i, auto k) { return i % 3 == 0 ? 0 : by * ((k + i) / 32); }),
                                      reals(333, 21, 2), by % 2 ? 1.f : -0.5f, by % 3 ? 0.f : 1.f);
    SCOPED_TRACE(by);
    AP_EXPECT_KEPT(inside(p), p);
  }
}
// What came early, and counts for little in its row, is all that some columns of B meet.
TEST_P(split_inside, early_elements_that_are_all_that_counts) {
  for (const int below : {1, 9, 20, 23, 24, 25, 26, 30, 50, 61, 80, 130, 200, 250})
    for (const int early : {3, 32, 40, 64, 150}) {
      const int up = below > 120 ? below - 120 : 0;
      product p = product_of_rows(scaled(reals(37, 190, 1), [&](auto, auto k) { return k < early ? up - below : up; }), reals(190, 30, 2));
      for (std::int64_t j = 0; j < 30; j += 2)
        for (std::int64_t k = early; k < 190; ++k) p.b(k, j) = 0;
      for (std::int64_t j = 0; j < 30; j += 5)
        for (std::int64_t k = 0; k < early; ++k) p.b(k, j) *= 0x1p30f;
      SCOPED_TRACE(testing::Message() << below << ", " << early);
      AP_EXPECT_KEPT(inside(p), p);
    }
}
TEST_P(split_inside, graded_lines_that_meet) {
  for (const int by : {1, -1})
    for (const int spread : {30, 60, 120}) {
      const product p = product_of_rows(scaled(reals(140, 221, 1), [&](auto, auto k) { return by * spread * (k - 110) / 220; }),
                                        scaled(reals(221, 35, 2), [&](auto k, auto) { return -by * spread * (k - 110) / 220; }), 1.25f, -1);
      SCOPED_TRACE(spread * by);
      AP_EXPECT_KEPT(inside(p), p);
    }
}
TEST_P(split_inside, sums_that_cancel) {
  product p = product_of_rows(scaled(reals(35, 300, 1), [](auto i, auto k) { return (k + i) / 50; }), reals(300, 33, 2));
  for (std::int64_t i = 0; i < 35; ++i)
    for (std::int64_t k = 0; k < 300; k += 2) p.a(i, k + 1) = -p.a(i, k);
  for (std::int64_t j = 0; j < 33; ++j)
    for (std::int64_t k = 0; k < 300; k += 2) p.b(k + 1, j) = p.b(k, j);
  AP_EXPECT_KEPT(inside(p), p);
  p.a = scaled(p.a, [](auto, auto k) { return k % 8 < 2 ? -32 : 0; });
  AP_EXPECT_KEPT(inside(p), p);
}
// Tiny elements among large ones, at first and later.
TEST_P(split_inside, both_sides_of_tiny) {
  for (const int below : {26, 27, 28, 29, 40}) {
    const product p = product_of_rows(scaled(reals(40, 164, 1), [&](auto i, auto k) { return k == 4 * i ? 0 : -below; }),
                                      scaled(reals(164, 40, 2), [&](auto k, auto j) { return k == 4 * j + 4 ? 0 : -below; }));
    SCOPED_TRACE(below);
    AP_EXPECT_KEPT(inside(p), p);
  }
}
TEST_P(split_inside, both_sides_of_the_certificate) { expect_kept_at_the_certificate(here(), policy); }
// The norm of a row is what bounds how much tiny elements of B can hurt.
TEST_P(split_inside, tiny_elements_of_b_that_meet_large_rows) {
  product p = product_of_rows(scaled(reals(40, 260, 1), [](auto i, auto k) { return i % 2 ? k / 40 : 0; }), reals(260, 30, 2));
  for (std::int64_t j = 0; j < 30; ++j)
    for (std::int64_t k = 0; k < 260; ++k)
      if (k != (j * 41) % 260) p.b(k, j) *= j % 3 ? 0x1p-28f : 0x1p-40f;
  for (std::int64_t i = 0; i < 40; i += 3)
    for (std::int64_t j = 0; j < 30; j += 4) p.a(i, (j * 41) % 260) = 0;
  AP_EXPECT_KEPT(inside(p), p);
}

// special values -------------------------------------------------------------------------------------------------------------------
TEST_P(split_inside, rows_that_begin_with_zeros) {
  for (const int zeros : {1, 31, 32, 33, 64, 100, 199, 200}) {
    const product p =
        product_of_rows(made(140, 200,
                             [&](auto i, auto k) {
                               return k < zeros - i % 2 ? (k % 2 ? -0. : 0.) : static_cast<double>((i * 37 + k * 11) % 101 - 50) * 0.03;
                             }),
                        reals(200, 19, 2));
    SCOPED_TRACE(zeros);
    AP_EXPECT_KEPT(inside(p), p);
  }
}
TEST_P(split_inside, infinities_and_nan_follow_ieee) {
  for (const std::int64_t k : {0, 20, 40, 90, 150, 199}) {
    product p = product_of_rows(reals(150, 200, 1), reals(200, 40, 2), 1, 0.5f);
    p.a(3, k) = infinity;
    p.a(140, k) = nan;
    p.a(77, 0) = -infinity;
    p.a(78, k) = -nan;
    p.b(k, 30) = infinity;
    p.b(k, 2) = 0;
    for (std::int64_t l = 0; l < 200; ++l) p.b(l, 25) = 0;  // a column of zeros: infinity times 0
    for (std::int64_t l = 0; l < 200; ++l) p.a(20, l) = 0;
    SCOPED_TRACE(k);
    AP_EXPECT_KEPT(inside(p), p);
  }
}
TEST_P(split_inside, lines_of_few_nonzeros_are_rounded_once) {
  const std::int64_t m = 150, n = 40, k = 300;
  product p = product_of_rows(dense{m, k}, reals(k, n, 4), -1.5f, 2);
  for (std::int64_t i = 0; i < m; ++i)
    for (int e = 0; e < i % 5; ++e)
      p.a(i, (i * 13 + e * 41) % k) = std::ldexp(static_cast<float>(i + e + 1) * 0.37f, static_cast<int>(i % 7) * e);
  for (std::int64_t j = 0; j < n; j += 3)
    for (std::int64_t l = 0; l < k; ++l)
      if (l % 100 != j) p.b(l, j) = 0;
  const dense c = inside(p);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += static_cast<double>(p.a(i, l)) * p.b(l, j);
      EXPECT_EQ(c(i, j), std::fma(2.f, p.c(i, j), -1.5f * static_cast<float>(sum))) << i << ", " << j;
    }
}
TEST_P(split_inside, identities_and_integers_are_exact) {
  const std::int64_t n = 135;
  for (const bool one : {true, false}) {
    product p = product_of_rows(made(n, n, [&](auto i, auto j) { return one                    ? i == j
                                                                        : (i * 7 + 3) % n == j ? -2.5
                                                                                               : 0; }),
                                scaled(reals(n, n, 8), [](auto i, auto j) { return (i * 31 + j * 17) % 100 - 50; }));
    EXPECT_TRUE(same(inside(p), expected(p)));
  }
  const product p = product_of_rows(made(140, 190, [](auto i, auto k) { return (i * 37 + k * 101) % 4097 - 2048; }),
                                    made(190, 40, [](auto k, auto j) { return (k * 53 + j * 29) % 33 - 16; }));
  EXPECT_TRUE(same(inside(p), expected(p)));
}
TEST_P(split_inside, ends_of_the_range) {
  for (const auto& [of_a, of_b] : {std::pair{-149, 0}, {-140, 20}, {-115, 3}, {-100, -40}, {127, -149}, {127, -3}, {60, 67}, {-70, -79}}) {
    const product p = product_of_rows(
        scaled(reals(70, 133, 1), [&](auto i, auto k) { return of_a + (of_a < 0 ? k / 40 * 3 : 0) - (of_a > 0 ? i % 3 : 0); }),
        scaled(reals(133, 45, 2), [&](auto, auto j) { return of_b - j % 5; }));
    SCOPED_TRACE(testing::Message() << of_a << ", " << of_b);
    AP_EXPECT_KEPT(inside(p), p);
  }
}
// From the smallest number to the largest.
TEST_P(split_inside, rows_that_grow_through_all_of_the_range) {
  for (const int stages : {1, 2, 4}) {
    const product p =
        product_of_rows(scaled(reals(70, 600, 1),
                               [&](auto i, auto k) { return std::min<std::int64_t>(-149 + (i % 2 ? 60 : 13) * (k / (32 * stages)), 120); }),
                        scaled(reals(600, 25, 2), [](auto k, auto j) { return j % 2 ? -40 : 0 * k; }));
    SCOPED_TRACE(stages);
    AP_EXPECT_KEPT(inside(p), p);
  }
}
TEST_P(split_inside, uncertain_outputs) {
  for (const std::int64_t uncertain : {1, 16, 512, 513, 1000}) {
    const std::int64_t m = 128, n = 120, k = 170;
    product p = product_of_rows(reals(m, k, 3), reals(k, n, 4), 1, 1);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < k; ++j) p.a(i, j) = std::ldexp(p.a(i, j), -40);
      const std::int64_t late = uncertain % 2 ? 100 : 0;
      p.a(i, late) = 1;
      p.a(i, late + 1) = i * n < uncertain ? -1 : 1;
    }
    for (std::int64_t j = 0; j < n; ++j) p.b(0, j) = p.b(1, j) = p.b(100, j) = p.b(101, j) = 1;
    SCOPED_TRACE(uncertain);
    AP_EXPECT_KEPT(inside(p), p);
  }
}

// the same bits ----------------------------------------------------------------------------------------------------------------------
TEST_P(split_inside, every_schedule_gives_the_same_bits) {
  product p = product_of_rows(scaled(reals(150, 500, 1), [](auto i, auto k) { return i % 7 == 0 ? k / 30 : 0; }), reals(500, 37, 2), 1, 1);
  const dense first = inside(p);
  if (is_cuda()) {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(same_bits(inside(p), first));
    return;
  }
  EXPECT_TRUE(same_bits(computed(here(77, landing::early), policy, p), first));
  EXPECT_TRUE(same_bits(computed(here(4242, landing::late, 2), policy, p), first));
}
TEST_P(split_inside, the_gpu_and_the_cpu_give_the_same_bits) {
  if (!is_cuda()) GTEST_SKIP() << "compares a GPU with the CPU executor";
  for (const auto& [m, n, k] : {std::array{300, 200, 1000}, {129, 13, 333}, {1300, 120, 900}}) {
    const product p =
        product_of_rows(scaled(reals(m, k, 1), [](auto i, auto c) { return i % 5 ? c / 100 : 0; }), reals(k, n, 2), 1.5f, 0.5f);
    device_limits device = simulated_device();
    device.multiprocessors = any().limits().multiprocessors;  // they decide how many blocks share a tile
    EXPECT_TRUE(same_bits(computed(context(make_cpu_executor({.limits = device})), policy, p), inside(p))) << m << " x " << n << " x " << k;
  }
}

// many -------------------------------------------------------------------------------------------------------------------------------
TEST_P(split_inside, random_products) {
  const int cases = is_cuda() ? 2000 : 25;
  std::mt19937 generator(20261120 + static_cast<unsigned>(GetParam().cluster));
  const auto random = [&] { return static_cast<unsigned>(generator()); };
  const auto upto = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int i = 0; i < cases && !HasFailure(); ++i) {
    const int m = 1 + upto(170), n = 1 + upto(170), k = 1 + upto(upto(4) == 0 ? 900 : 250);
    const int spread = upto(3) == 0 ? 80 : 1, growth = upto(3) == 0 ? upto(30) : 0, period = 1 + upto(100);
    product p = product_of_rows(
        scaled(reals(m, k, random()),
               [&](auto r, auto c) { return std::min<std::int64_t>((r * 7 + c * 13) % spread + growth * (c / period), 100); }),
        scaled(reals(k, n, random()), [&](auto r, auto c) { return -((r * 11 + c * 3) % spread); }), upto(2) ? 1.f : -1.25f,
        upto(2) ? 0.f : 0.75f);
    const auto place = [&](const dense& d) { return placed(upto(2) ? major::row : major::column, d, upto(5), upto(4)); };
    p.place_b = place(p.b), p.place_c = place(p.c);
    SCOPED_TRACE(testing::Message() << "case " << i << ": " << m << " x " << n << " x " << k << ", spread " << spread << ", growth "
                                    << growth << " every " << period);
    AP_EXPECT_KEPT(inside(p), p);
  }
}

const auto names = [](const auto& info) { return "cluster_" + std::to_string(info.param.cluster); };
INSTANTIATE_TEST_SUITE_P(Cpu, split_inside,
                         testing::Values(inside_on{"cpu", 1}, inside_on{"cpu", 2}, inside_on{"cpu", 4}, inside_on{"cpu", 8}), names);
INSTANTIATE_TEST_SUITE_P(Cuda, split_inside, testing::Values(inside_on{"cuda", 0}), [](const auto&) { return std::string("as_planned"); });

// which one is chosen ------------------------------------------------------------------------------------------------------------------
context simulated(int multiprocessors) {
  device_limits device = simulated_device();
  device.multiprocessors = multiprocessors;
  return context(make_cpu_executor({.limits = device}));
}
gemm_choice chosen(std::int64_t m, std::int64_t n, std::int64_t k, major by_a = major::row, major by_b = major::row, int offset = 0,
                   std::string_view by = "auto") {
  alignas(16) static float x[8] = {}, y[4] = {}, z[4] = {};
  const auto view = [](float* data, std::int64_t rows, std::int64_t columns, major by_what) {
    return by_what == major::row ? matrix_view<const float>{data, rows, columns, columns, 1}
                                 : matrix_view<const float>{data, rows, columns, 1, rows};
  };
  return explain(simulated(132), {.a = view(x + offset, m, k, by_a), .b = view(y, k, n, by_b), .c = row_major(z, m, n)}, {.policy = by});
}
TEST(split_inside_choice, for_narrow_products_by_itself) {
  EXPECT_EQ(chosen(4096, 256, 7168).kernel, policy);
  EXPECT_EQ(chosen(8192, 256, 1024).kernel, policy);
  EXPECT_EQ(chosen(128, 5000, 4000, major::row, major::column).kernel, policy) << "operands change places";
  EXPECT_EQ(chosen(256, 4096, 7168).kernel, "narrow") << "the long operand does not lie along k";
  EXPECT_NE(chosen(2048, 256, 7168).kernel, policy) << "few rows";
  EXPECT_EQ(chosen(4096, 257, 7168).kernel, "split") << "three tiles along the shorter side";
  EXPECT_NE(chosen(4096, 256, 1020).kernel, policy) << "short sums";
  EXPECT_EQ(chosen(8576, 256, 7168).kernel, "split") << "more tiles than multiprocessors";
}
TEST(split_inside_choice, if_asked_for) {
  const auto asked = [](auto... of) { return chosen(of..., policy); };
  const gemm_choice narrow = asked(4096, 256, 7168, major::row, major::row, 0);
  EXPECT_EQ(narrow.kernel, policy);
  EXPECT_EQ(narrow.cluster, 2);
  EXPECT_EQ(narrow.blocks, 128u);
  EXPECT_LT(narrow.workspace, chosen(4096, 256, 7168, major::row, major::row, 0, "split").workspace / 4) << "A's parts take none";
  EXPECT_EQ(asked(256, 4096, 7168, major::row, major::column, 0).kernel, policy) << "operands change places";
  EXPECT_THROW(asked(4096, 256, 7168, major::column, major::row, 0), not_supported) << "neither lies along k";
  EXPECT_THROW(asked(64, 32, 512, major::row, major::row, 1), not_supported) << "from an odd address";
  EXPECT_THROW(asked(64, 32, 510, major::row, major::row, 0), not_supported) << "in odd strides";
}
TEST(split_inside_choice, workspace_grows_with_the_problem) {
  const context where = simulated(132);
  alignas(16) float one[4] = {};
  for (const std::string_view by : {std::string_view("auto"), std::string_view(policy)}) {
    const auto bytes = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      float other = 0;
      return gemm_workspace(where, {.a = {one, m, k, (k + 3) / 4 * 4, 1}, .b = {one, k, n, n, 1}, .c = {&other, m, n, n, 1}},
                            {.policy = by});
    };
    const auto expect_growth = [&](auto bytes_of, std::int64_t begin, std::int64_t end, std::int64_t step) {
      for (std::int64_t i = begin, last = 0; i < end; i += step) {
        const auto now = static_cast<std::int64_t>(bytes_of(i));
        ASSERT_GE(now, last) << by << ", " << i;
        last = now;
      }
    };
    expect_growth([&](std::int64_t m) { return bytes(m, 128, 512); }, 1, 20000, 3);
    expect_growth([&](std::int64_t n) { return bytes(4096, n, 512); }, 1, 5000, 1);
    expect_growth([&](std::int64_t n) { return bytes(n + 2, n, 1 << 20); }, 1, 900, 1);
    expect_growth([&](std::int64_t k) { return bytes(4096, 100, k); }, 17, 3000, 1);
  }
}

}  // namespace
}  // namespace antiphase::gemm_test
