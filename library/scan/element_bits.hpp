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

// The type computed in, for unsigned or floating elements and results. Products of floats: FP64. Each of a
// product's roundings is a relative error of the result, and those of numbers near 1 have a common sign, so
// that in FP32 a million of them would cost 16 bits.
constexpr element value_type(element in, element out, scan_operation operation) {
  if (operation == scan_operation::product && is_floating(in)) return element::f64;
  if (in != out || size_of(in) >= 4) return out;
  return is_floating(in) ? element::f32 : element::u32;
}
element value_of(const problem& p);

}  // namespace antiphase::scans
