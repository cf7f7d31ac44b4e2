// SPDX-License-Identifier: Apache-2.0
// Element types and operators that a scan has to support, beyond numbers and sums.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>

namespace antiphase::scan_test {

// The bicyclic monoid: `closing` brackets ")))" followed by `opening` brackets "((("; the product cancels
// matching pairs. Not commutative, and exact.
struct brackets {
  std::uint32_t closing, opening;
  bool operator==(const brackets&) const = default;
};
struct concatenated {
  AP_FN brackets operator()(const brackets& x, const brackets& y) const {
    const std::uint32_t matched = x.opening < y.closing ? x.opening : y.closing;
    return {x.closing + y.closing - matched, y.opening + x.opening - matched};
  }
};

// Three bytes, no default constructor, an operator without identity: the last non-null value.
struct nullable {
  unsigned char low, high, present;
  AP_FN constexpr nullable(unsigned char l, unsigned char h, unsigned char p) : low(l), high(h), present(p) {}
  bool operator==(const nullable&) const = default;
};
struct last_present {
  AP_FN nullable operator()(const nullable& x, const nullable& y) const { return y.present != 0 ? y : x; }
};

// 32 bytes: matrices of 2 x 2, whose product does not commute.
struct matrix {
  std::uint64_t a, b, c, d;
  bool operator==(const matrix&) const = default;
};
struct times {
  AP_FN matrix operator()(const matrix& x, const matrix& y) const {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
  }
};

// 12 and 16 bytes: composed maps x -> factor x + offset, and products of triangular matrices.
struct triangle {
  std::uint32_t a, b, c;
  bool operator==(const triangle&) const = default;
};
struct triangles {
  AP_FN triangle operator()(const triangle& x, const triangle& y) const {
    return {x.a * y.a, x.a * y.b + x.b * y.c, x.c * y.c};
  }
};
struct step64 {
  std::uint64_t factor, offset;
  bool operator==(const step64&) const = default;
};
struct steps64 {
  AP_FN step64 operator()(const step64& x, const step64& y) const {
    return {x.factor * y.factor, y.factor * x.offset + y.offset};
  }
};

// Maps x -> (factor x + offset) mod m: the operator carries m and composes two maps.
struct affine {
  std::uint32_t factor, offset;
  bool operator==(const affine&) const = default;
};
struct composed {
  std::uint32_t modulus;
  AP_FN affine operator()(const affine& x, const affine& y) const {
    const auto mod = [this](std::uint64_t value) { return static_cast<std::uint32_t>(value % modulus); };
    return {mod(std::uint64_t{x.factor} * y.factor), mod(std::uint64_t{y.factor} * x.offset + y.offset)};
  }
};

// Element i of an array: derived from its position, so that a misplaced one shows.
constexpr std::uint64_t hash(std::uint64_t i) {
  i = (i + 0x9E3779B97F4A7C15ull) * 0xBF58476D1CE4E5B9ull;
  i = (i ^ i >> 29) * 0x94D049BB133111EBull;
  return i ^ i >> 32;
}
template <class T> T element_at(std::int64_t i);
template <> inline brackets element_at(std::int64_t i) {
  const auto h = hash(static_cast<std::uint64_t>(i));
  return {static_cast<std::uint32_t>(h % 5), static_cast<std::uint32_t>(h / 5 % 5)};
}
template <> inline nullable element_at(std::int64_t i) {
  const auto h = hash(static_cast<std::uint64_t>(i));
  return {static_cast<unsigned char>(i), static_cast<unsigned char>(i >> 8),
          static_cast<unsigned char>(h % 7 == 0)};
}
template <> inline affine element_at(std::int64_t i) {
  const auto h = hash(static_cast<std::uint64_t>(i));
  return {static_cast<std::uint32_t>(h % 997 + 1), static_cast<std::uint32_t>(h >> 20 & 0xFFF)};
}
template <> inline triangle element_at(std::int64_t i) {
  const auto h = hash(static_cast<std::uint64_t>(i));
  return {static_cast<std::uint32_t>(h) | 1, static_cast<std::uint32_t>(h >> 32),
          static_cast<std::uint32_t>(i) | 1};
}
template <> inline step64 element_at(std::int64_t i) {
  const auto h = hash(static_cast<std::uint64_t>(i));
  return {h | 1, h >> 7};
}
template <> inline matrix element_at(std::int64_t i) {
  const auto h = hash(static_cast<std::uint64_t>(i));
  return {h, h >> 16 | 1, h % 1009, static_cast<std::uint64_t>(i)};
}

}  // namespace antiphase::scan_test
