// SPDX-License-Identifier: Apache-2.0
// Scans by CUB, which is compiled in, of the elements of `bench scan --own`.
#include <cub/device/device_scan.cuh>

#include "tool/measure/scans/custom_scan.hpp"
#include "tool/rivals/cub.cuh"

namespace antiphase::tool {

rival cub_custom_scan(const context& where, int size, const void* in, void* out, std::int64_t count) {
  rival result = cub_as("DeviceScan::InclusiveScan, 64-bit size");
  result.run = with_custom_element(size, [&]<class T>() {
    return with_workspace(where, [=](void* workspace, std::size_t& bytes, stream on) {
      return cub::DeviceScan::InclusiveScan(workspace, bytes, static_cast<const T*>(in), static_cast<T*>(out),
                                            one_turn_after_the_other{}, count, on);
    });
  });
  return result;
}

}  // namespace antiphase::tool
