// SPDX-License-Identifier: Apache-2.0
#include "core/executor/cpu/units/warp_product.hpp"

#include <antiphase/plain/rounded.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace antiphase::cpu_detail {
namespace {

using machine::matrix_number;
using machine::matrix_place;

int bits_of(matrix_number of) {
  switch (of) {
    case matrix_number::s4:
    case matrix_number::u4: return 4;
    case matrix_number::s8:
    case matrix_number::u8:
    case matrix_number::e4m3:
    case matrix_number::e5m2: return 8;
    case matrix_number::f16:
    case matrix_number::bf16: return 16;
    case matrix_number::f64: return 64;
    default: return 32;
  }
}
int together(matrix_number of) { return std::max(32 / bits_of(of), 1); }

std::uint64_t element(const void* registers, matrix_number of, int i) {
  const int bits = bits_of(of);
  std::uint64_t word = 0;
  std::memcpy(&word, static_cast<const unsigned char*>(registers) + i * bits / 8,
              static_cast<std::size_t>(std::max(bits / 8, 1)));
  return bits == 4 ? word >> i % 2 * 4 & 15 : word;
}
template <class Sum> Sum value(std::uint64_t word, matrix_number of) {
  switch (of) {
    case matrix_number::f16: return static_cast<Sum>(plain::from_half(static_cast<unsigned short>(word)));
    case matrix_number::bf16: return static_cast<Sum>(plain::from_bfloat(static_cast<unsigned short>(word)));
    case matrix_number::tf32:
      return static_cast<Sum>(std::bit_cast<float>(static_cast<std::uint32_t>(word) & 0xFFFFE000u));
    case matrix_number::f32: return static_cast<Sum>(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
    case matrix_number::f64: return static_cast<Sum>(std::bit_cast<double>(word));
    case matrix_number::e4m3: return static_cast<Sum>(plain::from_e4m3(static_cast<unsigned char>(word)));
    case matrix_number::e5m2: return static_cast<Sum>(plain::from_e5m2(static_cast<unsigned char>(word)));
    case matrix_number::s8: return static_cast<Sum>(static_cast<signed char>(word));
    case matrix_number::s4: return static_cast<Sum>((static_cast<int>(word) ^ 8) - 8);
    case matrix_number::s32: return static_cast<Sum>(static_cast<std::int32_t>(word));
    default: return static_cast<Sum>(word);
  }
}
template <class Number> void put(void* registers, int i, Number v) {
  std::memcpy(static_cast<unsigned char*>(registers) + static_cast<std::size_t>(i) * sizeof v, &v, sizeof v);
}
void put_sum(void* registers, matrix_number of, int i, float sum, bool saturates) {
  if (saturates) sum = std::isnan(sum) ? 0 : std::clamp(sum, -65504.f, 65504.f);
  if (of == matrix_number::f16)
    put(registers, i, plain::to_half(sum));
  else
    put(registers, i, sum);
}
void put_sum(void* registers, matrix_number, int i, double sum, bool) { put(registers, i, sum); }
void put_sum(void* registers, matrix_number, int i, std::int64_t sum, bool saturates) {
  using limits = std::numeric_limits<std::int32_t>;
  if (saturates) sum = std::clamp(sum, std::int64_t{limits::min()}, std::int64_t{limits::max()});
  put(registers, i, static_cast<std::int32_t>(sum));
}
float added(float sum, float a, float b) { return sum + a * b; }
double added(double sum, double a, double b) { return std::fma(a, b, sum); }
std::int64_t added(std::int64_t sum, std::int64_t a, std::int64_t b) { return sum + a * b; }

// The four bits that say where the numbers of a group of a row of a sparse A stand (PTX ISA, mma.sp).
unsigned metadata(const machine::warp_product& w, const lane_registers (&lanes)[32], int row, int group) {
  const bool bytes = bits_of(w.a) == 8;
  const bool one_lane = !bytes && w.depth * bits_of(w.a) <= 256;  // for four
  const int lane = bytes      ? 2 * *w.selector + group / 8 * 2 + row / 8
                   : one_lane ? *w.selector
                              : 2 * *w.selector + group / 4;
  const int shift = bytes ? group % 8 * 4 : row / 8 * 16 + group % 4 * 4;
  const int words = w.rows * w.depth / 2 / 32 * bits_of(w.a) / 32;  // before it
  const auto word = element(lanes[row % 8 * 4 + lane].a, matrix_number::s32, words);
  return static_cast<unsigned>(word) >> shift & 15;
}
// The column of A that a number of a sparse A stands in, the `k`th of its row: two of four columns, or one of
// two of tf32.
int column_in(const machine::warp_product& w, const lane_registers (&lanes)[32], int row, int k) {
  if (!w.selector) return k;
  if (w.a == matrix_number::tf32) return 2 * k + (metadata(w, lanes, row, k) == 0xE);
  return k / 2 * 4 + static_cast<int>(metadata(w, lanes, row, k / 2) >> k % 2 * 2 & 3);
}

template <class Sum> void multiply(const machine::warp_product& w, const lane_registers (&lanes)[32]) {
  const auto at = [](int row, int width, int column) {
    return static_cast<std::size_t>(row * width + column);
  };
  std::vector<Sum> a(at(w.rows, w.depth, 0)), b(at(w.columns, w.depth, 0));  // b: transposed
  for (int l = 0; l < 32; ++l) {
    const lane_registers& of = lanes[l];
    for (int i = 0; i < w.rows * w.depth / (w.selector ? 64 : 32); ++i) {
      const matrix_place p = machine::place_in_a(w.rows, together(w.a), l, i);
      a[at(p.row, w.depth, column_in(w, lanes, p.row, p.column))] = value<Sum>(element(of.a, w.a, i), w.a);
    }
    for (int i = 0; i < w.columns * w.depth / 32; ++i) {
      const matrix_place p = machine::place_in_b(w.depth, together(w.b), l, i);
      b[at(p.column, w.depth, p.row)] = value<Sum>(element(of.b, w.b, i), w.b);
    }
  }
  for (int l = 0; l < 32; ++l) {
    const lane_registers& of = lanes[l];
    for (int i = 0; i < w.rows * w.columns / 32; ++i) {
      const matrix_place p = machine::place_in_c(w.rows, l, i);
      Sum sum = value<Sum>(element(of.c, w.c, i), w.c);
      for (int k = 0; k < w.depth; ++k)
        sum = added(sum, a[at(p.row, w.depth, k)], b[at(p.column, w.depth, k)]);
      put_sum(of.d, w.d, i, sum, w.saturates);
    }
  }
}

}  // namespace

void multiply_warp(const machine::warp_product& w, const lane_registers (&lanes)[32]) {
  if (w.d == matrix_number::s32)
    multiply<std::int64_t>(w, lanes);
  else if (w.d == matrix_number::f64)
    multiply<double>(w, lanes);
  else
    multiply<float>(w, lanes);
}

int column_of_sparse(matrix_number a, int selector, const lane_registers (&lanes)[32], int row, int k) {
  const int depth = 32 * 16 / bits_of(a);
  return column_in({16, 8, depth, a, a, matrix_number::f32, matrix_number::f32, false, selector}, lanes, row,
                   k);
}

namespace {
template <class Sum>
void multiply_bytes_of(matrix_number of_a, matrix_number of_b, std::span<const std::uint16_t> a,
                       std::span<const std::uint16_t> b, int rows, int columns, std::span<float> sums) {
  constexpr std::size_t depth = 32;
  const auto numbers = [](std::span<const std::uint16_t> all, matrix_number of) {
    std::vector<Sum> to;
    for (const std::uint16_t two : all) {
      to.push_back(value<Sum>(two & 0xFFu, of));
      to.push_back(value<Sum>(two >> 8, of));
    }
    return to;
  };
  const std::vector<Sum> of_rows = numbers(a, of_a), of_columns = numbers(b, of_b);
  for (int at = 0; at < rows * columns; ++at) {
    float& to = sums[static_cast<std::size_t>(at)];
    const Sum* const x = of_rows.data() + static_cast<std::size_t>(at / columns) * depth;
    const Sum* const y = of_columns.data() + static_cast<std::size_t>(at % columns) * depth;
    Sum sum = std::bit_cast<Sum>(to);
    for (std::size_t k = 0; k < depth; ++k) sum += x[k] * y[k];
    to = std::bit_cast<float>(sum);
  }
}
}  // namespace

void multiply_bytes(machine::operand_type type, std::span<const std::uint16_t> a,
                    std::span<const std::uint16_t> b, int rows, int columns, std::span<float> sums) {
  using enum matrix_number;
  constexpr matrix_number types[][2] = {{e4m3, e4m3}, {e4m3, e5m2}, {e5m2, e4m3}, {e5m2, e5m2},
                                        {s8, s8},     {s8, u8},     {u8, s8},     {u8, u8}};
  const auto [of_a, of_b] =
      types[static_cast<int>(type) - static_cast<int>(machine::operand_type::e4m3_e4m3)];
  if (type < machine::operand_type::s8_s8)
    multiply_bytes_of<float>(of_a, of_b, a, b, rows, columns, sums);
  else  // integers wrap around
    multiply_bytes_of<std::uint32_t>(of_a, of_b, a, b, rows, columns, sums);
}

}  // namespace antiphase::cpu_detail
