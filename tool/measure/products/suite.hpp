// SPDX-License-Identifier: Apache-2.0
// The file bench/suite.json. tool/CMakeLists.txt generates the definition from it.
#pragma once
#include <string_view>

namespace antiphase::tool {

std::string_view suite_text();

}  // namespace antiphase::tool
