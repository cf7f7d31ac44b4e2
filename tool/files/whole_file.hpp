// SPDX-License-Identifier: Apache-2.0
// Text of a file, or of standard input.
#pragma once
#include <string>

namespace antiphase::tool {

// "-" is standard input. Throws bad_input where it cannot be read.
std::string whole_file(const std::string& path);

}  // namespace antiphase::tool
