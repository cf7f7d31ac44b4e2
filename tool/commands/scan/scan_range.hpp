// SPDX-License-Identifier: Apache-2.0
// Whether sums or products of finite floats have left the range of the type they were computed in.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tool/commands/scan/scan_job.hpp"

namespace antiphase::tool {

// Outputs that are infinite or NaN, and zeros among products of elements that are not 0.
struct left_range {
  std::int64_t count;
  std::int64_t first;  // in the order of the scan: its place in the array, counted in C order
};
// Nothing for integers, minima and maxima, where no output has, and where an element is infinite or NaN
// itself. `results` have the job's type.
std::optional<left_range> find_left_range(const scan_job& job, std::span<const std::byte> elements,
                                          element of_elements, std::span<const std::byte> results);

// Where an element lies in an array of that shape.
std::vector<std::int64_t> index_of(std::int64_t place, std::span<const std::int64_t> shape);

}  // namespace antiphase::tool
