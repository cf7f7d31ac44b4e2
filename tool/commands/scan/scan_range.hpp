// SPDX-License-Identifier: Apache-2.0
// Detects sums or products of finite floats that left the range of the type they were computed in.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tool/commands/scan/scan_job.hpp"

namespace antiphase::tool {

// Infinite or NaN results, and zeros among products if no element is 0.
struct left_range {
  std::int64_t count;
  std::int64_t first;  // first in scan order: its C-order index in the array
};
// Nothing for integers, minima and maxima, if every result is in range, or if an element itself is infinite
// or NaN. `results` have the job's type.
std::optional<left_range> find_left_range(const scan_job& job, std::span<const std::byte> elements,
                                          element of_elements, std::span<const std::byte> results);

// Multi-dimensional index of an element in an array of that shape.
std::vector<std::int64_t> index_of(std::int64_t place, std::span<const std::int64_t> shape);

}  // namespace antiphase::tool
