// SPDX-License-Identifier: Apache-2.0
// Machine profiles as options name them.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <string>

namespace antiphase::tool {

// The shipped profile of that name, or that of a file (which ends in .json, or exists). Throws bad_request,
// with the known names, or with what is wrong in the file.
machine_profile named_profile(const std::string& name_or_file);
// "NVIDIA H200, NVIDIA H100, ..."
std::string profile_names();

}  // namespace antiphase::tool
