// SPDX-License-Identifier: Apache-2.0
// Policies that would run on a GPU of a given compute capability, by its published limits.
#pragma once
#include <string_view>

#include "tool/program/command.hpp"

namespace antiphase::tool {

// Prints them for `info --for`. Throws bad_request if no limits are known for that compute capability.
void tell_device(std::string_view compute_capability, const common_options& options);

}  // namespace antiphase::tool
