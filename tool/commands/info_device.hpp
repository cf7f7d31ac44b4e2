// SPDX-License-Identifier: Apache-2.0
// What would run on a GPU of a compute capability, from its published limits.
#pragma once
#include <string_view>

#include "tool/program/command.hpp"

namespace antiphase::tool {

// Prints it for `info --for`. Throws bad_request if the limits of no such device are known.
void tell_device(std::string_view compute_capability, const common_options& options);

}  // namespace antiphase::tool
