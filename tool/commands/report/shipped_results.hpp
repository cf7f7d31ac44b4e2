// SPDX-License-Identifier: Apache-2.0
// Some of the files in bench/results, compiled in: what a report shows where there is neither a GPU nor a
// file. tool/CMakeLists.txt makes the definition.
#pragma once
#include <span>
#include <string_view>

namespace antiphase::tool {

struct shipped_result {
  std::string_view name, text;
};
std::span<const shipped_result> shipped_results();

}  // namespace antiphase::tool
