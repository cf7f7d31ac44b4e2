// SPDX-License-Identifier: Apache-2.0
// Commit that the program was built from. cmake/AntiphaseCommit.cmake generates the definition during the
// build.
#pragma once
#include <string_view>

namespace antiphase::tool {

// The commit; "-dirty" is appended if the sources differed from it. Empty without git.
std::string_view built_from();

}  // namespace antiphase::tool
