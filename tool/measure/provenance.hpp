// SPDX-License-Identifier: Apache-2.0
// Where the program comes from. cmake/AntiphaseCommit.cmake writes the definition during the build.
#pragma once
#include <string_view>

namespace antiphase::tool {

// The commit the program was built from, with "-dirty" after it if the sources differed from it; empty
// without git.
std::string_view built_from();

}  // namespace antiphase::tool
