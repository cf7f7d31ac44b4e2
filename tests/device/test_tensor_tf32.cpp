// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one Tensor Core step of tf32: the CPU executor's against an independent model, and the
// GPU's against the CPU executor's, bit for bit.
#include <bit>
#include <cstring>

#include "tests/device/tensor_support.hpp"

namespace antiphase::probe {
namespace {

enum class pattern {
  narrow,
  wide,
  cancelling,
  one_large,
  underflow,
  tiny_operands,
  low,
  denormal_sum,
  overflow,
  few,
  not_finite,
  patterns
};
const char* const pattern_names[] = {"narrow",    "wide",          "cancelling", "one large",
                                     "underflow", "tiny operands", "low",        "denormal sum",
                                     "overflow",  "few",           "not finite"};

struct operands {
  std::vector<float> a, b, c;
};
// Elements use all 24 significand bits; the hardware ignores 13 of them.
operands operands_of(pattern p, unsigned blocks, std::uint64_t seed) {
  numbers next{seed * 1000 + static_cast<std::uint64_t>(p)};
  const auto real = [&](int low, int high) {
    const auto sign = static_cast<std::uint32_t>(next() & 1) << 31;
    const int exponent = next.between(low, high);
    const auto significand = static_cast<std::uint32_t>(next() >> 41);
    if (exponent >= -126)
      return std::bit_cast<float>(sign | static_cast<std::uint32_t>(exponent + 127) << 23 | significand);
    return std::bit_cast<float>(sign | (significand | 0x800000u) >> std::min(-126 - exponent, 24));
  };
  operands o;
  o.a.resize(std::size_t{512} * blocks), o.b.resize(std::size_t{512} * blocks),
      o.c.resize(std::size_t{4096} * blocks);
  const auto fill = [&](std::vector<float>& x, bool of_b) {
    for (std::size_t i = 0; i < x.size(); ++i) switch (p) {
        case pattern::narrow: x[i] = real(-2, 2); break;
        case pattern::cancelling:
          x[i] = i % 2 == 0 ? real(-3, 3) : of_b ? (next() % 4 != 0 ? x[i - 1] : real(-3, 3)) : -x[i - 1];
          break;
        case pattern::one_large: x[i] = i % 8 == 3 ? real(8, 10) : of_b ? real(-12, 2) : real(-15, 2); break;
        case pattern::underflow: x[i] = real(-76, -60); break;
        case pattern::tiny_operands: x[i] = of_b ? real(-10, 30) : real(-149, -110); break;
        case pattern::low: x[i] = of_b ? real(-80, -65) : real(-80, -70); break;
        case pattern::denormal_sum: x[i] = real(-70, -55); break;
        case pattern::overflow: x[i] = real(50, 66); break;
        case pattern::few: x[i] = next() % 3 != 0 ? (of_b ? -0.f : 0.f) : real(-30, 30); break;
        case pattern::not_finite:
          x[i] =
              next() % 20 != 0
                  ? real(-3, 3)
                  : std::bit_cast<float>(0x7F800000u | static_cast<std::uint32_t>(next() % 2 * 0x80000001u));
          if (of_b && next() % 20 == 0) x[i] = 0;
          break;
        default: x[i] = real(-60, 60);
      }
  };
  fill(o.a, false), fill(o.b, true);
  for (float& c : o.c) {
    c = p == pattern::denormal_sum ? real(-149, -120)
        : p == pattern::overflow   ? real(115, 127)
        : p == pattern::underflow  ? real(-149, -130)
        : p == pattern::wide       ? real(-60, 60)
                                   : real(-25, 8);
    if (p == pattern::low || next() % 3 == 0) c = 0;
  }
  return o;
}

std::vector<float> run(const context& where, const operands& o, bool fresh, int piece = 0) {
  const device_array<float> a(where, std::span<const float>(o.a)), b(where, std::span<const float>(o.b)),
      c(where, std::span<const float>(o.c));
  device_array<float> out(where, o.c.size());
  launch(where, "tf32-step", tf32_step_params{a.data(), b.data(), c.data(), out.data(), piece, fresh},
         static_cast<unsigned>(o.c.size() / 4096));
  return out.to_host();
}

// The same arithmetic in other words: all in doubles, which hold each part exactly.
float reference(const float* a, const float* b, float c) {
  const auto cut = [](float x) {
    return double{std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xFFFFE000u)};
  };
  const auto exponent = [](double x) { return std::max(std::ilogb(x), -126); };
  int largest = c == 0 ? -133 : exponent(c);
  for (int k = 0; k < 8; ++k)
    if (cut(a[k]) != 0 && cut(b[k]) != 0)
      largest = std::max(largest, exponent(cut(a[k])) + exponent(cut(b[k])));
  const double unit = std::ldexp(1, largest - 25);
  double sum = std::trunc(c / unit);
  for (int k = 0; k < 8; ++k) sum += std::trunc(cut(a[k]) * cut(b[k]) / unit);
  sum *= unit;
  if (std::abs(sum) >= 0x1p128) return static_cast<float>(std::copysign(INFINITY, sum));
  const auto nearest = static_cast<float>(sum);
  return std::abs(double{nearest}) > std::abs(sum) ? std::nextafter(nearest, 0.f) : nearest;
}
bool same_bits(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) || (x == 0 && y == 0);
}

TEST(tensor_tf32, is_the_model) {
  const context where(make_cpu_executor());
  for (int p = 0; p < static_cast<int>(pattern::not_finite); ++p)
    for (const bool fresh : {false, true}) {
      const operands o = operands_of(static_cast<pattern>(p), 4, 7);
      const auto out = run(where, o, fresh, p % 4);
      int wrong = 0;
      for (std::size_t i = 0; i < out.size() && wrong < 3; ++i) {
        const std::size_t block = i / 4096;
        const float expected =
            reference(&o.a[i / 64 * 8], &o.b[(block * 64 + i % 64) * 8], fresh ? 0 : o.c[i]);
        if (!same_bits(out[i], expected))
          ADD_FAILURE() << pattern_names[p] << ": out[" << i << "] is " << out[i] << ", expected " << expected
                        << ", wrong " << ++wrong;
      }
    }
}
TEST(tensor_tf32, plain_sums_are_ordinary_ones) {
  const context where(make_cpu_executor({.sums = tensor_sums::plain}));
  operands o = operands_of(pattern::narrow, 1, 3);
  const auto out = run(where, o, false);
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = o.c[i];
    for (std::size_t k = 0; k < 8; ++k) sum += double{o.a[i / 64 * 8 + k]} * o.b[i % 64 * 8 + k];
    ASSERT_NEAR(out[i], sum, 0.2) << i;
  }
}

// One output: the first row times the first column.
float one_step(const context& where, std::initializer_list<float> a, std::initializer_list<float> b,
               float c) {
  operands o{std::vector<float>(512), std::vector<float>(512), std::vector<float>(4096)};
  std::copy(a.begin(), a.end(), o.a.begin());
  std::copy(b.begin(), b.end(), o.b.begin());
  o.c[0] = c;
  return run(where, o, false)[0];
}
void check_cases_by_hand(const context& where) {
  const float small = 0x1p-13f;  // its square is 2^-26
  EXPECT_EQ(one_step(where, {3}, {5}, 0.5f), 15.5f);
  EXPECT_EQ(one_step(where, {1 + 0x1.fffp-11f}, {1 + 0x1.ffcp-11f}, 0), 1)
      << "the low 13 bits of both operands are ignored";
  EXPECT_EQ(one_step(where, {1 + 0x1p-10f}, {1}, 0), 1 + 0x1p-10f);
  EXPECT_EQ(one_step(where, {small, small}, {small, small}, 1), 1) << "2^-26 lies after the 25 bits of 1";
  EXPECT_EQ(one_step(where, {small, small, small, small}, {2 * small, 2 * small, 2 * small, 2 * small}, 1),
            1 + 0x1p-23f);
  EXPECT_EQ(one_step(where, {small, small, small}, {2 * small, 2 * small, 2 * small}, 1), 1)
      << "three times does not reach the last bit";
  EXPECT_EQ(one_step(where, {small}, {-2 * small}, 1), 1 - 0x1p-24f) << "toward zero";
  EXPECT_EQ(one_step(where, {0x1p100f}, {0x1p28f}, 0), INFINITY);
  EXPECT_EQ(one_step(where, {0x1p100f}, {8}, 0x1.fffffep127f), 0x1.fffffep127f)
      << "cut off, not rounded to infinity";
  EXPECT_EQ(one_step(where, {}, {}, 0x1.8p-130f), 0x1.8p-130f);
}
TEST(tensor_tf32, cases_by_hand) { check_cases_by_hand(context(make_cpu_executor())); }
TEST(tensor_tf32_Cuda, cases_by_hand) {
  ON_GPU(where, 90);
  check_cases_by_hand(where);
}

// More than a million outputs of each pattern.
TEST(tensor_tf32_Cuda, as_on_the_cpu_executor) {
  ON_GPU(where, 90);
  const context model(make_cpu_executor());
  for (int p = 0; p < static_cast<int>(pattern::patterns); ++p)
    for (const bool fresh : {false, true}) {
      const operands o = operands_of(static_cast<pattern>(p), 256, 2026);
      const auto gpu_out = run(where, o, fresh, p % 4), cpu_out = run(model, o, fresh, p % 4);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < gpu_out.size(); ++i) {
        if (same_bits(gpu_out[i], cpu_out[i]) || (std::isnan(gpu_out[i]) && std::isnan(cpu_out[i]))) continue;
        if (wrong++ < 3)
          ADD_FAILURE() << pattern_names[p] << ": out[" << i << "] is " << gpu_out[i] << ", the model says "
                        << cpu_out[i];
      }
      EXPECT_EQ(wrong, 0u) << pattern_names[p] << ", of " << gpu_out.size();
    }
}

}  // namespace
}  // namespace antiphase::probe
