// What a GPU is and does while figures are taken on it: driver, clocks, power.
#pragma once
#include "tool/place.hpp"

namespace antiphase::tool {

// The member "machine" of a result file: the name; on a GPU also the driver, the CUDA versions, clocks and power as NVML, NVIDIA's
// management library, tells them now. What it does not tell is left out.
json machine_of(const place& at);

}  // namespace antiphase::tool
