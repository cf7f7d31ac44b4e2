// SPDX-License-Identifier: Apache-2.0
// Facts that tf32 kernels record about their lines, for the certificate of outputs (sm_90a).
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/math.cuh>
#include <antiphase/device/vector.cuh>
#include <bit>
#include <cstdint>
#include "src/gemm/tf32/tf32_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Nonzeros of a line in one word: their number, up to 3, and the k of the first and of the last, counted from
// where the block's share of k begins. Two words are combined in any order with the same result.
struct line_nonzeros {
  static constexpr int bits_of_k = 15;
  static constexpr std::uint32_t many = 3;
  static constexpr std::uint32_t mask = (1u << bits_of_k) - 1;
  static_assert(k_of_tf32_share <= mask);
  std::uint32_t bits = 0;

  AP_DEV static line_nonzeros of(std::uint32_t number, std::uint32_t first, std::uint32_t last) {
    return {(number < many ? number : many) << 2 * bits_of_k | (mask - first) << bits_of_k | last};
  }
  // Elements from k on have a bit in `found` if they are not zero.
  AP_DEV static line_nonzeros of(std::uint32_t found, int k) {
    if (found == 0) return {};
    const int first = k + std::bit_width(found & (0u - found)) - 1, last = k + std::bit_width(found) - 1;
    return of(static_cast<std::uint32_t>(bit_count(found)), static_cast<std::uint32_t>(first),
              static_cast<std::uint32_t>(last));
  }
  AP_DEV static line_nonzeros more_than_two() { return {many << 2 * bits_of_k}; }
  AP_DEV int count() const { return static_cast<int>(bits >> 2 * bits_of_k); }
  AP_DEV int first() const { return static_cast<int>(mask - (bits >> bits_of_k & mask)); }
  AP_DEV int last() const { return static_cast<int>(bits & mask); }
  AP_DEV void add(line_nonzeros other) {
    const std::uint32_t both = (bits >> 2 * bits_of_k) + (other.bits >> 2 * bits_of_k);
    const auto larger = [](std::uint32_t a, std::uint32_t b) { return a > b ? a : b; };
    bits = (both < many ? both : many) << 2 * bits_of_k |
           larger(bits >> bits_of_k & mask, other.bits >> bits_of_k & mask) << bits_of_k |
           larger(bits & mask, other.bits & mask);
  }
};

// A bit for each element that is not zero.
AP_DEV std::uint32_t bits_of_nonzeros(const pack<float, 4>& x) {
  const auto bit = [&](int i) { return x.element[i] != 0 ? 1u << i : 0u; };
  return bit(0) | bit(1) | bit(2) | bit(3);
}

// Facts about the lines of a tile: first the long operand's, then the short one's.
struct tf32_lines {
  static constexpr int count = tf32_tile.m + tf32_tile.n;
  std::uint32_t least[count];  // the smallest least_of()
  line_nonzeros nonzeros[count];

  // Lines of one or two nonzeros are sparse: Tensor Cores cut off what is to be exact. Lines of zeros are
  // not: their sums are 0 in any case.
  AP_DEV static bool is_sparse(line_nonzeros n) { return n.count() == 1 || n.count() == 2; }
};
// Orders numbers by magnitude, zero last: twice the bits without the sign, minus one.
AP_DEV std::uint32_t least_of(float x) { return 2 * bit_cast<std::uint32_t>(x) - 1; }
AP_DEV float value_of_least(std::uint32_t least) { return bit_cast<float>((least >> 1) + 1); }
constexpr std::uint32_t infinite = 0x7F800000;
// a line of zeros: its least element counts as infinite
constexpr std::uint32_t no_least = 2 * infinite - 1;
// least_of(2^-112): smaller elements lose bits of lo
constexpr std::uint32_t least_whole = 2 * ((127u - 112) << 23) - 1;
// No product of the parts of lines with these least elements is so small that FP32 loses bits of it.
AP_DEV bool keeps_all(std::uint32_t a, std::uint32_t b) {
  return value_of_least(a) * value_of_least(b) >= 0x1p-102f;
}

// Facts that a thread records about its line.
struct line_watch {
  std::uint32_t least = no_least;
  line_nonzeros nonzeros;
  AP_DEV explicit line_watch(bool exists) {
    if (!exists) nonzeros = line_nonzeros::more_than_two();
  }
  AP_DEV void see(float x) {
    const std::uint32_t now = least_of(x);
    least = now < least ? now : least;
  }
  AP_DEV bool counts() const { return nonzeros.bits < line_nonzeros::more_than_two().bits; }
  AP_DEV void add(const line_watch& other) {
    least = other.least < least ? other.least : least;
    nonzeros.add(other.nonzeros);
  }
  AP_DEV void note(tf32_lines& lines, int line) const {
    lines.least[line] = least;
    lines.nonzeros[line] = nonzeros;
  }
  // Combines it with what another thread has noted.
  AP_DEV void add_to_note(tf32_lines& lines, int line) const {
    line_watch all = *this;
    all.add({lines.least[line], lines.nonzeros[line]});
    all.note(lines, line);
  }
  AP_DEV line_watch(std::uint32_t noted_least, line_nonzeros noted) : least(noted_least), nonzeros(noted) {}
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
