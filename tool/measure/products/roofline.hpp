// SPDX-License-Identifier: Apache-2.0
// Measured peak rates of devices (docs/project/measuring.md).
#pragma once
#include <antiphase/executor/limits.hpp>

namespace antiphase::tool {

struct device_roofline {
  const char* device;      // a part of the device's name
  double fp32, strict;     // 10^12 operations per second of a product, by precision
  double terabytes;        // 10^12 bytes per second of memory bandwidth
  double shortest_launch;  // microseconds between consecutive launches in a graph
};

// Null for a device without measurements.
const device_roofline* roofline_of(const device_limits& device);

}  // namespace antiphase::tool
