// SPDX-License-Identifier: Apache-2.0
// The texts of the files in library/costs. library/CMakeLists.txt generates the definition.
#pragma once
#include <span>
#include <string_view>

namespace antiphase::costs {

std::span<const std::string_view> shipped_models();

}  // namespace antiphase::costs
