// SPDX-License-Identifier: Apache-2.0
// Published limits of some GPUs, to find out what would run on them without having one.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <span>
#include <string_view>

namespace antiphase {

// One device for each compute capability, in ascending order.
std::span<const device_limits> published_devices();

// The device of that compute capability ("8.0"). Throws bad_request, with the known ones, if there is none.
const device_limits& published_device(std::string_view compute_capability);

}  // namespace antiphase
