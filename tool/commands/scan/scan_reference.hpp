// SPDX-License-Identifier: Apache-2.0
// Scans by numpy's rules: plain loops on the host, every line from its first element to its last.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tool/commands/scan/scan_job.hpp"

namespace antiphase::tool {

// Results for `elements`, which have the job's type. Every step is rounded to that type, including f2.
// `heads`, if not empty, has a byte per element in memory order: nonzero at the start of a segment.
std::vector<std::byte> reference_scan(const scan_job& job, std::span<const std::byte> elements,
                                      std::span<const std::uint8_t> heads);

// Heads of segments of adjacent equal keys; a NaN differs from every key.
std::vector<std::uint8_t> heads_of(std::span<const std::byte> keys, element type);

}  // namespace antiphase::tool
