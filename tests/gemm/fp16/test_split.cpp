// SPDX-License-Identifier: Apache-2.0
// Precision fp32: products of split operands keep their contract for every input, and are the same bits in
// every run.
#include <random>

#include "tests/gemm/contract.hpp"

namespace antiphase::gemm_test {
namespace {

// Where, and what multiplies: policy fp16, or split-mma.
struct split_on {
  const char *device, *policy;
};
void PrintTo(const split_on& s, std::ostream* out) { *out << s.device << " " << s.policy; }

class gemm_split : public on_device_with<split_on> {
 protected:
  void SetUp() override {
    on_device_with::SetUp();
    // What differs between the two there is what they access, not what they compute.
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    if (sanitized && policy() == "fp16-mma" && !name.starts_with("shapes_and_layouts") &&
        !name.starts_with("general_strides"))
      GTEST_SKIP() << "under AddressSanitizer by the other policy";
    if (IsSkipped() || !is_cuda()) return;
    const device_limits device = any().limits();
    if (policy() == "fp16" ? device.major != 9 : device.major < 8)
      GTEST_SKIP() << device.name << " is not for policy " << policy();
  }
  std::string_view device() const override { return GetParam().device; }
  std::string_view policy() const { return GetParam().policy; }
  dense split(const context& where, const product& p) const { return computed(where, policy(), p); }
  dense split(const product& p) const { return split(any(), p); }
  // Whether several blocks have a tile of a small product, each with a list of its own.
  bool shares_tiles() const { return policy() == "fp16" && any().limits().multiprocessors > 8; }
};

// shapes and layouts
// -----------------------------------------------------------------------------------------------------------
TEST_P(gemm_split, shapes_and_layouts) {
  const auto plain = [](int m, int n, int k, unsigned seed) {
    return product_of(reals(m, k, seed), reals(k, n, seed + 1));
  };
  in_all_layouts({{1, 1, 1}, {5, 3, 17}, {129, 127, 65}, {37, 300, 131}, {260, 131, 200}}, plain,
                 [&](const product& p) { AP_EXPECT_KEPT(split(p), p); });
}
TEST_P(gemm_split, general_strides) {
  const product p = product_of_general_strides(90);
  AP_EXPECT_KEPT(split(p), p);
}
TEST_P(gemm_split, outputs_written_backwards) {
  written_backwards(product_of(reals(140, 90, 1), reals(90, 150, 2)),
                    [&](const product& p) { AP_EXPECT_KEPT(split(p), p); });
}
// Rows of C that begin at any of the eight floats of a sector, all at the same one or each at another: whole
// tiles and those at the edges.
TEST_P(gemm_split, rows_begin_anywhere_in_a_sector) {
  product p = product_of(reals(140, 65, 1), reals(65, 264, 2));
  const dense expected = split(p);
  AP_EXPECT_KEPT(expected, p);
  for (int offset = 0; offset < 8; ++offset)
    for (const int padding : {0, 1, 3, 4}) {
      if (sanitized && (offset + padding) % 3 != 0) continue;
      p.place_c = placed(major::row, p.c, padding, offset);
      EXPECT_TRUE(same_bits(split(p), expected))
          << offset << " floats off, rows " << 264 + padding << " apart";
    }
}
TEST_P(gemm_split, rows_that_are_updated_begin_anywhere_in_a_sector) {
  for (const auto& [alpha, beta] : {std::pair{1.f, 1.f}, {-1.5f, 0.75f}, {2.f, 0.f}}) {
    product p = product_of(reals(140, 65, 1), reals(65, 264, 2), alpha, beta);
    if (beta == 0) p.c = filled(140, 264, nan);
    p.place_c = placed_in_packets(major::row, p.c);
    const dense expected = split(p);
    AP_EXPECT_KEPT(expected, p);
    for (int offset = 0; offset < 8; ++offset)
      for (const int padding : {0, 3}) {
        if (sanitized && (offset + padding) % 3 != 0) continue;
        p.place_c = placed(major::row, p.c, padding, offset);
        EXPECT_TRUE(same_bits(split(p), expected))
            << "beta " << beta << ", " << offset << " floats off, rows " << 264 + padding << " apart";
      }
  }
}
TEST_P(gemm_split, operands_that_repeat_one_line) {
  product p = product_of(filled(40, 50, 0), reals(50, 60, 3));
  const dense line = reals(1, 50, 9);
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t k = 0; k < 50; ++k) p.a(i, k) = line(0, k);
  p.place_a = {0, 1};  // a row for all
  AP_EXPECT_KEPT(split(p), p);
}
TEST_P(gemm_split, scales) {
  for (const float alpha : {1.f, -1.5f, 0x1p-100f})
    for (const float beta : {0.f, 1.f, -0.7f}) {
      const product p = product_of(reals(131, 70, 5), reals(70, 45, 6), alpha, beta);
      SCOPED_TRACE(testing::Message() << "alpha " << alpha << " beta " << beta);
      AP_EXPECT_KEPT(split(p), p);
    }
}
TEST_P(gemm_split, beta_of_0_leaves_c_unread) {
  for (const float beta : {0.f, -0.f})
    for (const float junk : {nan, infinity}) {
      product p = product_of(reals(131, 70, 5), reals(70, 45, 6), 1, beta);
      p.a(3, 0) = 0x1p-60f;  // and where outputs are computed again
      p.c = filled(131, 45, junk);
      AP_EXPECT_KEPT(split(p), p);
    }
}
TEST_P(gemm_split, k_in_pieces) {
  if (sanitized) GTEST_SKIP() << "minutes of it under AddressSanitizer, for one more turn of a loop";
  if (!is_cuda() && policy() == "fp16-mma")
    GTEST_SKIP() << "half a minute of it, for a loop on the host that both policies share";
  product p = product_of(reals(3, 65536 + 100, 1), reals(65536 + 100, 2, 2), 1.25f, 0.5f);
  AP_EXPECT_KEPT(split(p), p);
  const gemm_choice choice = explain(any(),
                                     {.a = {p.a.value.data(), 3, 65636, 65636, 1},
                                      .b = {p.b.value.data(), 65636, 2, 2, 1},
                                      .c = {p.c.value.data(), 3, 2, 2, 1}},
                                     {.policy = policy()});
  EXPECT_EQ(choice.kernel, policy());
  EXPECT_THAT(choice.why, testing::Contains(testing::HasSubstr("pieces of 65536")));
}

TEST_P(gemm_split, nothing_to_multiply) {
  product p = product_of(reals(5, 3, 1), reals(3, 7, 2), 0, -0.5f);
  EXPECT_TRUE(same(split(p), expected(p)));
  p = product_of(dense{5, 0}, dense{0, 7}, 1, 2);
  EXPECT_TRUE(same(split(p), expected(p)));
}

// exact where users expect it
// ------------------------------------------------------------------------------------------------------
TEST_P(gemm_split, identity_and_permutations_are_exact) {
  const std::int64_t n = 135;
  const dense identity = made(n, n, [](auto i, auto j) { return i == j; });
  const dense permutation = made(n, n, [&](auto i, auto j) { return (i * 7 + 3) % n == j ? -2.5 : 0; });
  for (const dense& left : {identity, permutation}) {
    product p =
        product_of(left, scaled(reals(n, n, 8), [](auto i, auto j) { return (i * 31 + j * 17) % 100 - 50; }));
    EXPECT_TRUE(same(split(p), expected(p)));
    std::swap(p.a, p.b);
    EXPECT_TRUE(same(split(p), expected(p)));
  }
}
TEST_P(gemm_split, lines_of_few_nonzeros_are_rounded_once) {
  const std::int64_t m = 150, n = 140, k = 200;
  product p = product_of(dense{m, k}, reals(k, n, 4), -1.5f, 2);
  for (std::int64_t i = 0; i < m; ++i)
    for (int e = 0; e < i % 5; ++e) p.a(i, (i * 13 + e * 41) % k) = static_cast<float>(i + e + 1) * 0.37f;
  const dense c = split(p);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += static_cast<double>(p.a(i, l)) * p.b(l, j);
      EXPECT_EQ(c(i, j), std::fma(2.f, p.c(i, j), -1.5f * static_cast<float>(sum))) << i << ", " << j;
    }
}
TEST_P(gemm_split, integers_of_eleven_bits_are_exact) {
  const product p = product_of(made(140, 90, [](auto i, auto k) { return (i * 37 + k * 101) % 4097 - 2048; }),
                               made(90, 70, [](auto k, auto j) { return (k * 53 + j * 29) % 129 - 64; }));
  EXPECT_TRUE(same(split(p), expected(p)));
}

// what cannot be certified
// -----------------------------------------------------------------------------------------------------------
TEST_P(gemm_split, graded_lines_that_meet) {
  const auto down = [](auto, auto k) { return 60 - k; };
  const auto up = [](auto k, auto) { return k - 60; };
  const product p = product_of(scaled(reals(140, 121, 1), down), scaled(reals(121, 135, 2), up), 1.25f, -1);
  AP_EXPECT_KEPT(split(p), p);
}
TEST_P(gemm_split, an_outlier_that_meets_a_tiny_row) {
  const product p = product_of(scaled(reals(40, 100, 1), [](auto, auto k) { return k == 7 ? 40 : 0; }),
                               scaled(reals(100, 30, 2), [](auto k, auto) { return k == 7 ? -40 : 0; }));
  AP_EXPECT_KEPT(split(p), p);
}
TEST_P(gemm_split, sums_that_cancel) {
  product p = product_of(reals(35, 200, 1), reals(200, 33, 2));
  for (std::int64_t i = 0; i < 35; ++i)
    for (std::int64_t k = 0; k < 200; k += 2) p.a(i, k + 1) = -p.a(i, k);
  for (std::int64_t j = 0; j < 33; ++j)
    for (std::int64_t k = 0; k < 200; k += 2) p.b(k + 1, j) = p.b(k, j);
  // some tiny elements, or there would be nothing to certify
  p.a = scaled(p.a, [](auto, auto k) { return k % 8 < 2 ? -32 : 0; });
  AP_EXPECT_KEPT(split(p), p);
}
// Row i of A cancels on the columns of B below some number, so that an exact number of outputs of a tile is
// uncertain: as many as there are notes for, one more, and a few.
TEST_P(gemm_split, as_many_uncertain_outputs_as_there_is_room_for) {
  for (const std::int64_t uncertain : {1, 16, 17, 511, 512, 513, 1000}) {
    const std::int64_t m = 128, n = 128, k = 70;
    product p = product_of(reals(m, k, 3), reals(k, n, 4), 1, 1);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < k; ++j) p.a(i, j) = std::ldexp(p.a(i, j), -40);
      const std::int64_t here = std::clamp<std::int64_t>(uncertain - i * n, 0, n);
      p.a(i, 0) = 1;
      p.a(i, 1) = here > 0 ? -1 : 1;
      if (here > 0 && here < n) p.a(i, 2) = 1;
    }
    for (std::int64_t j = 0; j < n; ++j) {
      p.b(0, j) = p.b(1, j) = 1;
      p.b(2, j) = j < uncertain % n ? 0.f : 1.f;
    }
    SCOPED_TRACE(uncertain);
    AP_EXPECT_KEPT(split(p), p);
  }
}
// Rows of 1, -1 and next to nothing, whose sums cancel on all columns, while |A||B| is large. Of the columns
// some are so small where they meet these that nothing certifies their outputs: they are computed again, by a
// list or with all of the tile. The two elements lie in different steps of K, which are looked at one after
// the other; and C is read in none of the products, or in all.
TEST_P(gemm_split, outputs_are_certified_by_their_magnitudes) {
  const std::int64_t m = 130, n = 140, k = 530;
  for (const float beta : {0.f, 1.f})
    for (const auto& [rows, small, first, second] : {std::array{130, 0, 0, 1},
                                                     {130, 3, 33, 500},
                                                     {60, 0, 500, 529},
                                                     {129, 1, 96, 97},
                                                     {20, 12, 64, 65}}) {
      product p = product_of(reals(m, k, 3), reals(k, n, 4), 1, beta);
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t at = 0; at < k; ++at) p.a(i, at) *= 0x1p-40f;
        p.a(i, first) = 1, p.a(i, second) = -1;
      }
      for (std::int64_t j = 0; j < n; ++j) {
        p.b(k / 2, j) = 8;
        p.b(first, j) = p.b(second, j) = j % 50 < small ? 0x1p-36f : 0.75f;
      }
      if (beta == 0) p.c = filled(m, n, nan);
      SCOPED_TRACE(testing::Message()
                   << rows << " rows, " << small << " of 50 columns are small, beta " << beta);
      device_array<std::uint64_t> recomputed(any(), std::vector<std::uint64_t>{0});
      AP_EXPECT_KEPT(computed(any(), policy(), p, recomputed.data()), p);
      std::int64_t expected = 0;  // tile by tile: those of 128 or fewer are a list at once
      for (std::int64_t top = 0; top < m; top += 128)
        for (std::int64_t left = 0; left < n; left += 128) {
          const std::int64_t down = std::clamp<std::int64_t>(rows - top, 0, 128),
                             across = std::min<std::int64_t>(n - left, 128);
          std::int64_t failing = 0;
          for (std::int64_t j = left; j < left + across; ++j) failing += j % 50 < small;
          expected += beta == 0 && down * across > 128 ? down * failing : down * across;
        }
      if (!shares_tiles()) {
        EXPECT_EQ(recomputed.to_host()[0], static_cast<std::uint64_t>(expected));
      }
    }
}
TEST_P(gemm_split, infinities_among_outputs_that_cancel) {
  const std::int64_t m = 140, n = 150, k = 300;
  product p = product_of(reals(m, k, 3), reals(k, n, 4));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t at = 0; at < k; ++at) p.a(i, at) *= 0x1p-40f;
    p.a(i, 0) = 1, p.a(i, 290) = -1;
  }
  for (std::int64_t j = 0; j < n; ++j) p.b(0, j) = p.b(290, j) = 0.75f;
  p.a(3, 7) = infinity, p.a(139, 299) = nan, p.b(9, 149) = -infinity, p.b(0, 20) = nan;
  AP_EXPECT_KEPT(split(p), p);
}
// Their sums are 0 whatever their scale, and no thread computes them again.
TEST_P(gemm_split, lines_of_zeros) {
  for (const float beta : {0.f, 0.5f}) {
    product p = product_of(scaled(reals(150, 90, 1), [](auto, auto k) { return k % 9 == 0 ? -35 : 0; }),
                           reals(90, 140, 2), 1.5f, beta);
    for (std::int64_t i = 0; i < 150; i += 7)
      for (std::int64_t k = 0; k < 90; ++k) p.a(i, k) = k % 2 == 0 ? 0.f : -0.f;
    for (std::int64_t j = 3; j < 140; j += 11)
      for (std::int64_t k = 0; k < 90; ++k) p.b(k, j) = 0;
    if (beta == 0) p.c = filled(150, 140, nan);
    device_array<std::uint64_t> recomputed(any(), std::vector<std::uint64_t>{0});
    const dense c = computed(any(), policy(), p, recomputed.data());
    AP_EXPECT_KEPT(c, p);
    EXPECT_EQ(recomputed.to_host()[0], 0u);
    for (std::int64_t i = 0; i < 150; ++i)
      for (std::int64_t j = 0; j < 140; ++j)
        if (i % 7 == 0 || j % 11 == 3) {
          EXPECT_EQ(c(i, j), beta == 0 ? 0 : beta * p.c(i, j)) << i << ", " << j;
        }
  }
}
TEST_P(gemm_split, lines_of_zeros_beside_infinities_and_few_nonzeros) {
  product p = product_of(reals(40, 70, 1), reals(70, 50, 2), 1, 1);
  for (std::int64_t k = 0; k < 70; ++k) {
    p.a(5, k) = p.a(6, k) = p.b(k, 7) = p.b(k, 8) = 0;
    if (k % 25 != 3) p.a(9, k) = p.b(k, 11) = 0;
  }
  p.a(6, 69) = 0x1p-140f;
  p.a(10, 3) = infinity, p.b(4, 12) = nan;
  AP_EXPECT_KEPT(split(p), p);
}
TEST_P(gemm_split, infinities_and_nan_follow_ieee) {
  const product p = product_with_infinities(80);
  AP_EXPECT_KEPT(split(p), p);
}
TEST_P(gemm_split, ends_of_the_range) {
  at_the_ends_of_the_range(33, [&](const product& p) { AP_EXPECT_KEPT(split(p), p); });
}
TEST_P(gemm_split, both_sides_of_tiny) {
  for (const int below : {26, 27, 28, 29, 40}) {
    const product p =
        product_of(scaled(reals(40, 64, 1), [&](auto i, auto k) { return k == i ? 0 : -below; }),
                   scaled(reals(64, 40, 2), [&](auto k, auto j) { return k == j + 1 ? 0 : -below; }));
    SCOPED_TRACE(below);
    AP_EXPECT_KEPT(split(p), p);
  }
}

// Where the certificate decides: what it lets pass keeps the guarantee by a little, and what it does not let
// pass would break it.
TEST_P(gemm_split, both_sides_of_the_certificate) { expect_kept_at_the_certificate(any(), policy()); }

// the same bits
// -----------------------------------------------------------------------------------------------------------
TEST_P(gemm_split, every_schedule_gives_the_same_bits) {
  product p =
      product_of(scaled(reals(150, 200, 1), [](auto i, auto k) { return i % 7 == 0 ? -(k % 50) : 0; }),
                 reals(200, 137, 2), 1, 1);
  const dense first = split(p);
  for (const context& where : several()) EXPECT_TRUE(same_bits(split(where, p), first));
}
TEST_P(gemm_split, the_gpu_and_the_cpu_give_the_same_bits) {
  if (!is_cuda()) GTEST_SKIP() << "compares a GPU with the CPU executor";
  for (const auto& [m, n, k] : {std::array{300, 200, 1000}, {129, 513, 333}}) {
    const product p = product_of(reals(m, k, 1), reals(k, n, 2), 1.5f, 0.5f);
    device_limits device = simulated_device();
    device.multiprocessors = any().limits().multiprocessors;  // they decide how many blocks share a tile
    const context simulated(make_cpu_executor({.limits = device}));
    EXPECT_TRUE(same_bits(split(simulated, p), split(p)));
  }
}
// Blocks that share a tile, from none to eight of them.
TEST_P(gemm_split, tiles_that_blocks_share) {
  for (const int multiprocessors : {1, 2, 8, 32}) {
    if (sanitized && multiprocessors != 2) continue;
    device_limits device = simulated_device();
    device.multiprocessors = multiprocessors;
    const context where = is_cuda() ? any() : context(make_cpu_executor({.limits = device}));
    const product p = product_of(reals(100, 700, 1), reals(700, 90, 2), 1.5f, 0.5f);
    SCOPED_TRACE(multiprocessors);
    AP_EXPECT_KEPT(split(where, p), p);
    product hard = product_of(scaled(reals(100, 700, 1), [](auto, auto k) { return k % 100 - 50; }),
                              scaled(reals(700, 90, 2), [](auto k, auto) { return 50 - k % 100; }), 1, 1);
    for (std::int64_t k = 0; k < 700; ++k) hard.a(5, k) = k == 3;
    AP_EXPECT_KEPT(split(where, hard), hard);
  }
}

// Three tiles more than persistent blocks take in whole rounds: clusters share those, in a launch of their
// own.
TEST_P(gemm_split, tiles_left_over_are_shared) {
  if (policy() != "fp16") GTEST_SKIP() << "only blocks of warpgroups share tiles";
  if (sanitized)
    GTEST_SKIP() << "a minute of it under AddressSanitizer, for kernels that other tests run there";
  device_limits device = simulated_device();
  device.multiprocessors = 8;
  const context where = is_cuda() ? any() : context(make_cpu_executor({.limits = device}));
  const std::int64_t tiles = where.limits().multiprocessors + 3, m = tiles * 128 - 37, n = 70, k = 1300;
  product p = product_of(reals(m, k, 1), reals(k, n, 2), 1.5f, 0.5f);
  for (std::int64_t i = 0; i < m; i += 50) p.a(i, i % k) = 0x1p-60f;  // uncertain here and there
  // and a line of few nonzeros in the last tile
  for (std::int64_t l = 0; l < k; ++l) p.a(m - 3, l) = l == 7;
  const dense c = split(where, p);
  AP_EXPECT_KEPT(c, p);
  // The first tiles have the bits that they have where no others are left over.
  product alone = product_of(p.a, p.b, p.alpha, p.beta);
  alone.a.rows = alone.c.rows = (tiles - 3) * 128;
  alone.a.value.resize(static_cast<std::size_t>(alone.a.rows * k));
  alone.c.value.resize(static_cast<std::size_t>(alone.c.rows * n));
  alone.place_a = placed(major::row, alone.a), alone.place_c = placed(major::row, alone.c);
  dense first = c;
  first.rows = alone.c.rows;
  first.value.resize(alone.c.value.size());
  EXPECT_TRUE(same_bits(split(where, alone), first));
  const auto why = [&](std::int64_t rows, std::int64_t depth) {
    float in = 0, out = 0;
    return explain(
               where,
               {.a = {&in, rows, depth, depth, 1}, .b = {&in, depth, n, n, 1}, .c = {&out, rows, n, n, 1}},
               {.policy = "fp16"})
        .why;
  };
  const auto says_so = testing::Contains(testing::HasSubstr("3 tiles are left over"));
  EXPECT_THAT(why(m, k), says_so);
  EXPECT_THAT(why(m, 70), testing::Not(says_so)) << "too little to do for another launch";
  EXPECT_THAT(why((tiles - 3) * 128, k), testing::Not(testing::Contains(testing::HasSubstr("left over"))));
}

// workspace
// -----------------------------------------------------------------------------------------------------------
TEST_P(gemm_split, takes_a_workspace) {
  const context where = any();
  const product p = product_of(reals(130, 70, 5), reals(70, 45, 6));
  matrix a(where, p.a, p.place_a), b(where, p.b, p.place_b), c(where, p.c, p.place_c);
  const gemms::problem what{.a = a.view(), .b = b.view(), .c = c.view()};
  const std::size_t bytes = gemm_workspace(where, what, {.policy = policy()});
  ASSERT_GT(bytes, std::size_t{4 * (130 + 45) * 70});
  device_array<std::byte> memory(where, bytes + 512);
  gemm(where, what, {.policy = policy(), .workspace = {memory.data(), bytes}});
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(same_bits(c.read(), split(p)));
  const auto refused = [&](std::span<std::byte> workspace) {
    try {
      gemm(where, what, {.policy = policy(), .workspace = workspace});
    } catch (const bad_request& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(refused({memory.data(), bytes - 1}),
              testing::HasSubstr("this product needs " + std::to_string(bytes)));
  EXPECT_THAT(refused({memory.data() + 16, bytes}), testing::HasSubstr("multiple of 256"));
}
TEST_P(gemm_split, workspace_grows_with_the_problem) {
  device_limits device = simulated_device();
  device.multiprocessors = 132;
  const context where = is_cuda() ? any() : context(make_cpu_executor({.limits = device}));
  float one = 0;
  const auto bytes = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    float other = 0;
    return gemm_workspace(where,
                          {.a = {&one, m, k, k, 1}, .b = {&one, k, n, n, 1}, .c = {&other, m, n, n, 1}},
                          {.policy = policy()});
  };
  const auto expect_growth = [&](auto bytes_of, std::int64_t end) {
    for (std::int64_t i = 1, last = 0; i < end; ++i) {
      const auto now = static_cast<std::int64_t>(bytes_of(i));
      ASSERT_GE(now, last) << i;
      last = now;
    }
  };
  expect_growth([&](std::int64_t i) { return bytes(i, 2 * i + 5, 3 * i + 1); }, 700);
  expect_growth([&](std::int64_t m) { return bytes(m, 128, 512); },
                20000);  // through all numbers of blocks that share a tile, and tiles left over
  expect_growth([&](std::int64_t k) { return bytes(300, 100, k); }, 3000);
}

// many
// -----------------------------------------------------------------------------------------------------------
TEST_P(gemm_split, random_products) {
  const int cases = is_cuda() ? 2000 : sanitized ? 15 : 60;
  std::mt19937 generator(20261120);
  const auto random = [&] { return static_cast<unsigned>(generator()); };
  const auto upto = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  const context where = any();
  for (int i = 0; i < cases && !HasFailure(); ++i) {
    const int m = 1 + upto(170), n = 1 + upto(170), k = 1 + upto(upto(4) == 0 ? 900 : 150);
    const float alpha = upto(2) ? 1.f : -1.25f, beta = upto(2) ? 0.f : 0.75f;
    const int spread = upto(3) == 0 ? 80 : 1;
    product p = product_of(
        scaled(reals(m, k, random()), [&](auto r, auto c) { return (r * 7 + c * 13) % spread; }),
        scaled(reals(k, n, random()), [&](auto r, auto c) { return -((r * 11 + c * 3) % spread); }), alpha,
        beta);
    const auto place = [&](const dense& d) {
      return placed(upto(2) ? major::row : major::column, d, upto(5), upto(4));
    };
    p.place_a = place(p.a), p.place_b = place(p.b), p.place_c = place(p.c);
    SCOPED_TRACE(testing::Message() << "case " << i << ": " << m << " x " << n << " x " << k << ", spread "
                                    << spread);
    AP_EXPECT_KEPT(split(where, p), p);
  }
}

const auto names = [](const auto& info) {
  return std::string(info.param.policy) == "fp16" ? "wgmma" : "mma";
};
INSTANTIATE_TEST_SUITE_P(Cpu, gemm_split,
                         testing::Values(split_on{"cpu", "fp16"}, split_on{"cpu", "fp16-mma"}), names);
INSTANTIATE_TEST_SUITE_P(Cuda, gemm_split,
                         testing::Values(split_on{"cuda", "fp16"}, split_on{"cuda", "fp16-mma"}), names);

// what multiplies
// -----------------------------------------------------------------------------------------------------------
// The same products in the same order, promoted after the same number of them: the same bits, where no blocks
// share a tile.
class gemm_split_kinds : public on_device {};
TEST_P(gemm_split_kinds, give_the_same_bits) {
  device_limits device = simulated_device();
  device.multiprocessors = 1;
  const context where = is_cuda() ? any() : context(make_cpu_executor({.limits = device}));
  if (is_cuda() && where.limits().major != 9) GTEST_SKIP() << where.limits().name << " has one of them only";
  const std::int64_t more = is_cuda() ? 128 * 12 : 0;  // then there are too many tiles to share
  for (const auto& [m, n, k] : {std::array{300, 200, 450}, {129, 257, 333}, {5, 3, 17}, {130, 260, 65}}) {
    if (more > 0 && m < 100) continue;
    if (sanitized && k > 100) continue;
    product p = product_of(reals(m + more, k, 1), reals(k, n + more, 2), 1.5f, 0.5f);
    EXPECT_TRUE(same_bits(computed(where, "fp16-mma", p), computed(where, "fp16", p)))
        << m << " x " << n << " x " << k;
    p.a(3, 0) = p.b(2, 1) = 0x1p-60f;  // certificates, and some outputs computed again
    for (std::int64_t l = 0; l < k; ++l) p.a(4, l) = l % 2 == 0 ? p.a(3, l) : -p.a(4, l - 1);
    EXPECT_TRUE(same_bits(computed(where, "fp16-mma", p), computed(where, "fp16", p)))
        << m << " x " << n << " x " << k;
  }
}
AP_ON_BOTH_DEVICES(gemm_split_kinds);

// which devices run it
// -----------------------------------------------------------------------------------------------------------
gemm_choice chosen_on(int major, int minor, std::size_t shared, std::string_view policy) {
  device_limits device = simulated_device();
  device.major = major, device.minor = minor, device.shared_opt_in = shared << 10;
  alignas(16) static float x[600 * 1000] = {}, y[600 * 600] = {};
  const context where(make_cpu_executor({.limits = device}));
  return explain(where,
                 {.a = row_major<const float>(x, 600, 1000),
                  .b = row_major<const float>(x, 1000, 600),
                  .c = row_major(y, 600, 600)},
                 {.policy = policy});
}
TEST(gemm_split_devices, that_can) {
  const auto refusal = [](int major, int minor, std::size_t shared, const char* policy) -> std::string {
    try {
      chosen_on(major, minor, shared, policy);
    } catch (const not_supported& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(chosen_on(8, 6, 99, "fp16-mma").stages, 3);
  EXPECT_EQ(refusal(8, 9, 99, "fp16-mma"), "");
  EXPECT_EQ(refusal(9, 0, 99, "fp16-mma"), "");
  EXPECT_EQ(refusal(9, 0, 227, "fp16-mma"), "");
  EXPECT_EQ(refusal(9, 0, 227, "fp16"), "");
  EXPECT_THAT(refusal(8, 0, 163, "fp16"), testing::HasSubstr("9.0"));
  EXPECT_THAT(refusal(8, 6, 64, "fp16-mma"), testing::HasSubstr("shared memory"));
  EXPECT_THAT(refusal(7, 5, 64, "fp16-mma"), testing::HasSubstr("8.0 or above"));
}
// Nothing is guaranteed of Tensor Cores whose rounding is unknown.
TEST(gemm_split_devices, that_are_unknown_run_it_only_if_asked) {
  const gemm_choice unknown = chosen_on(12, 0, 99, "auto");
  EXPECT_TRUE(std::isfinite(unknown.bound.units)) << unknown.kernel;
  EXPECT_THAT(unknown.refused, testing::Contains(testing::AllOf(testing::StartsWith("fp16-mma: "),
                                                                testing::HasSubstr("if asked for"))));
  EXPECT_TRUE(std::isinf(chosen_on(12, 0, 99, "fp16-mma").bound.units));
}
// As on sm_86: no clusters, no copy engine, 99 KiB.
TEST(gemm_split_devices, runs_without_anything_of_sm_90) {
  device_limits device = simulated_device();
  device.major = 8, device.minor = 6, device.shared_opt_in = 99 * 1024, device.multiprocessors = 3;
  const product p = product_of(reals(300, 150, 1), reals(150, 270, 2), 1.25f, -1);
  AP_EXPECT_KEPT(computed(context(make_cpu_executor({.limits = device})), "fp16-mma", p), p);
}

}  // namespace
}  // namespace antiphase::gemm_test
