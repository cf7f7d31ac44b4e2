// SPDX-License-Identifier: Apache-2.0
#include "library/scan/element_bits.hpp"

#include <antiphase/core/half.hpp>
#include <antiphase/scan/operators.hpp>
#include <bit>

#include "library/scan/request.hpp"

namespace antiphase::scans {
namespace {

// Bits of an element of `type`, in the low bits of the word.
std::uint64_t sign_bit(element type) { return std::uint64_t{1} << (8 * size_of(type) - 1); }
std::uint64_t all_bits(element type) { return sign_bit(type) * 2 - 1; }
bool is_signed(element type) { return !is_floating(type) && !is_unsigned(type); }

}  // namespace

element value_of(const problem& p) {
  return value_type(unsigned_of(p.type), unsigned_of(result_type(p)), p.operation);
}

std::uint64_t neutral_bits(element type, scan_operation operation) {
  return operation == scan_operation::sum && is_floating(type) ? sign_bit(type)
                                                               : identity_bits(type, operation);
}

std::uint64_t flip_of(const problem& p) {
  const bool widens = result_type(p) != p.type;
  if (!is_ordered(p.operation)) return widens && is_signed(p.type) ? sign_bit(p.type) : 0;
  if (one_pass_as(p.operation) == p.operation) return is_signed(p.type) ? sign_bit(p.type) : 0;
  if (is_floating(p.type)) return sign_bit(p.type);  // the order is reversed
  return is_signed(p.type) ? all_bits(p.type) ^ sign_bit(p.type) : all_bits(p.type);
}

std::uint64_t initial_bits(const problem& p, element value) {
  const element type = result_type(p);
  std::uint64_t bits =
      p.kind == scan_kind::inclusive ? neutral_bits(type, p.operation) : first_of_exclusive(p);
  if (is_ordered(p.operation)) bits ^= flip_of(p);
  if (value == type || !is_floating(type)) return bits;
  const auto narrow = static_cast<std::uint16_t>(bits);
  const float number = type == element::f16    ? to_float(f16{narrow})
                       : type == element::bf16 ? to_float(bf16{narrow})
                                               : std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return value == element::f64 ? std::bit_cast<std::uint64_t>(double{number})
                               : std::bit_cast<std::uint32_t>(number);
}

}  // namespace antiphase::scans
