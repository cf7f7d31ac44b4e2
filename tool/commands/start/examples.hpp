// SPDX-License-Identifier: Apache-2.0
// The examples that come with the program.
#pragma once
#include <filesystem>

namespace antiphase::tool {

// Their folder. Throws error if it is missing.
std::filesystem::path shipped_examples();

}  // namespace antiphase::tool
