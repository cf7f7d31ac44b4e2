// What a GPU is and does while figures are taken on it: driver, clocks, power.
#pragma once
#include <string_view>

#include "tool/program/place.hpp"

namespace antiphase::tool {

// The member "machine" of a result file: the name; on a GPU also the driver, the CUDA versions, clocks and power as NVML, NVIDIA's
// management library, tells them now. What it does not tell is left out.
json machine_of(const place& at);

// What every result file begins with: schema, command, date, commit, place and machine.
json result_envelope(std::string_view command, const place& at);

}  // namespace antiphase::tool
