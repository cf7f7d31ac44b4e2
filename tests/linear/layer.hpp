// SPDX-License-Identifier: Apache-2.0
// Linear layers of tests: operands of random numbers, and what Y is to be.
#pragma once
#include <gtest/gtest.h>

#include <antiphase/linear.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace antiphase::test {

// normal: about 1; wide: exponents far apart; cancelling: pairs whose products almost cancel.
enum class kind { normal, wide, cancelling };

inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t x = (seed * 0x9E3779B97F4A7C15ull + place + 1) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 29) * 0x94D049BB133111EBull;
  return x ^ x >> 32;
}
inline std::uint16_t to_bits(element type, float x) {
  return type == element::bf16 ? to_bf16(x).bits : to_f16(x).bits;
}
inline float from_bits(element type, std::uint16_t x) {
  return type == element::bf16 ? to_float(bf16{x}) : to_float(f16{x});
}

// A dense matrix of 16-bit numbers, by rows.
struct halves {
  element type;
  std::int64_t rows, columns;
  std::vector<std::uint16_t> bits;

  halves(element of, kind how, std::int64_t m, std::int64_t k, std::uint64_t seed)
      : type(of), rows(m), columns(k), bits(static_cast<std::size_t>(m * k)) {
    const int reach = how == kind::wide ? (type == element::bf16 ? 18 : 6) : 0;
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const std::uint64_t r = random_bits(seed, i);
      const float x = static_cast<float>(static_cast<int>(r % 4096) - 2048) / 1024;
      bits[i] = to_bits(type, std::ldexp(x, static_cast<int>(r >> 20) % (reach + 1)));
      if (how == kind::cancelling && i % 2 == 1) bits[i] = bits[i - 1] ^ (seed % 2 == 0 ? 0x8000 : 0);
    }
  }
  float operator()(std::int64_t i, std::int64_t k) const {
    return from_bits(type, bits[static_cast<std::size_t>(i * columns + k)]);
  }
  halves row_range(std::int64_t first, std::int64_t count) const {
    halves some = *this;
    some.rows = count;
    some.bits.assign(bits.begin() + first * columns, bits.begin() + (first + count) * columns);
    return some;
  }
};

// A matrix as it lies in memory, with NaN between rows: along k, or across it.
struct placed {
  std::vector<std::uint16_t> memory;
  linear_operand lies;

  placed(const halves& x, bool along_k, std::int64_t spare, std::size_t offset) {
    const std::int64_t in_row = (along_k ? x.columns : x.rows) + spare;
    lies = {nullptr, along_k ? in_row : 1, along_k ? 1 : in_row};
    memory.assign(offset + static_cast<std::size_t>(in_row * (along_k ? x.rows : x.columns)),
                  to_bits(x.type, std::nanf("")));
    for (std::int64_t i = 0; i < x.rows; ++i)
      for (std::int64_t k = 0; k < x.columns; ++k)
        memory[offset + static_cast<std::size_t>(i * lies.row_stride + k * lies.k_stride)] =
            x.bits[static_cast<std::size_t>(i * x.columns + k)];
  }
};

// X W^T on a device, FP32, as bits. Operands lie as the kernel takes them, whose name says so.
using words = std::vector<std::uint32_t>;
struct layer_call {
  const context& where;
  std::string_view kernel = "auto";

  words operator()(const halves& x, const halves& w) const {
    const auto spare = [](std::int64_t in_row) { return (8 - in_row % 8) % 8; };
    const bool x_along = !kernel.ends_with("-mk") && !kernel.ends_with("-mn"),
               w_along = !kernel.ends_with("-kn") && !kernel.ends_with("-mn");
    const placed of_x(x, x_along, x_along ? 0 : spare(x.rows), 0),
        of_w(w, w_along, w_along ? 0 : spare(w.rows), 0);
    const device_array<std::uint16_t> on_x(where, std::span(of_x.memory)),
        on_w(where, std::span(of_w.memory));
    device_array<std::uint32_t> y(where, static_cast<std::size_t>(x.rows * w.rows));
    linear_problem p{.in = x.type,
                     .out = element::f32,
                     .x = of_x.lies,
                     .w = of_w.lies,
                     .y = {y.data(), w.rows},
                     .m = x.rows,
                     .n = w.rows,
                     .k = x.columns};
    p.x.data = on_x.data(), p.w.data = on_w.data();
    linear(where, p, {.kernel = kernel});
    where.runs_on().synchronize(nullptr);
    return y.to_host();
  }
};

// One row of n numbers.
inline words row_of(const words& y, std::int64_t i, std::int64_t n) {
  return words(y.begin() + i * n, y.begin() + (i + 1) * n);
}

}  // namespace antiphase::test
