// SPDX-License-Identifier: Apache-2.0
// What a device could do at best, as measured (docs/measuring.md).
#pragma once
#include <antiphase/executor/limits.hpp>

namespace antiphase::tool {

struct device_roof {
  const char* device;      // what its name holds
  double fp32, strict;     // 10^12 operations of a product in a second, by precision
  double terabytes;        // 10^12 bytes of memory in a second
  double shortest_launch;  // microseconds from one launch of a graph to the next
};

// Null for a device of which nothing is known.
const device_roof* roof_of(const device_limits& device);

}  // namespace antiphase::tool
