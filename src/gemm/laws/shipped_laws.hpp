// SPDX-License-Identifier: Apache-2.0
// The texts of the files in src/gemm/laws. src/CMakeLists.txt generates the definition.
#pragma once
#include <span>
#include <string_view>

namespace antiphase::gemms {

std::span<const std::string_view> shipped_laws();

}  // namespace antiphase::gemms
