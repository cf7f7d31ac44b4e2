// SPDX-License-Identifier: Apache-2.0
// Bits of elements that kernels of all types are told: see element_values.cuh.
#pragma once
#include <antiphase/scan/problem.hpp>
#include <cstdint>

namespace antiphase::scans {

// The lowest ones of the word. What changes nothing: of a sum of floats -0, since +0 would turn -0 into +0.
std::uint64_t neutral_bits(element type, scan_operation operation);
// Those of an element that are flipped before anything else is done with it.
std::uint64_t flip_of(const problem& p);
// Of what stands before the first element, as a kernel computes with it that computes with `value`.
std::uint64_t initial_bits(const problem& p, element value);

// The type that is computed with, of unsigned and floating elements and results.
constexpr element value_type(element in, element out) {
  if (in != out || size_of(in) >= 4) return out;
  return is_floating(in) ? element::f32 : element::u32;
}

}  // namespace antiphase::scans
