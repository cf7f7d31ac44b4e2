// SPDX-License-Identifier: Apache-2.0
// Some files of bench/results, compiled in: shown by a report if there is neither a GPU nor a file.
// tool/CMakeLists.txt generates the definition.
#pragma once
#include <span>
#include <string_view>

namespace antiphase::tool {

struct shipped_result {
  std::string_view name, text;
};
std::span<const shipped_result> shipped_results();

}  // namespace antiphase::tool
