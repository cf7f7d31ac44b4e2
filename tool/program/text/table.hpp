// SPDX-License-Identifier: Apache-2.0
// Plain text tables for standard output.
#pragma once
#include <limits>
#include <string>
#include <vector>

namespace antiphase::tool {

// The first row holds the headings. The first column is aligned left, the others right. The last cell of a
// row shorter than the headings is free text. A table wider than `most` columns of the terminal is split into
// parts, one below the other, each beginning with the first column.
std::string table_text(const std::vector<std::vector<std::string>>& rows,
                       std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace antiphase::tool
