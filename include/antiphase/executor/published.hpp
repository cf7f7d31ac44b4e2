// SPDX-License-Identifier: Apache-2.0
// Limits of some GPUs as published, to tell what would run on them without having one.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <span>
#include <string_view>

namespace antiphase {

// In the order of their compute capabilities, one of each.
std::span<const device_limits> published_devices();

// The one of that compute capability: "8.0". Throws bad_request, with those there are, if there is none.
const device_limits& published_device(std::string_view compute_capability);

}  // namespace antiphase
