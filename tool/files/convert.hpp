// SPDX-License-Identifier: Apache-2.0
// Conversion of array elements to another type.
#pragma once
#include <antiphase/core/element.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tool/files/npy_header.hpp"

namespace antiphase::tool {

// Elements as another type; integers wrap around. Floats are not converted to integers.
std::vector<std::byte> converted(std::span<const std::byte> bytes, element from, element to);

// Loss from conversion of numbers to f4.
struct cast_loss {
  std::int64_t elements = 0;
  // values that the conversion changed; 0: it is exact. NaN and infinities do not count
  std::int64_t changed = 0;
  std::int64_t infinite = 0, zero = 0, denormal = 0;  // changed values, by what they became
  double largest_relative_error = 0;                  // of the other changed values; at most 2^-24
};

// Elements rounded to the nearest f4, and the loss. Truth values other than 0 become 1.
struct cast_floats {
  std::vector<float> values;
  cast_loss loss;
};
cast_floats cast_to_floats(std::span<const std::byte> bytes, element from, meaning means);

// "exact", or "7 of 12 elements rounded, by 5.9e-08 of their size at most; 2 became infinite"
std::string loss_text(const cast_loss& loss);

}  // namespace antiphase::tool
