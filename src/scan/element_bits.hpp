// SPDX-License-Identifier: Apache-2.0
// Bits of elements, as arguments for kernels of all types: see element_values.cuh.
#pragma once
#include <antiphase/scan/problem.hpp>
#include <cstdint>

namespace antiphase::scans {

// All in the low bits of the word. The neutral element: -0 for sums of floats, since +0 would turn -0 into
// +0.
std::uint64_t neutral_bits(element type, scan_operation operation);
// The bits of an element that a kernel flips before it computes.
std::uint64_t flip_of(const problem& p);
// The value before the first element, for a kernel that computes in `value`.
std::uint64_t initial_bits(const problem& p, element value);

// The type computed in, for unsigned or floating elements and results.
constexpr element value_type(element in, element out) {
  if (in != out || size_of(in) >= 4) return out;
  return is_floating(in) ? element::f32 : element::u32;
}

}  // namespace antiphase::scans
