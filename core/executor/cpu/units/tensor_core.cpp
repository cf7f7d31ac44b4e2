// SPDX-License-Identifier: Apache-2.0
// One step of Hopper's Tensor Core, as measured on an H200: the 16 products and the sum so far are aligned to
// the largest of their exponents (a product's is the sum of its factors', a subnormal factor counting as -14;
// zeros have none), truncated to 25 fraction bits and added exactly; the result is truncated to FP32.
#include "core/executor/cpu/units/tensor_core.hpp"

#include <algorithm>
#include <antiphase/core/half.hpp>
#include <bit>
#include <cmath>
#include <vector>

namespace antiphase::cpu_detail {
namespace {

constexpr int depth = 16, fraction_bits = 25, no_exponent = -1000;

// value = significand * 2^(exponent - 10)
int significand_of(std::uint16_t bits) {
  const int magnitude = (bits & 0x3FF) | ((bits & 0x7C00) != 0 ? 0x400 : 0);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}
int exponent_of(std::uint16_t bits) {
  return (bits & 0x7FFF) == 0 ? no_exponent : std::max(bits >> 10 & 31, 1) - 15;
}
bool is_finite(std::uint16_t bits) { return (bits & 0x7C00) != 0x7C00; }

float with_infinities(const std::uint16_t* a, const std::uint16_t* b, int stride, float c) {
  double sum = c;
  for (int k = 0; k < depth; ++k) sum += double{to_float(f16{a[k]})} * to_float(f16{b[k * stride]});
  return std::isnan(sum) ? std::bit_cast<float>(0x7FFFFFFFu) : static_cast<float>(sum);
}

template <int Width> struct panel {  // of B
  int significand[depth][Width];
  int exponent[depth][Width];
  bool finite[Width];
};

// This loop vectorises where the processor has variable vector shifts (AVX2).
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define VECTORISED [[gnu::target_clones("avx2", "default")]]
#define FUSED [[gnu::target_clones("fma", "default")]]
#else
#define VECTORISED
#define FUSED
#endif
template <int Width>
[[gnu::always_inline]] inline void sum_products(const int (&significand)[depth], const int (&exponent)[depth],
                                                const panel<Width>& b, int* __restrict top,
                                                int* __restrict sum) {
  for (int k = 0; k < depth; ++k)
    for (int j = 0; j < Width; ++j) top[j] = std::max(top[j], exponent[k] + b.exponent[k][j]);
  for (int k = 0; k < depth; ++k)
    for (int j = 0; j < Width; ++j) {
      const int product = significand[k] * b.significand[k][j];  // of 2^-20; below 2^22
      const int shift = std::min(top[j] - exponent[k] - b.exponent[k][j], 31);
      const int cut =
          static_cast<int>(static_cast<unsigned>(std::abs(product)) << (fraction_bits - 20) >> shift);
      sum[j] += product < 0 ? -cut : cut;  // 16 of them stay below 2^31
    }
}
VECTORISED void sum_panel(const int (&significand)[depth], const int (&exponent)[depth], const panel<32>& b,
                          int* top, int* sum) {
  sum_products(significand, exponent, b, top, sum);
}
VECTORISED void sum_panel(const int (&significand)[depth], const int (&exponent)[depth], const panel<8>& b,
                          int* top, int* sum) {
  sum_products(significand, exponent, b, top, sum);
}

float finish(float c, int top, int products) {
  const auto bits = std::bit_cast<std::uint32_t>(c);
  const std::uint64_t exponent = bits >> 23 & 0xFF,
                      significand = (bits & 0x7FFFFF) | (exponent > 0 ? 0x800000u : 0u);
  const int shift = std::min(top - (std::max(static_cast<int>(exponent), 1) - 127), 63);
  const auto cut = static_cast<std::int64_t>(significand << (fraction_bits - 23) >> std::max(shift, 0));
  const std::int64_t total = products + (c < 0 ? -cut : cut);
  constexpr std::uint64_t kept = ~((std::uint64_t{1} << 29) - 1);  // 24 bits of a double's significand
  const double toward_zero =
      std::bit_cast<double>(std::bit_cast<std::uint64_t>(static_cast<double>(total)) & kept);
  return static_cast<float>(
      toward_zero * std::bit_cast<double>(static_cast<std::uint64_t>(top - fraction_bits + 1023) << 52));
}

template <int Width>
void multiply_panel(const std::uint16_t* a, const std::uint16_t* b, int rows, int columns, float* sum) {
  panel<Width> of_b;
  std::fill(std::begin(of_b.finite), std::end(of_b.finite), true);
  for (int k = 0; k < depth; ++k)
    for (int j = 0; j < Width; ++j) {
      const std::uint16_t bits = b[k * columns + j];
      of_b.significand[k][j] = significand_of(bits);
      of_b.exponent[k][j] = exponent_of(bits);
      of_b.finite[j] &= is_finite(bits);
    }
  for (int i = 0; i < rows; ++i, a += depth, sum += columns) {
    int significand[depth], exponent[depth], top[Width], products[Width] = {};
    for (int k = 0; k < depth; ++k) {
      significand[k] = significand_of(a[k]);
      exponent[k] = exponent_of(a[k]);
    }
    for (int j = 0; j < Width; ++j) {
      const auto biased = static_cast<int>(std::bit_cast<std::uint32_t>(sum[j]) >> 23 & 0xFF);
      top[j] = std::max(biased, 1) - 127;
    }
    sum_panel(significand, exponent, of_b, top, products);
    const bool finite = std::all_of(a, a + depth, is_finite);
    for (int j = 0; j < Width; ++j)
      sum[j] = finite && of_b.finite[j] && std::isfinite(sum[j]) ? finish(sum[j], top[j], products[j])
                                                                 : with_infinities(a, b + j, columns, sum[j]);
  }
}

template <int Width>
void multiply_plain(const std::uint16_t* a, const std::uint16_t* b, int rows, int columns, float* sum) {
  float of_b[depth][Width];
  for (int k = 0; k < depth; ++k)
    for (int j = 0; j < Width; ++j) of_b[k][j] = to_float(f16{b[k * columns + j]});
  for (int i = 0; i < rows; ++i, a += depth, sum += columns)
    for (int k = 0; k < depth; ++k) {
      const float of_a = to_float(f16{a[k]});
      for (int j = 0; j < Width; ++j) sum[j] += of_a * of_b[k][j];
    }
}

// tf32
// -----------------------------------------------------------------------------------------------------------
// Also as measured on an H200: steps of 8 products, where a sum so far of zero does not affect the alignment.
// Exponents are aligned to 2^-133 or more, and a sum of 2^128 or more is infinite. ignored: bits of an FP32
// number. A bf16 is such a number: steps of 16 of them are taken to be the same, which is published for
// Hopper, but which we have not measured.
constexpr int tf32_depth = 8, tf32_ignored = 13, tf32_least_exponent = -133;

// value = significand * 2^(exponent - 10)
template <int Depth> struct tf32_line {
  int significand[Depth], exponent[Depth];
  bool finite = true;
  explicit tf32_line(const std::uint32_t* bits) {
    for (int k = 0; k < Depth; ++k) {
      const int biased = static_cast<int>(bits[k] >> 23 & 0xFF);
      const int magnitude = static_cast<int>(bits[k] >> tf32_ignored & 0x3FF) | (biased > 0 ? 0x400 : 0);
      significand[k] = (bits[k] >> 31) != 0 ? -magnitude : magnitude;
      exponent[k] = std::max(biased, 1) - 127;
      finite = finite && biased != 0xFF;
    }
  }
};
float tf32_value(std::uint32_t bits) { return std::bit_cast<float>(bits >> tf32_ignored << tf32_ignored); }
template <int Depth> float tf32_plain(const std::uint32_t* a, const std::uint32_t* b, float c) {
  double sum = c;
  for (int k = 0; k < Depth; ++k) sum += double{tf32_value(a[k])} * tf32_value(b[k]);
  return std::isnan(sum) ? std::bit_cast<float>(0x7FFFFFFFu) : static_cast<float>(sum);
}

// sum * 2^exponent, truncated to FP32.
float tf32_finish(std::int64_t sum, int exponent) {
  const auto power = [](int n) { return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52); };
  const double exact = static_cast<double>(sum) * power(exponent);
  if (std::abs(exact) < 0x1p-126)
    return static_cast<float>(static_cast<double>(static_cast<std::int64_t>(exact * 0x1p149)) * 0x1p-149);
  constexpr std::uint64_t kept = ~((std::uint64_t{1} << 29) - 1);  // 24 bits of a double's significand
  return static_cast<float>(std::bit_cast<double>(std::bit_cast<std::uint64_t>(exact) & kept));
}
template <int Depth> float tf32_step(const tf32_line<Depth>& a, const tf32_line<Depth>& b, float c) {
  const auto of_c = std::bit_cast<std::uint32_t>(c);
  const int c_exponent = std::max(static_cast<int>(of_c >> 23 & 0xFF), 1) - 127;
  int product[Depth], exponent[Depth], top = c == 0 ? tf32_least_exponent : c_exponent;
  for (int k = 0; k < Depth; ++k) {
    product[k] = a.significand[k] * b.significand[k];  // of 2^-20; below 2^22
    exponent[k] = a.exponent[k] + b.exponent[k];
    if (product[k] != 0) top = std::max(top, exponent[k]);
  }
  const auto cut = [](std::int64_t value, int shift) {
    return value < 0 ? -(-value >> std::min(shift, 63)) : value >> std::min(shift, 63);
  };
  const std::int64_t significand = (of_c & 0x7FFFFF) | ((of_c >> 23 & 0xFF) != 0 ? 0x800000u : 0u);
  std::int64_t sum =
      c == 0 ? 0 : cut((c < 0 ? -significand : significand) << (fraction_bits - 23), top - c_exponent);
  for (int k = 0; k < Depth; ++k)
    if (product[k] != 0) sum += cut(std::int64_t{product[k]} << (fraction_bits - 20), top - exponent[k]);
  return tf32_finish(sum, top - fraction_bits);
}

template <int Depth> void multiply_tf32(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                                        int rows, int columns, std::span<float> sum, tensor_sums how) {
  const auto size = [](int one, int other) { return static_cast<std::size_t>(one * other); };
  const std::uint32_t *from_a = a.first(size(rows, Depth)).data(), *const from_b =
                                                                       b.first(size(columns, Depth)).data();
  float* to = sum.first(size(rows, columns)).data();
  std::vector<tf32_line<Depth>> of_b;
  for (int j = 0; j < columns; ++j) of_b.emplace_back(from_b + j * Depth);
  for (int i = 0; i < rows; ++i, from_a += Depth) {
    const tf32_line<Depth> of_a(from_a);
    for (int j = 0; j < columns; ++j, ++to) {
      const tf32_line<Depth>& column = of_b[static_cast<std::size_t>(j)];
      if (how != tensor_sums::plain && of_a.finite && column.finite && std::isfinite(*to))
        *to = tf32_step<Depth>(of_a, column, *to);
      else
        *to = tf32_plain<Depth>(from_a, from_b + j * Depth, *to);
    }
  }
}

}  // namespace

// One FMA instruction each where the processor has it, else a call.
FUSED void multiply_step_f64(const double (&a)[16][4], const double (&b)[4][8],
                             double (&__restrict sum)[16][8]) {
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 4; ++k)
      for (int j = 0; j < 8; ++j) sum[i][j] = __builtin_fma(a[i][k], b[k][j], sum[i][j]);
}

void multiply_step_tf32(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, int rows,
                        int columns, std::span<float> sum, tensor_sums how) {
  multiply_tf32<tf32_depth>(a, b, rows, columns, sum, how);
}

void multiply_step_bf16(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b, int rows,
                        int columns, std::span<float> sum, tensor_sums how) {
  std::vector<std::uint32_t> of_a, of_b;  // as FP32 numbers, B transposed
  for (const std::uint16_t x : a) of_a.push_back(std::uint32_t{x} << 16);
  for (int j = 0; j < columns; ++j)
    for (int k = 0; k < depth; ++k)
      of_b.push_back(std::uint32_t{b[static_cast<std::size_t>(k * columns + j)]} << 16);
  multiply_tf32<depth>(of_a, of_b, rows, columns, sum, how);
}

void multiply_step(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b, int rows, int columns,
                   std::span<float> sum, tensor_sums how) {
  // Checks all bounds once, in builds with standard library assertions (sanitizers), which do not instrument
  // the loops.
  const auto size = [](int one, int other) { return static_cast<std::size_t>(one * other); };
  const std::uint16_t *const from_a = a.first(size(rows, depth)).data(), *const from_b =
                                                                             b.first(size(depth, columns))
                                                                                 .data();
  float* const to = sum.first(size(rows, columns)).data();
  const bool plain = how == tensor_sums::plain;
  const auto wide = plain ? multiply_plain<32> : multiply_panel<32>,
             narrow = plain ? multiply_plain<8> : multiply_panel<8>;
  int j = 0;
  for (; j + 32 <= columns; j += 32) wide(from_a, from_b + j, rows, columns, to + j);
  for (; j < columns; j += 8) narrow(from_a, from_b + j, rows, columns, to + j);
}

}  // namespace antiphase::cpu_detail
