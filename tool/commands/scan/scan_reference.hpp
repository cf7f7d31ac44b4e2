// SPDX-License-Identifier: Apache-2.0
// Scans as numpy has them: plain loops on the host, every line from its first element to its last.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tool/commands/scan/scan_job.hpp"

namespace antiphase::tool {

// The results of `elements`, which have the job's type. Every step is rounded to that type, f2 too. `heads`,
// if not empty, has a byte for each element, in memory order: not 0 where a segment begins.
std::vector<std::byte> reference_scan(const scan_job& job, std::span<const std::byte> elements,
                                      std::span<const std::uint8_t> heads);

// The heads of segments of equal keys next to each other; a NaN differs from every key.
std::vector<std::uint8_t> heads_of(std::span<const std::byte> keys, element type);

}  // namespace antiphase::tool
