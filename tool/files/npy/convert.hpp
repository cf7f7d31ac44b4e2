// SPDX-License-Identifier: Apache-2.0
// Conversion of array elements to another type.
#pragma once
#include <antiphase/core/element.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "tool/files/npy/npy_header.hpp"

namespace antiphase::tool {

// Elements as another type; integers wrap around. Floats are not converted to integers.
std::vector<std::byte> converted(std::span<const std::byte> bytes, element from, element to);

}  // namespace antiphase::tool
