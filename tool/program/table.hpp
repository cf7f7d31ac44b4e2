// SPDX-License-Identifier: Apache-2.0
// Plain text tables for standard output.
#pragma once
#include <limits>
#include <string>
#include <vector>

namespace antiphase::tool {

// The first row holds the heads. The first column is flush left, the others are flush right; a row that is
// shorter than the heads continues with its last cell as free text. A table that takes more than `most`
// columns of the terminal is shown in parts, one below the other, each of which begins with the first column.
std::string table_text(const std::vector<std::vector<std::string>>& rows,
                       std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace antiphase::tool
