// SPDX-License-Identifier: Apache-2.0
// The facts about a line, a row of A or a column of B, that splitting it needs or finds.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>
#include "library/gemm/fp16/split_operand.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

struct line_range {
  std::uint32_t largest = 0;  // bits without the sign
  std::uint32_t nonzeros = 0;
  AP_DEV void add(const line_range& other) {
    largest = largest > other.largest ? largest : other.largest;
    nonzeros += other.nonzeros;
  }
};
// What follows from a line's range.
struct line_facts {
  static constexpr std::uint32_t infinite = 0x7F800000;
  bool finite;
  int exponent;
  // scaled = x * first * second; first is 1 unless the exponent is too large for one float
  float first, second;
  float not_tiny;  // the least |x| * first
  int nonzeros;    // all, if one is not finite

  AP_DEV line_facts(const line_range& r, int k)
      : finite(r.largest < infinite), nonzeros(finite ? static_cast<int>(r.nonzeros) : k) {
    const int top = exponent_of(r.largest), floor = top - tiny_exponent;
    exponent = finite && r.largest != 0 ? top_exponent - top : 0;
    first = first_factor(exponent);
    second = second_factor(exponent);
    not_tiny = first * (floor >= -126 ? power_of_two(floor)
                                      : bit_cast<float>(floor >= -149 ? 1u << (floor + 149) : 1u));
  }
  // The split_line of a line with so many tiny elements and this sum of |scaled|, each rounded up.
  AP_DEV split_line line(std::uint64_t tiny, std::uint64_t size) const {
    const float infinity = bit_cast<float>(infinite);
    return {.tiny = finite ? rounded_up(tiny) : infinity,
            .norm = finite ? rounded_up(size > 0 ? size : 1) * 0x1p-15f : infinity,
            .exponent = exponent,
            .nonzeros = nonzeros};
  }
  // As line_scale says.
  AP_DEV float scale_back(bool any_tiny) const {
    const bool far = exponent > plain_exponent || exponent < -plain_exponent;
    if (far || !finite) return line_scale::in_split_line;
    const float size = power_of_two(-exponent);
    return is_sparse() && nonzeros > 0 ? -size * line_scale::sparse_mark : any_tiny ? -size : size;
  }
  AP_DEV bool is_sparse() const { return nonzeros <= sparse_nonzeros; }
  AP_DEV static float first_factor(int exponent) { return exponent > 127 ? 0x1p64f : 1.f; }
  AP_DEV static float second_factor(int exponent) {
    return power_of_two(exponent > 127 ? exponent - 64 : exponent);
  }
  AP_DEV static float power_of_two(int n) {
    return bit_cast<float>(static_cast<std::uint32_t>(n + 127) << 23);
  }
  AP_DEV static int exponent_of(std::uint32_t bits) {
    if (bits >= 0x800000u) return static_cast<int>(bits >> 23) - 127;
    // a denormal is its bits * 2^-149
    return static_cast<int>(bit_cast<std::uint32_t>(static_cast<float>(bits)) >> 23) - 127 - 149;
  }
  AP_DEV static float rounded_up(std::uint64_t n) {
    const auto near = static_cast<float>(n);
    return static_cast<std::uint64_t>(near) < n ? bit_cast<float>(bit_cast<std::uint32_t>(near) + 1) : near;
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
