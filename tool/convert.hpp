// Elements of arrays as another type.
#pragma once
#include <antiphase/core/element.hpp>
#include <cstddef>
#include <span>
#include <vector>

namespace antiphase::tool {

// Elements as another type; integers wrap around. Floats do not become integers.
std::vector<std::byte> converted(std::span<const std::byte> bytes, element from, element to);

}  // namespace antiphase::tool
