// SPDX-License-Identifier: Apache-2.0
// Elements of arrays as another type.
#pragma once
#include <antiphase/core/element.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tool/files/npy_header.hpp"

namespace antiphase::tool {

// Elements as another type; integers wrap around. Floats do not become integers.
std::vector<std::byte> converted(std::span<const std::byte> bytes, element from, element to);

// What is lost when numbers become f4.
struct cast_loss {
  std::int64_t elements = 0;
  // in value; 0: nothing is lost. NaN and infinities stay what they are
  std::int64_t changed = 0;
  std::int64_t infinite = 0, zero = 0, denormal = 0;  // of the changed ones, what became that
  double largest_relative_error = 0;                  // of the other changed ones; at most 2^-24
};

// Elements as f4, rounded to the nearest, and what that loses. Of truth values everything but 0 is 1.
struct cast_floats {
  std::vector<float> values;
  cast_loss loss;
};
cast_floats cast_to_floats(std::span<const std::byte> bytes, element from, meaning means);

// "exact", or "7 of 12 elements rounded, by 5.9e-08 of their size at most; 2 became infinite"
std::string loss_text(const cast_loss& loss);

}  // namespace antiphase::tool
