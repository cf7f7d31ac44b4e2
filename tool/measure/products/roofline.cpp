// SPDX-License-Identifier: Apache-2.0
// Measured peak rates of devices (docs/project/measuring.md).
#include "tool/measure/products/roofline.hpp"

#include <string_view>

namespace antiphase::tool {

const device_roofline* roofline_of(const device_limits& device) {
  static constexpr device_roofline roofs[] = {
      {.device = "H200", .fp32 = 818. / 3, .strict = 65.3, .terabytes = 4.2, .shortest_launch = 2.2}};
  for (const device_roofline& r : roofs)
    if (std::string_view(device.name).find(r.device) != std::string_view::npos) return &r;
  return nullptr;
}

}  // namespace antiphase::tool
