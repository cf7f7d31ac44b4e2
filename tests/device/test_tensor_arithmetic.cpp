// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one Tensor Core step: the CPU executor's against an independent model, and the GPU's
// against the CPU executor's, bit for bit.
#include <bit>
#include <cstring>

#include "tests/device/tensor_support.hpp"

namespace antiphase::probe {
namespace {

struct step_shape {
  const char* kernel;
  int rows, columns;
  int compute_capability;
  bool of_bf16 = false;
};
const step_shape shapes[] = {{"mma-step", 16, 8, 80},
                             {"wgmma-step-64", 64, 64, 90},
                             {"wgmma-step-128", 64, 128, 90},
                             {"wgmma-step-256", 64, 256, 90},
                             {"wgmma-step-registers-64", 64, 64, 90},
                             {"wgmma-step-registers-128", 64, 128, 90},
                             {"wgmma-step-registers-256", 64, 256, 90},
                             {"wgmma-step-8", 64, 8, 90},
                             {"wgmma-step-200", 64, 200, 90},
                             {"wgmma-step-registers-24", 64, 24, 90},
                             {"mma-bf16", 16, 8, 80, true},
                             {"wgmma-bf16-8", 64, 8, 90, true},
                             {"wgmma-bf16-256", 64, 256, 90, true},
                             {"wgmma-bf16-registers-120", 64, 120, 90, true}};

// Operands of several blocks. A row-major, B by columns.
struct operands {
  std::vector<std::uint16_t> a, b;
  std::vector<float> c;
  bool fresh = false;
};

enum class pattern {
  wide,          // exponents and signs of all kinds, zeros
  narrow,        // sums within range
  subnormal_a,   // against large B
  tiny,          // both factors near the smallest exponent
  cancelling,    // pairs that cancel each other
  one_large,     // one large product, the others around the edge at which they are cut off
  denormal_sum,  // c is an FP32 denormal
  large_sum,     // c is far above the products
  fresh_sum,     // c is ignored
  few,           // most are zero
  patterns
};
const char* const pattern_names[] = {"wide",      "narrow",       "subnormal A", "tiny",      "cancelling",
                                     "one large", "denormal sum", "large sum",   "fresh sum", "few"};

operands operands_of(pattern p, const step_shape& s, unsigned blocks, std::uint64_t seed) {
  numbers next{seed * 1000 + static_cast<std::uint64_t>(p)};
  const auto half = [&](int low, int high) {
    const float value =
        std::ldexp(static_cast<float>(1024 + next.between(0, 1023)), next.between(low, high) - 10);
    return static_cast<std::uint16_t>(to_f16(value).bits | (next() % 2 << 15));
  };
  const auto real = [&](int low, int high) {
    const float value = std::ldexp(static_cast<float>((1 << 23) + next.between(0, (1 << 23) - 1)),
                                   next.between(low, high) - 23);
    return next() % 2 == 0 ? value : -value;
  };
  operands o;
  o.a.resize(static_cast<std::size_t>(s.rows) * 16 * blocks);
  o.b.resize(static_cast<std::size_t>(s.columns) * 16 * blocks);
  o.c.resize(static_cast<std::size_t>(s.rows * s.columns) * blocks);
  o.fresh = p == pattern::fresh_sum;
  for (std::size_t i = 0; i < o.a.size(); ++i) switch (p) {
      case pattern::narrow: o.a[i] = half(-2, 2); break;
      case pattern::subnormal_a: o.a[i] = half(-24, -15); break;
      case pattern::tiny: o.a[i] = half(-24, -13); break;
      case pattern::cancelling: o.a[i] = i % 2 == 0 ? half(-3, 3) : o.a[i - 1] ^ 0x8000; break;
      case pattern::one_large: o.a[i] = i % 16 == 3 ? half(8, 10) : half(-20, -2); break;
      case pattern::few: o.a[i] = next() % 8 == 0 ? half(-24, 15) : next() % 2 << 15; break;
      default: o.a[i] = next() % 11 == 0 ? 0 : half(-24, 15);
    }
  for (std::size_t i = 0; i < o.b.size(); ++i) switch (p) {
      case pattern::narrow: o.b[i] = half(-2, 2); break;
      case pattern::subnormal_a: o.b[i] = i % 16 == 5 ? half(-20, -15) : half(5, 15); break;
      case pattern::tiny: o.b[i] = half(-24, -10); break;
      case pattern::cancelling: o.b[i] = i % 2 == 0 || next() % 4 == 0 ? half(-3, 3) : o.b[i - 1]; break;
      case pattern::one_large: o.b[i] = i % 16 == 3 ? half(3, 6) : half(-10, 2); break;
      default: o.b[i] = next() % 13 == 0 ? 0x8000 : half(-24, 15);
    }
  for (float& c : o.c) {
    switch (p) {
      case pattern::narrow: c = real(-2, 3); break;
      case pattern::subnormal_a: c = real(-20, 9); break;
      case pattern::tiny: c = real(-50, -21); break;
      case pattern::denormal_sum: c = real(-148, -125); break;
      case pattern::large_sum: c = real(28, 120); break;
      default: c = real(-40, 29);
    }
    if (next() % 5 == 0) c = 0;
  }
  if (s.of_bf16)  // the same numbers, with 8 bits; far exponents that f16 does not have
    for (auto* const numbers_of : {&o.a, &o.b})
      for (std::uint16_t& x : *numbers_of) {
        const int far = p == pattern::wide && next() % 16 == 0 ? 80 : 0;
        x = to_bf16(std::ldexp(to_float(f16{x}), numbers_of == &o.a ? far : -far)).bits;
      }
  return o;
}

std::vector<float> run(const context& where, const step_shape& s, const operands& o) {
  const device_array<std::uint16_t> a(where, std::span<const std::uint16_t>(o.a)),
      b(where, std::span<const std::uint16_t>(o.b));
  const device_array<float> c(where, std::span<const float>(o.c));
  device_array<float> out(where, o.c.size());
  const auto blocks = static_cast<unsigned>(o.c.size()) / static_cast<unsigned>(s.rows * s.columns);
  launch(where, s.kernel, step_params{a.data(), b.data(), c.data(), out.data(), o.fresh}, blocks);
  return out.to_host();
}

// The same arithmetic in other words: all in doubles, which hold each part exactly.
double exponent(double x) { return x == 0 ? -1e9 : std::ilogb(x); }
float reference(const std::uint16_t* a, const std::uint16_t* b, float c, bool of_bf16) {
  const double least = of_bf16 ? -126 : -14;
  const auto number = [&](std::uint16_t bits) {
    return double{of_bf16 ? to_float(bf16{bits}) : to_float(f16{bits})};
  };
  double largest = exponent(c);
  double product[16];
  for (int k = 0; k < 16; ++k) {
    const double x = number(a[k]), y = number(b[k]);
    product[k] = x * y;
    if (product[k] != 0)
      largest = std::max(largest, std::max(exponent(x), least) + std::max(exponent(y), least));
  }
  if (largest < -1e8) return 0;
  const double unit = std::ldexp(1, static_cast<int>(largest) - 25);
  double sum = std::trunc(c / unit);
  for (const double p : product) sum += std::trunc(p / unit);
  sum *= unit;
  const auto nearest = static_cast<float>(sum);
  return std::abs(double{nearest}) > std::abs(sum) ? std::nextafter(nearest, 0.f) : nearest;
}

bool same_bits(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) || (x == 0 && y == 0);
}

TEST(tensor_arithmetic, is_the_model) {
  const context where(make_cpu_executor());
  for (const step_shape& s : shapes)
    for (int p = 0; p < static_cast<int>(pattern::patterns); ++p) {
      const unsigned blocks = s.rows == 16 ? 40 : 1;
      const operands o = operands_of(static_cast<pattern>(p), s, blocks, 7);
      const auto out = run(where, s, o);
      int wrong = 0;
      for (std::size_t i = 0; i < out.size() && wrong < 3; ++i) {
        const std::size_t row = i / static_cast<std::size_t>(s.columns),
                          block = row / static_cast<std::size_t>(s.rows);
        const std::size_t column =
            block * static_cast<std::size_t>(s.columns) + i % static_cast<std::size_t>(s.columns);
        const float expected = reference(&o.a[row * 16], &o.b[column * 16], o.fresh ? 0 : o.c[i], s.of_bf16);
        if (!same_bits(out[i], expected))
          ADD_FAILURE() << s.kernel << ", " << pattern_names[p] << ": out[" << i << "] is " << out[i]
                        << ", expected " << expected << ", wrong " << ++wrong;
      }
    }
}

// One output: the first row times the first column.
float one_step(const context& where, std::initializer_list<float> a, std::initializer_list<float> b,
               float c) {
  operands o;
  o.a.resize(256);
  o.b.resize(128);
  o.c.resize(128);
  std::size_t k = 0;
  for (const float x : a) o.a[k++] = to_f16(x).bits;
  k = 0;
  for (const float x : b) o.b[k++] = to_f16(x).bits;
  o.c[0] = c;
  return run(where, shapes[0], o)[0];
}
void check_cases_by_hand(const context& where) {
  const float small = 0x1p-13f;  // its square is 2^-26
  EXPECT_EQ(one_step(where, {3}, {5}, 0.5f), 15.5f);
  EXPECT_EQ(one_step(where, {small, small}, {small, small}, 1), 1) << "2^-26 lies after the 25 bits of 1";
  EXPECT_EQ(one_step(where, {small, small, small, small}, {2 * small, 2 * small, 2 * small, 2 * small}, 1),
            1 + 0x1p-23f)
      << "four times 2^-25 adds up before the sum is cut off to FP32";
  EXPECT_EQ(one_step(where, {small, small, small}, {2 * small, 2 * small, 2 * small}, 1), 1)
      << "three times does not reach the last bit";
  EXPECT_EQ(one_step(where, {small}, {-2 * small}, 1), 1 - 0x1p-24f) << "toward zero";
  EXPECT_EQ(one_step(where, {1, 1, -1}, {1024, small * small, 1024}, 0), 0)
      << "cut off against products that then cancel";
  EXPECT_EQ(one_step(where, {0x1p-24f}, {0x1p-24f}, 0), 0x1p-48f);
  EXPECT_EQ(one_step(where, {0x1p-24f, 1}, {1, 0x1p-24f}, 0x1p-130f), 0x1p-23f);
  EXPECT_EQ(one_step(where, {}, {}, 0x1.8p-130f), 0x1.8p-130f);
}
TEST(tensor_arithmetic, cases_by_hand) { check_cases_by_hand(context(make_cpu_executor())); }
TEST(tensor_arithmetic_Cuda, cases_by_hand) {
  ON_GPU(where, 80);
  check_cases_by_hand(where);
}

TEST(tensor_arithmetic, plain_sums_are_ordinary_ones) {
  const context where(make_cpu_executor({.sums = tensor_sums::plain}));
  const float small = 0x1p-13f;
  EXPECT_EQ(one_step(where, {1, 1, -1}, {1024, small, 1024}, 0), small - small + (1024 + small - 1024));
  const operands o = operands_of(pattern::narrow, shapes[1], 1, 3);
  const auto out = run(where, shapes[1], o);
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = o.c[i];
    for (std::size_t k = 0; k < 16; ++k)
      sum += double{to_float(f16{o.a[i / 64 * 16 + k]})} * to_float(f16{o.b[i % 64 * 16 + k]});
    ASSERT_NEAR(out[i], sum, 1e-4) << i;
  }
}

const float non_finite_a[] = {INFINITY, -INFINITY, INFINITY, NAN, 1, 65504, 1, 1};
const float non_finite_b[] = {2, 2, 0, 1, NAN, 65504, 1, 1};
const float non_finite_c[] = {1, 1, 1, 1, 1, 0x1.fffffep127f, INFINITY, -INFINITY};
std::vector<float> non_finite_steps(const context& where) {
  std::vector<float> out;
  for (std::size_t i = 0; i < std::size(non_finite_a); ++i)
    out.push_back(one_step(where, {non_finite_a[i], 1}, {non_finite_b[i], 1}, non_finite_c[i]));
  out.push_back(one_step(where, {INFINITY, -INFINITY}, {1, 1}, 1));
  out.push_back(one_step(where, {65504, 65504, 65504}, {65504, 65504, 65504}, 0x1.fffffep127f));
  return out;
}
TEST(tensor_arithmetic, infinities_and_nan) {
  const auto out = non_finite_steps(context(make_cpu_executor()));
  const float expected[] = {INFINITY,        -INFINITY, NAN,       NAN, NAN,
                            0x1.fffffep127f, INFINITY,  -INFINITY, NAN, 0x1.fffffep127f};
  for (std::size_t i = 0; i < out.size(); ++i)
    EXPECT_TRUE(std::isnan(expected[i]) ? std::isnan(out[i]) : out[i] == expected[i])
        << i << ": " << out[i] << ", expected " << expected[i];
}
TEST(tensor_arithmetic_Cuda, infinities_and_nan) {
  ON_GPU(where, 80);
  const auto gpu_out = non_finite_steps(where), cpu_out = non_finite_steps(context(make_cpu_executor()));
  for (std::size_t i = 0; i < gpu_out.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(gpu_out[i]), std::bit_cast<std::uint32_t>(cpu_out[i]))
        << i << ": " << gpu_out[i];
}

// FP64: a chain of fused multiply-adds in the order of k. Cases: exponents close together, so that every
// rounding shows; far apart; cancelling products; and non-finite numbers.
void check_double_steps(const context& where, std::size_t depth, unsigned blocks) {
  numbers next{99};
  for (const char* name : {"close", "wide", "cancelling", "not finite"}) {
    const bool wide = name[0] == 'w', cancelling = name[0] == 'c' && name[1] == 'a',
               not_finite = name[0] == 'n';
    const auto real = [&] {
      const double value = std::ldexp(static_cast<double>((next() >> 12 | std::uint64_t{1} << 52)),
                                      next.between(wide ? -300 : -2, wide ? 200 : 2) - 52);
      if (not_finite && next() % 16 == 0)
        return next() % 3 == 0 ? 0. : next() % 2 == 0 ? -INFINITY : double{NAN};
      return next() % 2 == 0 ? value : -value;
    };
    std::vector<double> a(16 * depth * blocks), b(8 * depth * blocks), c(std::size_t{128} * blocks);
    for (auto* of : {&a, &b, &c})
      for (double& x : *of) x = real();
    if (cancelling)
      for (std::size_t i = 0; i < b.size(); i += 2) b[i + 1] = b[i];
    if (cancelling)
      for (std::size_t i = 0; i < a.size(); i += 2) a[i + 1] = -a[i] * (1 + 0x1p-50);
    const device_array<double> on_a(where, std::span<const double>(a)),
        on_b(where, std::span<const double>(b)), on_c(where, std::span<const double>(c));
    device_array<double> out(where, c.size());
    launch(where, fmt::format("mma-double-step-{}", depth),
           double_step_params{on_a.data(), on_b.data(), on_c.data(), out.data()}, blocks);
    const auto got = out.to_host();
    int wrong = 0;
    for (std::size_t i = 0; i < got.size() && wrong < 3; ++i) {
      double sum = c[i];
      for (std::size_t k = 0; k < depth; ++k)
        sum = std::fma(a[i / 8 * depth + k], b[(i / 128 * 8 + i % 8) * depth + k], sum);
      const bool same = std::isnan(sum)
                            ? std::isnan(got[i])
                            : std::bit_cast<std::uint64_t>(sum) == std::bit_cast<std::uint64_t>(got[i]);
      if (!same)
        ADD_FAILURE() << name << ", depth " << depth << ": out[" << i << "] is " << got[i] << ", expected "
                      << sum << ", wrong " << ++wrong;
    }
  }
}
TEST(tensor_arithmetic, doubles_are_a_chain_of_fused_multiply_adds) {
  for (const std::size_t depth : {4, 8}) check_double_steps(context(make_cpu_executor()), depth, 20);
}
TEST(tensor_arithmetic_Cuda, doubles_are_a_chain_of_fused_multiply_adds) {
  ON_GPU(where, 80);
  for (const std::size_t depth : {4, 8}) check_double_steps(where, depth, 10'000);
}

// More than a million outputs of each instruction and pattern.
using bit_for_bit = testing::TestWithParam<step_shape>;
TEST_P(bit_for_bit, as_on_the_cpu_executor) {
  const step_shape& s = GetParam();
  ON_GPU(where, s.compute_capability);
  const context model(make_cpu_executor());
  const auto blocks = static_cast<unsigned>(((1 << 20) + s.rows * s.columns) / (s.rows * s.columns));
  for (int p = 0; p < static_cast<int>(pattern::patterns); ++p) {
    const operands o = operands_of(static_cast<pattern>(p), s, blocks, 2026);
    const auto gpu_out = run(where, s, o), cpu_out = run(model, s, o);
    std::size_t wrong = 0, zero_signs = 0;
    for (std::size_t i = 0; i < gpu_out.size(); ++i) {
      zero_signs +=
          gpu_out[i] == 0 && cpu_out[i] == 0 && std::signbit(gpu_out[i]) != std::signbit(cpu_out[i]);
      if (same_bits(gpu_out[i], cpu_out[i])) continue;
      if (wrong++ < 3)
        ADD_FAILURE() << pattern_names[p] << ": out[" << i << "] is " << gpu_out[i] << ", the model says "
                      << cpu_out[i];
    }
    EXPECT_EQ(wrong, 0u) << pattern_names[p] << ", of " << gpu_out.size();
    RecordProperty(std::string("zero_signs_") + std::to_string(p), static_cast<int>(zero_signs));
  }
}
std::string name_of(const testing::TestParamInfo<step_shape>& info) {
  std::string name = info.param.kernel;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cuda, bit_for_bit, testing::ValuesIn(shapes), name_of);

}  // namespace
}  // namespace antiphase::probe
